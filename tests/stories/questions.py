"""Questions of planners and engineers, each answered by one command on the first screen of 80 x 24.

questions.py TRNPLAN SOURCE_DIR

A row fails when its answer moves below the first screen or leaves the text, or when a line with several words grows beyond 80 columns.
Answers are searched for with line breaks and spaces joined. They name options and the shape of numbers; the guides compare the values.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

import excerpts

COLUMNS, LINES = 80, 24
WHATIF = "trnplan whatif llama2-7b --nodes 4..64 --tokens 2T --deadline 60d"
TYPES = "trnplan whatif llama3-8b --instances trn1.32xlarge,p4d.24xlarge,p5.48xlarge --nodes 4 --tokens 100B"
FOUR_NODES = "trnplan plan llama3-8b --nodes 4"
ONE_LAYOUT = "trnplan simulate llama3-8b --strategy tp=8,pp=4"
MONTH = "trnplan whatif llama3-8b --nodes 8 --deadline 30d"
TOO_FEW = "trnplan whatif llama3-70b --nodes 16,32 --tokens 1T --deadline 30d"
BLOCKS = "trnplan whatif llama3-8b --tokens 300B --offerings examples/capacity-blocks/offers.json"
TOO_LATE = "trnplan whatif llama3-8b --nodes 4..8 --tokens 1T --deadline 60d"
ALL_REDUCE = "trnplan collective all_reduce --ranks 64 --nodes 2 --bytes 64M"
LOG = "trnplan watch examples/steps-of-a-log/train.log --once --job examples/llama3-70b-16-nodes/job.yaml --strategy tp=32,pp=8"
KILLED = "[F137] neuronx-cc was forcibly killed - This most commonly occurs due to insufficient system memory."
SLOW = LOG.replace("examples/steps-of-a-log/train.log", "slow.out")
SLOW_LOG = "for i in $(seq 60); do echo step $i step_time $((i > 30 ? 300 : 240)).${i}s throughput 3.9 seq/s; done > slow.out"

# (who asks, question, command, exit code, patterns of the answer)
QUESTIONS = [
    ("planner", "How many nodes finish 2T tokens in 60 days?", WHATIF, 0, [r"Recommended: \d+ x trn1\.32xlarge"]),
    ("planner", "Within which time is that 90 % likely to be done?", WHATIF, 0, [r"2T tokens[^*]* 90 % likely within [\d.]+ days"]),
    ("planner", "What does it cost?", WHATIF, 0, [r"2T tokens[^*]* [\d,]+ USD"]),
    ("planner", "What do twice as many nodes cost?", WHATIF, 0, [r" 64 +[\d.]+ +[\d.]+ +[\d,]+"]),
    ("planner", "How far do 60 days and 600,000 USD get?", WHATIF + " --budget 600000", 3, [r"90 % [^;]*[\d.]+T"]),
    ("planner", "How many tokens do 8 nodes train in 30 days?", MONTH, 0, [r"[\d.]+ days, [\d,]+ USD.* [\d.]+B tokens"]),
    ("planner", "How many nodes would keep the deadline?", TOO_FEW, 3, [r"--nodes \d{2,}"]),
    ("planner", "What would keep it?", TOO_LATE, 3, [r"would help --deadline [\d.]+d: .* --tokens [\d.]+B: "]),
    ("planner", "Which capacity blocks finish it for least?", BLOCKS, 0, [r"Buy \d offers for [\d,]+ USD: [\d.]+ % likely"]),
    ("planner", "And at my price?", "trnplan plan llama3-8b --nodes 4 --objective cost --price trn1=10/h", 0, [r"stated price"]),
    ("planner", "Which type of machine is the cheapest?", TYPES, 0, [r"p5\.48xlarge +4 +[\d.]+ +[\d.]+ +[\d,]+ +\d+ +([6-9]\d|100)"]),
    ("planner", "At which price would trn1 be as cheap?", TYPES + " --details", 0, [r"break-even trn1\.32xlarge .* 21\.50 [\d.]+ p4d"]),
    ("ML engineer", "Does Llama-3 70B fit on four trn1?", "trnplan plan llama3-70b --nodes 4", 0, [r"[\d.]+ of 16 GiB", r"fits: [\d.]+ %"]),
    ("ML engineer", "Does 405B fit on four, and on how many would it?", "trnplan plan llama3.1-405b --nodes 4", 3, [r"--nodes \d+"]),
    ("ML engineer", "Why is TP 16 x DP 2 refused, and what is accepted?", "trnplan topology --tp 16 --dp 2", 3,
     [r"chips 0 and 8 are two hops apart", r"fix: --tp 8 --dp 4"]),
    ("ML engineer", "What do I change when F137 comes?", f"echo '{KILLED}' > log; trnplan watch log --once", 3,
     [r"NEURON_PARALLEL_COMPILE_MAX_RETRIES=1", r"raise TP or PP", r"smaller micro-batch"]),
    ("ML engineer", "Which line of my config is wrong?",
     "trnplan check tests/planner/fixtures/oom.yaml > out; code=$?; head -n 12 out; exit $code", 3,
     [r"oom\.yaml:47:3", r"needs [\d.]+ of 16\.0 GiB"]),
    ("ML engineer", "Which key did I misspell?", "trnplan plan tests/regress/job/unknown-key.yaml", 2,
     [r"unknown-key\.yaml:\d+:\d+", r"did you mean"]),
    ("ML engineer", "Which global batch divides?", "trnplan simulate llama3-8b --strategy tp=8,mbs=3", 3, [r"1020 and 1032"]),
    ("ML engineer", "Is the fastest plan the one to take?", FOUR_NODES, 0, [r"Best TP", r"Fastest TP [^;]*faster.* [\d.]+ %.*[\d.]+ %"]),
    ("ML engineer", "How do I get config and scripts?", FOUR_NODES, 0, [r"--out DIR"]),
    ("performance engineer", "Which part of the step is communication?", ONE_LAYOUT, 0,
     [r"tensor parallel [\d.]+ s \([\d.]+ %\)", r"pipeline sends [\d.]+ s \([\d.]+ %\)"]),
    ("performance engineer", "What fills the memory of the first stage?", ONE_LAYOUT, 0,
     [r"activations +\d+\.\d+", r"optimizer states +\d"]),
    ("performance engineer", "Which resource limits the step, and by how much?", FOUR_NODES, 0,
     [r"Limit tensor engine: 1 % [^;]* [\d.]+ %"]),
    ("performance engineer", "How sure is the step?", FOUR_NODES, 0, [r"s/step \(90 %: [\d.]+-[\d.]+\)"]),
    ("performance engineer", "What limits an all-reduce over two nodes?", ALL_REDUCE, 0,
     [r"limited by .*nic 0 out", r"[\d.]+ us, 90 %"]),
    ("performance engineer", "Is my run as fast as it should be?", LOG, 0, [r"[\d.]+ s a step[^;]*predicted [\d.]+ "]),
    ("performance engineer", "What slows my run, how do I see that, and where do I look?", f"{SLOW_LOG}; {SLOW}", 0,
     [r"\d+ % one node, or a chip of it, takes 1\.\d+ times as long", r"--scenario slow-node=\d+:1\.\d+", r"look at: on every node"]),
]  # fmt: skip


def main(trnplan, folder):
    source = pathlib.Path(folder).resolve()
    faults = []
    with tempfile.TemporaryDirectory(prefix="trnplan-questions-") as place:
        place = pathlib.Path(place).resolve()
        environment = excerpts.desk(place, source, pathlib.Path(trnplan).resolve())
        screens = {}
        for who, question, command, wanted, patterns in QUESTIONS:
            if command not in screens:
                screens[command] = subprocess.run(["bash", "-c", command], cwd=place, env=environment, stdin=subprocess.DEVNULL,
                                                  capture_output=True, text=True)  # fmt: skip
            done = screens[command]
            lines = (done.stdout if done.stdout.strip() else done.stderr).splitlines()[:LINES]
            text = " ".join(" ".join(lines).split())
            name = f"{who}: {question} ({command})"
            if done.returncode != wanted:
                faults.append(f"{name}: exit {done.returncode} instead of {wanted}")
            faults += [f"{name}: no {pattern} on the screen:\n" + "\n".join(lines) for pattern in patterns if not re.search(pattern, text)]
            if done.stdout.strip():
                faults += [f"{name}: wider than {COLUMNS}: {line}" for line in lines if len(line) > COLUMNS and len(line.split()) > 1]
    for fault in faults:
        print(f"FAIL: {fault}")
    print(f"questions: {len(QUESTIONS)} questions, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))

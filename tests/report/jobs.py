"""Which reports are made and what must be in each."""
import json
import os
import re
import shlex
import shutil
import subprocess

import settings


def run(reports, b, pictures, t):
    plans(reports, b, pictures, t)
    refusals(reports, t)
    simulations(reports, b, pictures, t)
    watches(reports, b, pictures, t)
    whatifs(reports, b, pictures, t)
    settings.run(reports, b, pictures, t)
    validations(reports, b, pictures, t)
    hostile(reports, b, pictures, t)


def typed(reports, name, data, t):
    """What a page tells to type does what it says; what submits and watches needs a cluster."""
    for c in data["commands"]:
        words = shlex.split(c["command"])
        if len(words) < 2 or words[1] not in ("plan", "simulate") or "--details" in words:
            continue
        ran = subprocess.run([str(reports.trnplan), *words[1:]], capture_output=True, text=True, check=False, cwd=reports.folder,
                             env=dict(os.environ, TRNPLAN_CATALOG=str(reports.source / "catalog")))
        t.check(f"{name}: {c['command']} does", ran.returncode == 0, ran.stderr[-600:])
        if words[1] == "plan" and "json" in words:
            answer = json.loads(ran.stdout)
            t.check(f"{name}: --format json has the same steps",
                    [p["step_seconds"] for p in answer["plans"]] == [p["step_seconds"] for p in data["plans"]])
    (reports.folder / "step.pftrace").unlink()
    shutil.rmtree(reports.folder / "my-plan", ignore_errors=True)


def plans(reports, b, pictures, t):
    path = reports.make("plan-trn1", ["plan", "{SRC}/examples/llama3-70b-16-nodes/job.yaml"])
    data, text = t.check_plan(b, path, pictures)
    t.six_questions(path, data, text)
    typed(reports, "plan-trn1", data, t)
    t.check("plan-trn1: a refused pair is red", b.script(t.COUNT, ["mark-red"])["mark-red"] == 2)
    b.script("document.querySelectorAll('#timeline button')[1].click()")
    t.check("plan-trn1: the timeline zooms",
            "scale(1.6" in b.script("return document.querySelector('#timeline svg g g').getAttribute('transform')"))
    b.script("window.said = []; navigator.clipboard.writeText = t => { said.push(t); return Promise.resolve(); };"
             "document.querySelector('.copy').click()")
    t.check("plan-trn1: a command is copied", b.script("return said") == [data["commands"][0]["command"]])

    path = reports.make("plan-gpu", ["plan", "llama3-8b", "--instance", "p5.48xlarge", "--nodes", "4"])
    data, text = t.check_plan(b, path, pictures)
    t.six_questions(path, data, text)
    typed(reports, "plan-gpu", data, t)
    t.check("plan-gpu: per GPU, never per core", not re.search(r"\bcores?\b", text.replace("tensor cores", "")),
            re.findall(r".{30}\bcores?\b.{30}", text.replace("tensor cores", "")))

    for name in ("clusters", "plan-run"):  # a job that leaves its cluster open; limits of a run
        words = ["llama3-8b", "--nodes", "4", "--deadline", "30d", "--out", "a-run"]
        if name == "clusters":
            words = ["{SRC}/tests/golden/clusters.yaml"]
        path = reports.make(name, ["plan", *words])
        data, text = t.check_plan(b, path, pictures)
        typed(reports, name, data, t)
        t.check(f"{name}: the whole run", name == "clusters" or "The whole run" in text)
    path = reports.make("plan-baseline", ["plan", "{SRC}/examples/llama3-8b-one-node/job.yaml", "--baseline",
                                          "{SRC}/tests/io/fixtures/nxdt/hf_llama3_8B_config.yaml"])
    data, text = t.check_plan(b, path, pictures)
    t.check("plan-baseline: what runs today", "Today, by " in text and t.seconds(data["baseline"]["plan"]["step_seconds"]) in text)

    path = reports.make("plan-none", ["plan", "{SRC}/tests/golden/too-large.yaml"], (3,))
    data = t.data_of(path)
    text = t.opened(b, path, pictures)
    t.check("plan-none: says so", "No plan" in text and data["plans"] == [])


def refusals(reports, t):
    words = [str(reports.trnplan), "plan", "llama3-8b", "--report", "absent/page.html"]
    ran = subprocess.run(words, capture_output=True, text=True, check=False, cwd=reports.folder)
    t.check("a folder that is not there is refused", ran.returncode == 2 and "its folder does not exist" in ran.stderr, ran.stderr)
    ran = subprocess.run([*words[:-1], "plan-gpu.html"], capture_output=True, text=True, check=False, cwd=reports.folder)
    t.check("a file that is there is not overwritten", ran.returncode == 2 and "--force" in ran.stderr, ran.stderr)


HOSTILE = """"><script>alert(1)</script>'"&amp;<img src=x onerror=alert(2)>"""


def hostile(reports, b, pictures, t):
    """Names that would be programs in a careless page, and far more of everything than a page can show."""
    shape = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336,
             "num_hidden_layers": 64, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
             "max_position_embeddings": 131072, "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "tie_word_embeddings": False,
             "hidden_act": "silu"}
    model = reports.folder / f"{HOSTILE}.json"
    model.parent.mkdir(parents=True)  # the slash of the name makes a folder
    model.write_text(json.dumps(shape))
    for name, batch, cluster in (("nodes", 15000, {"instance": "trn1.32xlarge", "nodes": 1875}),
                                 ("stages", 1024, {"instance": "trn1.32xlarge", "nodes": 512})):
        job = {"model": f"{HOSTILE}.json", "training": {"sequence": 8192, "global_batch": batch, "tokens": "15T"},
               "cluster": cluster}
        if name == "stages":
            job["pin"] = {"pipeline_parallel": 64, "tensor_parallel": 8}
        file = reports.folder / f"{name} '<b onclick=alert(3)>.yaml"
        file.write_text(json.dumps(job))
        path = reports.make(f"hostile-{name}", ["plan", str(file), "--top", "200", "--out", f"{name}'<i>&"])
        data, text = t.check_plan(b, path, pictures)
        t.check(f"hostile-{name}: under 5 MB", path.stat().st_size < 5_000_000, path.stat().st_size)
        t.check(f"hostile-{name}: its names are text", "<img src=x onerror=alert(2)>" in text and "<i>&" in text)
        t.check(f"hostile-{name}: nothing of them became an element",
                b.script("return [document.images.length, document.scripts.length,"
                         "document.querySelectorAll('b, i, main img').length]") == [0, 2, 0])
        t.check(f"hostile-{name}: what is left out is said",
                "of 200 plans are shown" in text or data["plans_found"] < 200, data["plans_found"])
        if name == "nodes":
            t.check("hostile-nodes: more than 10,000 strategies", data["space"]["enumerated"] > 10_000)
        else:
            t.check("hostile-stages: 64 stages", len(data["memory"]["stages"]) == 64)


def simulations(reports, b, pictures, t):
    path = reports.make("simulate", ["simulate", "{SRC}/examples/llama3-8b-one-node/job.yaml", "--strategy", "tp=8,pp=4"])
    data = t.data_of(path)
    text = t.opened(b, path, pictures)
    t.marks(b, path, {"mark-slice": len(data["step"]["timeline"]["slices"]), "mark-stage": t.stage_rows(data["memory"]),
                      "mark-part": sum(v > 0 for v in data["plan"]["breakdown_seconds"])})
    for figure in (t.seconds(data["plan"]["step_seconds"]), t.gib(data["plan"]["peak_bytes"])):
        t.check(f"simulate: its text has {figure}", figure in text)
    path = reports.make("simulate-scenario", ["simulate", "llama3-8b", "--instance", "p5.48xlarge", "--nodes", "2", "--strategy", "tp=8",
                                              "--scenario", "slow-node=1:1.5"])  # fmt: skip
    data = t.data_of(path)
    text = t.opened(b, path, pictures)
    t.marks(b, path, {"mark-slice": len(data["step"]["timeline"]["slices"])})
    t.check("simulate-scenario: the timeline is as long as the slow step", data["step"]["timeline"]["end_microseconds"] / 1e6 >
            1.2 * data["plan"]["step_seconds"])
    t.check("simulate-scenario: says what it draws, GPU by GPU", "Drawn with slow-node=1:1.5" in text and "GPU 8" in text)
    path = reports.make("simulate-refused", ["simulate", "{SRC}/examples/llama3-8b-one-node/job.yaml", "--strategy", "tp=16"], (3,))
    data = t.data_of(path)
    text = t.opened(b, path, pictures)
    t.check("simulate-refused: no chance of a refused one", "it does not" in text and "Chance that it runs" not in text)
    t.check("simulate-refused: the pair is red", b.script(t.COUNT, ["mark-red"])["mark-red"] == 2)
    t.check("simulate-refused: says why", data["refused"] and data["broken"][0]["message"] in text)
    reports.make("simulate-impossible", ["simulate", "{SRC}/examples/llama3-8b-one-node/job.yaml", "--strategy", "tp=3"], (2, 3))


def whatifs(reports, b, pictures, t):
    for name, words, codes in (
            ("whatif", ["whatif", "{SRC}/examples/whatif-llama2-7b/job.yaml", "--nodes", "4..64", "--deadline", "60d"], (0,)),
            ("whatif-types", ["whatif", "llama3-8b", "--nodes", "1,2,4,8", "--instances", "trn1.32xlarge,p5.48xlarge",
                              "--tokens", "1T"], (0,)),
            ("whatif-budget", ["whatif", "llama3-8b", "--nodes", "2,4", "--budget", "100000"], (0,)),
            ("whatif-none", ["whatif", "llama3-8b", "--nodes", "2,4", "--tokens", "1T", "--deadline", "3d"], (3,))):
        path = reports.make(name, words, codes)
        data = t.data_of(path)
        text = t.opened(b, path, pictures)
        planned = [p for p in data["points"] if p.get("strategy")]
        paid = [p for p in planned if p["usd"] is not None]
        t.marks(b, path, {"mark-front": len(paid), "mark-speed": len(planned), "mark-goodput": len(planned),
                          "mark-efficiency": len(planned), "mark-price": len(paid)})
        for p in planned:
            for figure in (t.seconds(p["step_seconds"]), f"{p['tokens_per_second']:,.0f}", f"{100 * p['goodput']:.1f} %"):
                t.check(f"{name}: its text has {figure} of {p['nodes']} nodes", figure in text)
        best = data["points"][data["recommended"]] if data["recommended"] >= 0 else None
        wanted = f"Take {best['nodes']} x {best['instance']}" if best else "No cluster keeps the limits"
        t.check(f"{name}: says what to take", wanted in text)
        words = {"whatif": "Llama-2 7B on 4 to 64 nodes of trn1.32xlarge", "whatif-types": "Llama-3 8B on 1 to 8 nodes of two types"}
        t.check(f"{name}: its title is words", words.get(name, "Llama-3 8B on 2 to 4 nodes") in text, text[:200])


def validations(reports, b, pictures, t):
    for name, words in (("validate", ["validate", "--leave-out", "none"]),
                        ("validate-layouts", ["validate", "--measured", "{SRC}/catalog/gpu-runs.csv"])):
        path = reports.make(name, words)
        data = t.data_of(path)
        text = t.opened(b, path, pictures)
        stride = -(-len(data["rows"]) // 1500)
        t.marks(b, path, {"mark-row": -(-len(data["rows"]) // stride), "mark-source": min(24, len(data["by_source"])),
                          "mark-mechanism": min(24, len(data["by_mechanism"]))})
        t.check(f"{name}: its text has the median error", f"within {100 * data['summary']['median_ape']:.1f} %" in text)
        t.check(f"{name}: rows by source are all rows", sum(g["rows"] for g in data["by_source"]) == data["rows_found"])
        json_text = reports.answer([*words, "--format", "json"])
        t.check(f"{name}: says what --format json says", abs(json.loads(json_text)["summary"]["mape"] - data["summary"]["mape"]) < 1e-12)
    ran = subprocess.run([str(reports.trnplan), "validate", "--memory", "--report", "m.html"], capture_output=True, text=True,
                         check=False, cwd=reports.folder)
    t.check("a report of memory cases is refused", ran.returncode == 2 and "--report" in ran.stderr, ran.stderr)


def step_line(step, seconds):
    return f"step {step} step_time {seconds:.1f}s throughput 4 seq/s loss {2 + 8 / (1 + step / 40):.4f} grad norm {1 + step % 7 / 10:.2f}"


def watches(reports, b, pictures, t):
    """A run of 5,000 steps that was started again, and one that failed."""
    wobble = [250 + (7 * i % 13) + (40 if i % 97 == 0 else 0) for i in range(5000)]
    lines = [step_line(i + 1, wobble[i]) for i in range(3000)]
    lines += ["slurmstepd: error: *** JOB 17 ON <script>alert(4)</script> CANCELLED AT 2026-07-01T00:00:00 DUE TO NODE FAILURE ***"]
    lines += [step_line(i + 1, wobble[i]) for i in range(2900, 5000)]
    log = reports.folder / "train <i>.out"
    log.write_text("\n".join(lines) + "\n")
    path = reports.make("watch", ["watch", str(log), "--once", "--job", "{SRC}/examples/llama3-70b-16-nodes/job.yaml",
                                  "--strategy", "tp=32,pp=8"])
    data = t.data_of(path)
    text = t.opened(b, path, pictures)
    points = sum(len(s["points"]) for s in data["stretches"])
    t.check("watch: every step counts", data["steps_found"] in (5099, 5100), data["steps_found"])
    t.marks(b, path, {"mark-step": points, "mark-restart": len(data["stretches"]) - 1, "mark-band": 1,
                      "mark-loss": len(data["losses"]["points"]), "mark-norm": len(data["gradient_norms"]["points"]),
                      "mark-alarm": len(data["alarms"]), "mark-failure": len(data["failures"])})
    for figure in (t.seconds(data["step_seconds"]), t.seconds(data["predicted_seconds"]), f"{data['restarts']}"):
        t.check(f"watch: its text has {figure}", figure in text)
    t.check("watch: a restart is drawn", data["restarts"] == 1 and len(data["stretches"]) == 2, data["restarts"])

    path = reports.make("watch-failed", ["watch", "{SRC}/tests/launch/fixtures/replica-group-failure-tp16-dp2.txt", "--once"], (3,))
    data = t.data_of(path)
    text = t.opened(b, path, pictures)
    t.check("watch-failed: the failure and its fix", data["failures"][0]["fix"] in text)
    (reports.folder / "empty.log").write_text("")
    reports.make("watch-empty", ["watch", "empty.log", "--once"])
    t.opened(b, reports.folder / "watch-empty.html", pictures)

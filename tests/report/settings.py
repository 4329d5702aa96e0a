"""The settings of whatif's page against the program: random prices, tokens, deadlines, failure rates and nodes are set in the
browser, and the command that the page then names is run.

Catches a formula, a default, a draw or an option that the page and the program do not share. 20 settings; with TRNPLAN_SOAK=N
200 fresh ones, counted from N (./dev soak)."""
import concurrent.futures
import json
import math
import os
import random
import shlex
import subprocess
import time

# Both compute in doubles; they may round exp and log differently.
TOLERANCE = 1e-9
# Each asks what another does not: types, no price (trn2), a term with a budget and a confidence, spot nodes whose checkpoints
# are asynchronous, tokens as the question, one type whose nodes were solved, a rack that fails more often than a server.
QUESTIONS = (
    ["llama3-8b", "--nodes", "1,2,4,8", "--instances", "trn1.32xlarge,p5.48xlarge,trn2.48xlarge", "--tokens", "1T",
     "--deadline", "60d"],
    ["llama2-7b", "--nodes", "2,4,8,16", "--tokens", "400B", "--budget", "600000", "--confidence", "60%", "--recovery", "manual",
     "--discount", "10%,savings-plan=20%", "--term", "1y", "--storage-gib", "1000", "--storage-usd-per-gib-month", "0.14"],
    ["llama3-8b", "--nodes", "2,4,8", "--instances", "p5.48xlarge,p4d.24xlarge", "--tokens", "500B", "--pricing", "spot",
     "--async-checkpoints", "--prefer", "fastest", "--failures-per-node-day", "0.02"],
    ["llama3-8b", "--nodes", "2,4,8", "--budget", "100000", "--deadline", "20d", "--price", "trn1.32xlarge=18/h"],
    ["llama2-7b", "--tokens", "1T", "--deadline", "60d"],
    ["llama3-8b", "--nodes", "1,2", "--instances", "p5.48xlarge,gb200-nvl72", "--tokens", "1T"],
)
SET = """
const [id, value] = arguments, control = document.getElementById(id);
control.value = value;
control.dispatchEvent(new Event('input', {bubbles: true}));
"""
DONE = "return document.getElementById('settings').dataset.state"
READ = """
const part = document.getElementById('settings'), row = (r) => [...r.cells].map((c) => c.innerText);
return {answer: part.answer, command: part.querySelector('pre').innerText, said: part.querySelector('[role=status]').innerText,
        title: document.querySelector('#answer h2').innerText, lead: document.querySelector('#answer .lead').innerText,
        rows: [...document.querySelectorAll('#points tbody tr')].map(row)};
"""
NUMBERS = ("days", "days_at_90", "usd", "usd_at_90", "usd_per_1e9_tokens", "goodput", "deadline_probability", "budget_probability",
           "checkpoint_interval_seconds", "efficiency")


# Nodes that were solved for each type: no one command has them.
ALONE = ["llama3-8b", "--instances", "trn1.32xlarge,p5.48xlarge", "--tokens", "1T", "--deadline", "60d"]


def near(a, b):
    if a is None or b is None:
        return a is b
    return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=1e-300)


def run(reports, b, pictures, t):
    soak = os.environ.get("TRNPLAN_SOAK")
    seed, count = (int(soak), 200) if soak else (1, 20)
    draw, wanted = random.Random(seed), []
    for i, question in enumerate(QUESTIONS):
        page = reports.make(f"settings-{i}", ["whatif", *question], (0, 3))
        b.open(page)
        t.check(f"settings {i}: the page has them", b.script("return document.querySelectorAll('#settings input').length") > 3)
        data = t.data_of(page)
        for k in range(i, count, len(QUESTIONS)):
            wanted.append((f"settings {i}, seed {seed}, number {k}", *changed(b, data, draw)))
        if pictures:
            for width in (1280, 400):
                b.size(width)
                t.keep(b, pictures, page.stem, width)
            b.size(1280)
        named = b.script("return [...document.querySelectorAll('#settings input')].map((i) => i.labels.length > 0 || i.ariaLabel)")
        t.check(f"settings {i}: each control has a name", all(named), named)
        before = b.script(READ)
        b.script(SET, "set-rate", "-1")
        wrong = b.script("return document.getElementById('set-rate').getAttribute('aria-invalid')")
        t.check(f"settings {i}: a wrong number is marked and changes nothing", wrong == "true" and b.script(READ) == before, wrong)
        b.script("document.querySelector('#settings .reset').click()")
        at_rest = b.script("return document.querySelector('#settings').answer")
        t.check(f"settings {i}: reset shows the page's own answer", at_rest is None, at_rest)
    b.open(reports.make("settings-alone", ["whatif", *ALONE]))
    said = b.script("return document.getElementById('settings').innerText")
    t.check("settings: a page that could not be exact has none", "state them with --nodes" in said and
            b.script("return document.querySelectorAll('input').length") == 0, said)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for (name, shown, words), answer in zip(wanted, pool.map(lambda w: answered(reports, w[2]), wanted)):
            compare(name, shown, words, answer, t)


def changed(b, data, draw):
    """Sets some controls, and returns what the page shows and the words of its command."""
    r = data["recompute"]
    near_to = lambda v, factor: float(f"{v * factor ** draw.uniform(-1, 1):.3g}")  # noqa: E731
    values = {"set-rate": near_to(r["reliability"]["failure_rate"][0], 15)}
    deadline = data["question"]["deadline_days"] or next(p["days"] for p in data["points"] if p.get("strategy"))
    values["set-deadline"] = near_to(deadline, 4)
    if r["tokens"]:
        low, high = (n / 1e9 for n in r["tokens"])
        values["set-tokens"] = min(max(near_to(math.sqrt(low * high), math.sqrt(high / low)), low), high)
    for i, of in enumerate(r["types"]):
        values[f"set-price-{i}"] = near_to(of["usd_per_hour"] or 30, 3)
    nodes = sorted({p["nodes"] for p in data["points"]})
    if len(nodes) > 1:
        fewest = draw.randrange(len(nodes))
        values["set-fewest"], values["set-most"] = fewest, draw.randrange(fewest, len(nodes))
    b.script("document.querySelector('#settings .reset').click()")
    chosen = [k for k in values if draw.random() < 0.7] or ["set-rate"]
    for k in chosen:
        b.script(SET, k, str(values[k]))
    while b.script(DONE) != "done":
        if complaints := b.complaints():  # a page that failed is never done
            raise RuntimeError(f"the page stopped: {complaints}")
        time.sleep(0.02)
    shown = b.script(READ)
    return shown, shlex.split(shown["command"])[1:]


def answered(reports, words):
    ran = subprocess.run([str(reports.trnplan), *words, "--format", "json"], capture_output=True, stdin=subprocess.DEVNULL, text=True,
                         check=False, cwd=reports.folder, env=dict(os.environ, TRNPLAN_CATALOG=str(reports.source / "catalog")))
    return json.loads(ran.stdout) if ran.returncode in (0, 3) else ran.stderr


def compare(name, shown, words, answer, t):
    name = f"{name}: {shlex.join(words)}"
    if not t.check(f"{name} runs", isinstance(answer, dict), answer):
        return
    page, points = shown["answer"], answer["points"]
    t.check(f"{name}: the same clusters", [(p["instance"], p["nodes"]) for p in page["points"]] ==
            [(p["instance"], p["nodes"]) for p in points])
    for p, of, row in zip(page["points"], points, shown["rows"]):
        where = f"{name}: {p['nodes']} x {p['instance']}"
        if not t.check(f"{where}: has a plan in both", ("strategy" in p) == (of["strategy"] is not None), [p.get("why"), of["why"]]):
            continue
        if "strategy" not in p:
            t.check(f"{where}: the same reason", p["why"] == of["why"], [p["why"], of["why"]])
            continue
        off = {k: (p[k], of[k]) for k in NUMBERS if not near(p[k], of[k])}
        off.update({k: (p[k], of[k]) for k in ("days_90", "goodput_90") if not all(map(near, p[k], of[k]))})
        in_time = (1 if p["works_probability"] is None else p["works_probability"]) * p["deadline_probability"]
        if not near(in_time, of["probability_in_time"]):
            off["probability_in_time"] = (in_time, of["probability_in_time"])
        tokens = [of["tokens_50"] or 0, of["tokens_90"] or 0]
        if [p["tokens_50"], p["tokens_90"]] != tokens:
            off["tokens"] = ([p["tokens_50"], p["tokens_90"]], tokens)
        t.check(f"{where}: the same numbers", not off, off)
        t.check(f"{where}: on the front in both", p["pareto"] == of["pareto"], of["pareto"])
        if answer["asked"] == "time_and_money":
            t.check(f"{where}: its row has the days", row[8] == f"{of['days']:.1f}" or abs(of["days"] * 10 % 1 - 0.5) < 1e-6, row)
        t.check(f"{where}: a star for the recommended one", row[0].startswith("*") == (points.index(of) == answer["recommended"]), row)
    t.check(f"{name}: the same recommendation", page["recommended"] == answer["recommended"], [page["recommended"], answer["recommended"]])
    best = points[answer["recommended"]] if answer["recommended"] >= 0 else None
    t.check(f"{name}: its heading says so",
            shown["title"] == (f"Take {best['nodes']} x {best['instance']}" if best else "No cluster keeps the limits"), shown["title"])
    if best:
        t.check(f"{name}: for the same reason", page["reason"] == answer["reason"], [page["reason"], answer["reason"]])
        t.check(f"{name}: in the same words", shown["lead"] == answer["because"], [shown["lead"], answer["because"]])
    for one, of in zip(page["instances"], answer["instances"]):
        even = near(one["break_even_usd_per_hour"], of["break_even_usd_per_hour"])
        likely = one.get("cheapest_probability") in (None, of["cheapest_probability"])
        t.check(f"{name}: {one['instance']} stands alike", one["point"] == of["point"] and even and likely, [one, of])

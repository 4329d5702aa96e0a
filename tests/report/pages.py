#!/usr/bin/env python3
"""Opens the reports of trnplan in a browser: nothing is complained of, nothing asked of the network, what is drawn is what
the data has, nothing overflows a phone, and the text answers what a person would ask.

  pages.py TRNPLAN SOURCE_DIR                       all checks
  pages.py TRNPLAN SOURCE_DIR --pictures DIR        and pictures of each page: 1280 and 400 pixels, light and dark, paper
  pages.py TRNPLAN SOURCE_DIR --settings            only the settings of whatif's page
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import browser  # noqa: E402
import jobs  # noqa: E402
import settings  # noqa: E402

checks, failed = 0, 0


def check(what, holds, shown=""):
    global checks, failed
    checks += 1
    if not holds:
        failed += 1
        print(f"FAIL: report: {what}{': ' if shown != '' else ''}{str(shown)[:1500]}")
    return holds


class Reports:
    """Runs the program and reads what it wrote."""

    def __init__(self, trnplan, source, folder):
        self.trnplan, self.source, self.folder = trnplan, source, folder

    def make(self, name, words, codes=(0,)):
        path = self.folder / f"{name}.html"
        words = [w.replace("{SRC}", str(self.source)) for w in words]
        ran = subprocess.run([self.trnplan, *words, "--report", str(path)], capture_output=True, stdin=subprocess.DEVNULL,
                             text=True, check=False, cwd=self.folder,
                             env=dict(os.environ, TRNPLAN_CATALOG=str(self.source / "catalog")))
        check(f"{' '.join(words)} exits with one of {codes}", ran.returncode in codes, f"{ran.returncode} {ran.stderr[-500:]}")
        return path

    def answer(self, words):
        """What the program prints."""
        return subprocess.run([self.trnplan, *[w.replace("{SRC}", str(self.source)) for w in words]], capture_output=True,
                              stdin=subprocess.DEVNULL, text=True, check=True, cwd=self.folder,
                              env=dict(os.environ, TRNPLAN_CATALOG=str(self.source / "catalog"))).stdout


def data_of(path):
    """The JSON inside a page, read as a browser reads the element."""
    text = path.read_text()
    check(f"{path.name}: one element of data, and nothing of it ends it", text.count("</script>") == 2 and text.count("<script") == 2)
    return json.loads(text.split('id="data">', 1)[1].split("</script>", 1)[0])


COUNT = """
const of = {};
for (const name of arguments[0]) of[name] = document.getElementsByClassName(name).length;
return of;
"""


def opened(b, path, pictures):
    """The page at two widths: sound at each. Returns its visible text."""
    text = ""
    for width in (1280, 400):
        b.open(path, width)
        complaints = b.complaints()
        check(f"{path.name}: no complaint of the browser at {width} pixels", not complaints, complaints)
        asked = b.requests()
        check(f"{path.name}: no request at {width} pixels", not asked, asked)
        overflow = b.script("return document.documentElement.scrollWidth - innerWidth")
        check(f"{path.name}: nothing overflows {width} pixels", overflow <= 0, overflow)
        drawn = b.script("return [...document.querySelectorAll('.chart')].filter(c => !c.querySelector('svg')).length")
        check(f"{path.name}: every chart is drawn at {width} pixels", drawn == 0, drawn)
        bad = b.script("return [...document.querySelectorAll('svg *')]"
                       ".filter(e => [...e.attributes].some(a => /NaN|undefined|Infinity/.test(a.value)))"
                       ".map(e => e.outerHTML.slice(0, 200)).slice(0, 3)")
        check(f"{path.name}: every mark has a place at {width} pixels", not bad, bad)
        text = b.script("return document.body.innerText")
        check(f"{path.name}: no word of a program in the text", not re.search(r"\b(NaN|undefined|Infinity|null|\[object)\b", text),
              re.findall(r".{0,40}\b(?:NaN|undefined|Infinity|null|\[object)\b.{0,40}", text))
        if pictures:
            keep(b, pictures, path.stem, width)
    b.size(1280)
    return text


def keep(b, folder, name, width):
    """Pictures of the page as it is, light and dark; of the wide one also on paper."""
    b.picture(folder / f"{name}-{width}.png")
    b.media(dark=True)
    b.picture(folder / f"{name}-{width}-dark.png")
    b.media()
    if width > 600:
        b.paper(folder / f"{name}.pdf")


def marks(b, path, expected):
    found = b.script(COUNT, list(expected))
    for name, wanted in expected.items():
        check(f"{path.name}: {wanted} marks of {name}", found[name] == wanted, found[name])


def seconds(v):
    return f"{v:.0f}" if v >= 1000 else f"{v:.1f}" if v >= 100 else f"{v:.2f}"


def gib(v):
    return f"{v / 2**30:.2f}"


def degrees(s):
    parts = [("TP", "tensor_parallel"), ("PP", "pipeline_parallel"), ("CP", "context_parallel"), ("EP", "expert_parallel"),
             ("DP", "data_parallel")]
    return " x ".join(f"{name} {s[key]}" for name, key in parts if s[key] > 1)


def probability(p):
    return "> 99.9 %" if p > 0.999 else "< 0.1 %" if p < 0.001 else f"{100 * p:.1f} %"


def stage_rows(memory):
    """Neighbours of the same bytes share a row."""
    keys = ("parameters", "gradients", "optimizer", "activations", "logits", "staging", "runtime")
    rows = []
    for m in memory["stages"]:
        key = [gib(m[k]) for k in keys] + [m["layers"], m["in_flight"]]
        if not rows or rows[-1] != key:
            rows.append(key)
    return len(rows)


def check_plan(b, path, pictures):
    data = data_of(path)
    text = opened(b, path, pictures)
    best = next(p for p in data["plans"] if p["recommended"])
    drawn = [p for i, p in enumerate(data["plans"]) if i < 16 or p is best]
    slices = data["step"]["timeline"]
    marks(b, path, {"mark-plan": len(drawn) if len(data["plans"]) > 1 else 0,
                    "mark-slice": len(slices["slices"]) if slices else 0,
                    "mark-stage": min(stage_rows(data["memory"]), 24) if stage_rows(data["memory"]) <= 24 else len(b.script(
                        "return [...document.querySelectorAll('.mark-stage')].map(() => 1)")),
                    "mark-refused": len(data["refused"]) + len(data["doubtful"])})
    check(f"{path.name}: the chips of the node", b.script(COUNT, ["mark-chip"])["mark-chip"] % data["machine"]["chips"] == 0)
    if slices:
        check(f"{path.name}: the timeline is as long as the step", abs(slices["end_microseconds"] / 1e6 / best["step_seconds"] - 1) < 1e-5,
              [slices["end_microseconds"], best["step_seconds"]])
    # Each figure of the answer is the data's.
    for what, figure in {"step": seconds(best["step_seconds"]), "low": seconds(best["step_seconds_90"][0]),
                         "high": seconds(best["step_seconds_90"][1]), "tokens/s": f"{round(best['tokens_per_second']):,}",
                         "peak": gib(best["peak_bytes"]), "limit": gib(best["limit_bytes"]),
                         "MFU": f"{100 * best['mfu']:.1f} %"}.items():
        check(f"{path.name}: its text has the {what} of its data, {figure}", figure in text)
    check(f"{path.name}: the parts of a step add up",
          abs(sum(best["breakdown_seconds"]) - best["step_seconds"]) < 1e-6 * best["step_seconds"])
    return data, text


def six_questions(path, data, text):
    """What a person wants to know, read from the text alone."""
    best = next(p for p in data["plans"] if p["recommended"])
    lead = re.search(r"Train with (.*?), ([^(]*) ?\(([^)]*)\): a step takes ([\d.,]+) s \(90 % interval: ([\d.,]+) to ([\d.,]+) s\)", text)
    check(f"{path.name}: the text says what to train with", lead is not None, text[:600])
    if not lead:
        return
    check(f"{path.name}: which layout?", lead[1].startswith(degrees(best["strategy"])) and lead[3].strip() == best["grammar"], lead[0])
    sure = re.search(r"That it runs: (.*? %)\.", text)
    check(f"{path.name}: how sure?", sure and sure[1] == probability(best["outlook"]["works"]), sure and sure[0])
    limit = re.search(r"What limits it\n+(.*?): 1 % (?:faster|less) makes the step ([\d.]+) % shorter", text)
    check(f"{path.name}: what limits it?", limit and limit[2] == f"{abs(data['sensitivity']['elasticity']):.2f}", limit and limit[0])
    word = data["machine"]["core_word"]
    left = re.search(r"Memory left per (\w+)\n+([\d.]+) GiB", text)
    check(f"{path.name}: how much memory is left?",
          left and left[1] == word and left[2] == gib(best["limit_bytes"] - best["peak_bytes"]), left and left[0])
    refused = re.search(r"What would not run, and why\n.*", text, re.S)[0]
    first = data["refused"][0]
    check(f"{path.name}: what would not run?", degrees(first["strategy"]) in refused and first["message"] in refused, first)
    check(f"{path.name}: and what would mend it?", first["fix"] in refused, first["fix"])
    after = re.search(r"What to type next\n(.*?)How sure is that", text, re.S)[1]
    written = "--out my-plan" in after and "trnplan launch my-plan" in after
    check(f"{path.name}: what to type next?", written != (data["unwritten"] is not None) and "trnplan simulate" in after, after)
    for command in data["commands"]:
        check(f"{path.name}: it can be copied as it stands", command["command"] in after, command)


def main():
    trnplan, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    pictures = pathlib.Path(sys.argv[4]) if "--pictures" in sys.argv else None
    lacking = browser.missing()
    if lacking:
        every = os.environ.get("TRNPLAN_TEST_ALL") == "1"
        print(f"{'FAIL' if every else 'SKIPPED'}: report: the pages in a browser; needs {' '.join(lacking)}")
        return 1 if every else 0
    with tempfile.TemporaryDirectory(prefix="trnplan-report-") as folder, browser.Browser() as b:
        reports = Reports(trnplan, source, pathlib.Path(folder))
        (settings.run if "--settings" in sys.argv else jobs.run)(reports, b, pictures, sys.modules[__name__])
    print(f"report: {checks} checks, {failed} failed")
    return 1 if failed or checks < 60 else 0


if __name__ == "__main__":
    sys.exit(main())

"""Shows results in a browser as a notebook does: the frame draws the page, asks no network and reaches nothing outside of it.

frame.py SOURCE_DIR
"""

import sys
import tempfile
from pathlib import Path

import trnplan

SOURCE = Path(sys.argv[1])
sys.path.insert(0, str(SOURCE / "tests/report"))
import browser  # noqa: E402

JOB = SOURCE / "examples/llama3-8b-one-node/job.yaml"
stated = {"model": "llama3-8b", "training": {"sequence": 8192, "global_batch": 1024}, "cluster": {"instance": "trn1.32xlarge", "nodes": 1}}
results = {
    "a plan of a dict": trnplan.plan(stated),
    "a plan": trnplan.plan(JOB),
    "no plan": trnplan.plan("llama3-70b", nodes=1),
    "a simulation": trnplan.simulate(JOB, "tp=32"),
    "clusters": trnplan.whatif("llama3-8b", "4..8", tokens="500B"),
    "a validation": trnplan.validate(leave_out="none"),
}
with tempfile.TemporaryDirectory() as folder, browser.Browser() as b:
    for name, result in results.items():
        file = Path(folder, "notebook.html")
        # No encoding is stated, so that the browser takes another one than UTF-8.
        file.write_text(f"<!DOCTYPE html><title>notebook</title><body>{result._repr_html_()}")
        b.open(file)
        assert b.script("return document.querySelector('iframe').contentDocument") is None, f"{name}: the frame is no sandbox"
        assert b.script("return document.querySelectorAll('details table').length") > 0, f"{name}: no table"
        b.post("frame", {"id": 0})
        shown = b.script("return document.querySelector('main').innerText")
        assert len(shown) > 200, f"{name}: the frame shows only {shown!r}"
        assert ("save it as job.yaml first" in shown) == (name == "a plan of a dict"), f"{name}: {shown[:2000]}"
        assert b.script("try { return parent.document.title } catch (e) { return e.name }") == "SecurityError", name
        b.post("frame", {"id": None})
        assert b.complaints() == [] and b.requests() == [], name
print(f"{len(results)} frames")

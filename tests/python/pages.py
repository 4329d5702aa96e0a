"""Pages of results: what --report of the program writes, in a file, as a text and in a notebook.

pages.py TRNPLAN SOURCE_DIR
"""

import copy
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple
from xml.etree import ElementTree

import trnplan

PROGRAM, SOURCE = sys.argv[1:3]
JOB = f"{SOURCE}/examples/llama3-8b-one-node/job.yaml"
HOSTILE = """"></iframe><script>alert(1)</script>'"&amp;<img src=x onerror=alert(2)>]]>"""


def timeless(page: str) -> str:
    """Without the wall time of a search."""
    return re.sub(r'("simulated":\d+,"inexpressible":\d+,"seconds":)[^}]*', r"\1", page)


def data_of(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found is not None
    return json.loads(found[1])


class Elements(HTMLParser):
    """The elements of a text with their attributes, as a browser sees them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.all: List[Tuple[str, Dict[str, Optional[str]]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: List[Tuple[str, Optional[str]]]) -> None:
        self.all.append((tag, dict(attrs)))


class Pages(unittest.TestCase):
    maxDiff = 2000

    def setUp(self) -> None:
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = Path(made.name)

    def printed(self, *words: Any) -> str:
        """The page that the program writes; exit code 3 is an answer, too."""
        file = self.folder / "printed.html"
        ran = subprocess.run([PROGRAM, *map(str, words), "--report", str(file), "--force"], capture_output=True,
                             env={**os.environ, "TRNPLAN_CATALOG": f"{SOURCE}/catalog"})  # fmt: skip
        self.assertIn(ran.returncode, (0, 3), ran.stderr.decode())
        return file.read_text(encoding="utf-8")

    def same(self, result: trnplan.PlanResult, *words: Any) -> None:
        page = result.to_html()
        self.assertEqual(timeless(page), timeless(self.printed(*words)))
        self.assertEqual(page, result.to_html())
        self.framed(result)

    def framed(self, result: Any) -> None:
        """The notebook shows the page in a frame, and nothing of the page outside of it."""
        shown = result._repr_html_()
        elements = Elements(shown).all
        frames = [attributes for tag, attributes in elements if tag == "iframe"]
        self.assertEqual(len(frames), 1)
        self.assertEqual(frames[0]["srcdoc"], result.to_html())
        self.assertEqual(frames[0]["sandbox"], "allow-scripts")
        self.assertIn("height:", frames[0]["style"] or "")
        self.assertLessEqual({tag for tag, _ in elements}, {"div", "iframe", "details", "summary", "table", "caption",
                                                            "thead", "tbody", "tr", "th", "td"})  # fmt: skip
        ElementTree.fromstring(shown)

    def refused(self, call: Any, *wanted: str) -> "trnplan.InputError":
        with self.assertRaises(trnplan.InputError) as caught:
            call()
        for word in wanted:
            self.assertIn(word, str(caught.exception))
        return caught.exception

    def test_plan(self) -> None:
        self.same(trnplan.plan(JOB, top=3), "plan", JOB, "--top", 3)
        self.same(trnplan.plan("llama3-8b", nodes=4, tokens="2T", risk="fastest"), "plan", "llama3-8b", "--nodes", 4, "--tokens",
                  "2T", "--risk", "fastest")  # fmt: skip
        self.same(trnplan.plan("llama3-70b", nodes=1), "plan", "llama3-70b", "--nodes", 1)  # where nothing fits

    def test_simulate(self) -> None:
        for strategy in ("tp=32", "tp=16,recompute=full", "tp=8,mbs=3"):  # runs, is refused, has no program
            one: Any = trnplan.simulate(JOB, strategy)
            self.same(one, "simulate", JOB, "--strategy", strategy)

    def test_whatif(self) -> None:
        clusters: Any = trnplan.whatif("llama3-8b", "4..8", tokens="500B", sequence=4096)
        self.same(clusters, "whatif", "llama3-8b", "--nodes", "4..8", "--tokens", "500B", "--sequence", 4096)

    def test_validate(self) -> None:
        steps: Any = trnplan.validate(leave_out="none")
        self.same(steps, "validate", "--leave-out", "none")
        few = self.folder / "few.csv"
        few.write_text("".join(Path(SOURCE, "catalog/gpu-runs.csv").read_text().splitlines(keepends=True)[:40]))
        scored: Any = trnplan.validate(few)
        self.same(scored, "validate", few)
        self.refused(lambda: trnplan.validate(of="memory", report=self.folder / "a.html"), "report", "step times")

    def test_report(self) -> None:
        file = self.folder / "page.html"
        calls: List[Any] = [
            partial(trnplan.plan, JOB),
            partial(trnplan.simulate, JOB, "tp=32"),
            partial(trnplan.whatif, "llama3-8b", 4, tokens="1T"),
            partial(trnplan.validate, leave_out="none"),
        ]
        for call in calls:
            found = call(report=file)
            page = file.read_text(encoding="utf-8")
            self.assertEqual(page, found.to_html())
            error = self.refused(lambda: call(report=str(file)), "force")
            self.assertNotIn("--", str(error))
            self.assertEqual(file.read_text(encoding="utf-8"), page)
            call(report=file, force=True)
            file.unlink()
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_report_that_cannot_be_written_is_refused_before_the_work(self) -> None:
        unwritable = self.folder / "no" / "page.html"
        error = self.refused(lambda: trnplan.plan("no-such-model", report=unwritable), "its folder does not exist")
        self.assertEqual(len(error.faults), 1)
        self.refused(lambda: trnplan.plan(JOB, report=self.folder))
        self.refused(lambda: trnplan.plan(JOB, report=""), "report")
        self.refused(lambda: trnplan.plan(JOB, report="a\0b"), "report")
        self.refused(lambda: trnplan.plan(JOB, report="a.html", force=1), "force")  # type: ignore[arg-type]

    def test_a_report_that_turns_out_unwritable_keeps_the_plan(self) -> None:
        folder = self.folder / "gone"
        folder.mkdir()

        def vanish(*_: Any) -> None:
            if folder.exists():
                folder.rmdir()

        def call() -> None:
            trnplan.plan("llama3-70b", nodes="1..64", report=folder / "page.html", progress=vanish)

        error = self.refused(call, "page.html")
        self.assertTrue(error.result.plans)
        self.assertIn("<!DOCTYPE html>", error.result.to_html())

    def test_hostile_names(self) -> None:
        file = self.folder / f"{HOSTILE}.yaml"  # its slashes make folders
        file.parent.mkdir(parents=True)
        file.write_text(Path(JOB).read_text())
        shape = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336,
                 "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
                 "max_position_embeddings": 8192, "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "hidden_act": "silu",
                 "tie_word_embeddings": False}  # fmt: skip
        model = self.folder / "models" / f"{HOSTILE}.json"
        model.parent.mkdir(parents=True)
        model.write_text(json.dumps(shape))
        of_a_file, of_a_model = trnplan.plan(file), trnplan.plan(model, nodes=4, sequence=8192, global_batch=1024)
        for found in (of_a_file, of_a_model):
            self.framed(found)
            page = found.to_html()
            self.assertEqual(page.count("<script"), 2)
            self.assertNotIn("<img", page)
            self.assertIn("alert(1)", page)

    def test_a_job_in_memory_is_to_be_saved(self) -> None:
        """No command of the page names an input that is in no file."""
        text = Path(JOB).read_text()
        job = {"model": "llama3-8b", "training": {"sequence": 8192, "global_batch": 1024, "tokens": 15e12},
               "cluster": {"instance": "trn1.32xlarge", "nodes": 1}}  # fmt: skip
        both: Any = (text, job)
        for stated in both:
            results = (trnplan.plan(stated), trnplan.simulate(stated, "tp=32"), trnplan.whatif(stated, 4))
            for page in map(data_of, (result.to_html() for result in results)):
                self.assertEqual(page["save_as"], "job.yaml")
                commands = " ".join(c["command"] for c in page["commands"])
                self.assertIn(" job.yaml ", commands)
                self.assertNotIn("job>", commands)
        self.assertNotIn("save_as", data_of(trnplan.plan(JOB).to_html()))

    def test_a_page_is_of_its_call(self) -> None:
        """Not of what became of its files and folders since."""
        profile = self.folder / "mine.json"
        profile.write_bytes(Path(SOURCE, "catalog/profiles/trn1.json").read_bytes())
        once, again = (trnplan.plan(JOB, profile=profile) for _ in range(2))
        page = timeless(once.to_html())
        profile.unlink()
        self.assertEqual(timeless(again.to_html()), page)

    def test_copies(self) -> None:
        found = trnplan.plan(JOB)
        for made in (copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
            self.assertEqual(made, found)
            self.assertEqual(made.to_html(), found.to_html())

    def test_threads(self) -> None:
        found = trnplan.plan("llama3-8b", nodes=4)
        with ThreadPoolExecutor(8) as pool:
            self.assertEqual(len(set(pool.map(lambda _: found.to_html(), range(16)))), 1)

    def test_a_result_without_a_page(self) -> None:
        results: Any = (trnplan.models(), trnplan.topology(tp=8), trnplan.collective("allr"), trnplan.validate(of="goodput"))
        for result in results:
            shown = result._repr_html_()
            self.assertNotIn("iframe", shown)
            self.assertIn('<table class="trnplan">', shown)
            page = result.to_html()
            self.assertTrue(page.startswith("<!DOCTYPE html>"))
            self.assertIn(shown, page)
            self.assertEqual([tag for tag, _ in Elements(page).all if tag == "script"], [])

    def test_what_python_prints_stays_a_table(self) -> None:
        found = trnplan.plan(JOB)
        self.assertIn("recommended", repr(found))
        self.assertNotIn("<", repr(found))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

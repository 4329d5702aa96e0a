"""What the package answers is what the program prints, as typed objects.

functions.py TRNPLAN SOURCE_DIR
"""

import json
import os
import subprocess
import sys
import unittest
from dataclasses import fields
from typing import Any

import trnplan
from trnplan.records import Record

PROGRAM, SOURCE = sys.argv[1:3]
JOB = f"{SOURCE}/examples/llama3-8b-one-node/job.yaml"


def printed(*words: Any) -> Any:
    """The program's document; exit code 3 is an answer, too."""
    environment = {**os.environ, "TRNPLAN_CATALOG": f"{SOURCE}/catalog"}
    ran = subprocess.run([PROGRAM, *map(str, words), "--format", "json"], capture_output=True, env=environment)
    assert ran.returncode in (0, 3), ran.stderr.decode()
    return json.loads(ran.stdout)


def timeless(document: Any) -> Any:
    """Without the one thing that differs from run to run."""
    if isinstance(document, dict) and "space" in document:
        return {**document, "space": {**document["space"], "seconds": 0}}
    return document


class Check(unittest.TestCase):
    maxDiff = 2000

    def same(self, result: Any, *words: Any) -> None:
        self.assertEqual(timeless(result.to_dict()), timeless(printed(*words)))
        self.typed(result)

    def typed(self, record: Any) -> None:
        """Every key of the document is an attribute, records and lists of them inside too."""
        if isinstance(record, list):
            for item in record:
                self.typed(item)
        if not isinstance(record, Record):
            return
        named = {f.name.rstrip("_") for f in fields(record)}  # type: ignore[arg-type]
        document = record.to_dict()
        if isinstance(record, trnplan.SimulateResult) and record.plan:
            self.assertEqual(set(record.plan.to_dict()), set(document))
            document = {key: value for key, value in document.items() if key in ("schema_version", "violations")}
            self.typed_plan(record.plan)
        self.assertLessEqual(set(document), named, f"keys that {type(record).__name__} lacks")
        for field in fields(record):  # type: ignore[arg-type]
            self.typed(getattr(record, field.name))

    def typed_plan(self, plan: Any) -> None:
        self.assertLessEqual(set(plan.to_dict()) - {"schema_version", "violations"}, {f.name for f in fields(plan)})

    def refused(self, call: Any, *wanted: str) -> "trnplan.InputError":
        with self.assertRaises(trnplan.InputError) as caught:
            call()
        for word in wanted:
            self.assertIn(word, str(caught.exception))
        return caught.exception


class Plan(Check):
    def test_file(self) -> None:
        found = trnplan.plan(JOB, top=3)
        self.same(found, "plan", JOB, "--top", 3)
        assert found.best is not None
        self.assertGreater(found.best.step_seconds, 0)
        self.assertEqual(found.best.strategy.instance, "trn1.32xlarge")

    def test_text_and_dict_are_the_file(self) -> None:
        with open(JOB) as file:
            text = file.read()
        job = {"model": "llama3-8b", "training": {"sequence": 8192, "global_batch": 1024, "tokens": 15e12},
               "cluster": {"instance": "trn1.32xlarge", "nodes": 1}}  # fmt: skip
        of_file, of_text, of_dict = (timeless(trnplan.plan(j).to_dict()) for j in (JOB, text, job))
        self.assertEqual(of_file, of_text)
        self.assertEqual(of_file, of_dict)

    def test_options(self) -> None:
        found = trnplan.plan("llama3-8b", nodes=[1, 2], tokens="2T", deadline="900d", risk="fastest", top=2)
        self.same(found, "plan", "llama3-8b", "--nodes", "1,2", "--tokens", "2T", "--deadline", "900d", "--risk",
                  "fastest", "--top", 2)  # fmt: skip

    def test_nothing_fits(self) -> None:
        found = trnplan.plan("llama3-70b", nodes=1)
        self.same(found, "plan", "llama3-70b", "--nodes", 1)
        self.assertIsNone(found.best)
        self.assertEqual(found.plans, [])
        assert found.infeasible is not None
        self.assertGreater(found.infeasible.nodes_that_would_do, 1)

    def test_every_fault_at_once(self) -> None:
        error = self.refused(lambda: trnplan.plan("model: llama3-8c\ntraning: {}\n"))
        keys = {fault.key for fault in error.faults}
        self.assertLessEqual({"model", "traning", "training", "cluster"}, keys)
        model = next(f for f in error.faults if f.key == "model")
        self.assertEqual((model.file, model.line, model.column), ("<job>", 1, 8))
        self.assertIn("llama3-8b", model.fix)

    def test_faults_of_a_dict_have_keys_and_no_lines(self) -> None:
        error = self.refused(lambda: trnplan.plan({"model": "llama3-8b", "cluster": {"instance": "trn9"}}), "training")
        self.assertTrue(all(f.line is None and f.column is None for f in error.faults))

    def test_faults_of_arguments(self) -> None:
        error = self.refused(lambda: trnplan.plan(JOB, top=0, sure=2.0, risk="bold"), "top", "sure", "risk")
        self.assertEqual(len(error.faults), 3)
        self.assertEqual({f.file for f in error.faults}, {""})
        self.refused(lambda: trnplan.plan(JOB, global_batch="many"), "global_batch")

    def test_progress_that_raises_ends_the_search(self) -> None:
        calls = []

        def stop(simulated: int, open_ones: int, best: Any) -> None:
            calls.append((simulated, open_ones, best))
            raise KeyError("enough")

        with self.assertRaises(KeyError):
            for nodes in ("1..64", "1..128"):
                trnplan.plan("llama3-70b", nodes=nodes, global_batch="1024..2048", progress=stop)
        self.assertEqual(len(calls), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

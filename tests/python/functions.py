"""What the package answers is what the program prints, as typed objects.

functions.py TRNPLAN SOURCE_DIR
"""

import dataclasses
import importlib.util
import inspect
import json
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import trnplan
from trnplan.records import Record

PROGRAM, SOURCE = sys.argv[1:3]
LOG = "tests/calibrate/fixtures/logs/nxdt-llama3-70b.txt"
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


def repr_of(value: Any) -> str:
    """Short, and of what cannot speak its type."""
    try:
        return repr(value)[:40]
    except (RuntimeError, ValueError):
        return type(value).__name__


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
        named = {f.name.rstrip("_") for f in fields(record)}
        document = record.to_dict()
        if isinstance(record, trnplan.SimulateResult) and record.plan:
            document = {key: value for key, value in document.items() if key in ("schema_version", "violations")}
        self.assertLessEqual(set(document), named, f"keys that {type(record).__name__} lacks")
        for field in fields(record):
            self.typed(getattr(record, field.name))

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
        of_file = timeless(trnplan.plan(JOB).to_dict())
        of_text = timeless(trnplan.plan(text).to_dict())
        of_dict = timeless(trnplan.plan(job).to_dict())
        self.assertEqual(of_file, of_text)
        self.assertEqual(of_file, of_dict)

    def test_options(self) -> None:
        found = trnplan.plan("llama3-8b", nodes=[1, 2], tokens="2T", deadline="900d", risk="fastest", top=2)
        self.same(found, "plan", "llama3-8b", "--nodes", "1,2", "--tokens", "2T", "--deadline", "900d", "--risk",
                  "fastest", "--top", 2)  # fmt: skip

    def test_one_job_has_one_answer(self) -> None:
        """Two functions that search for themselves, on machines of each kind and with the stacks of each."""
        for model, instance, nodes in (("llama2-7b", "trn1.32xlarge", 1), ("llama3.1-8b", "trn2.48xlarge", 2),
                                       ("llama3-70b", "p5.48xlarge", 8), ("llama3-8b", "p4d.24xlarge", 2)):  # fmt: skip
            job = {"model": model, "training": {"sequence": 4096, "global_batch": 512, "tokens": 1e11},
                   "cluster": {"instance": instance, "nodes": nodes}}  # fmt: skip
            planned = trnplan.plan(job)
            best = planned.best
            assert best is not None and planned.run is not None
            point = trnplan.whatif(job, nodes).points[0]
            one = trnplan.simulate(job, best.strategy).plan
            assert one is not None
            with self.subTest(model=model, instance=instance):
                self.assertEqual((point.step_seconds, point.mfu, point.works_probability, point.usd_per_hour),
                                 (best.step_seconds, best.mfu, best.works_probability, best.usd_per_hour))  # fmt: skip
                self.assertEqual((point.days, point.usd), (planned.run.days, planned.run.usd))
                self.assertEqual((one.step_seconds, one.step_seconds_90, one.memory_bytes_per_core, one.works_probability),
                                 (best.step_seconds, best.step_seconds_90, best.memory_bytes_per_core,
                                  best.works_probability))  # fmt: skip

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

    def test_out(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "plan"
            found = trnplan.plan(Path(JOB), out=out)
            self.assertTrue((out / "nxdt.yaml").is_file())
            self.assertTrue(any("wrote" in remark for remark in found.remarks))
            again = self.refused(lambda: trnplan.plan(JOB, out=out), "nxdt.yaml")
            self.assertIsNone(again.result)  # nothing is looked for where it could not be written
            trnplan.plan(JOB, out=out, force=True)
            checked = trnplan.check(out / "nxdt.yaml")
            self.assertNotEqual(checked.verdict, "refused")

    def test_the_same_from_eight_threads(self) -> None:
        jobs = [(JOB, {}), ("llama3-8b", {"nodes": 4}), ("llama2-7b", {"nodes": 2}), (JOB, {"allow_doubtful": True})] * 2

        def run(job: Any) -> Any:
            return json.dumps(timeless(trnplan.plan(job[0], **job[1]).to_dict()))

        alone = [run(job) for job in jobs]
        with ThreadPoolExecutor(8) as pool:
            self.assertEqual(list(pool.map(run, jobs)), alone)

    def test_other_threads_run_meanwhile(self) -> None:
        """Python switches threads by itself only after an hour here: who runs during a call does so without the GIL."""
        usual = sys.getswitchinterval()

        def overtaken(call: Any) -> bool:
            begun, ended = threading.Event(), []

            def work() -> None:
                begun.set()
                call()
                ended.append(True)

            worker = threading.Thread(target=work)
            worker.start()
            begun.wait()
            during = not ended
            worker.join()
            return during

        def alone() -> None:
            for _ in range(10**6):
                pass

        try:
            sys.setswitchinterval(3600)
            self.assertFalse(overtaken(alone))
            search = lambda: trnplan.plan("llama3-70b", nodes=16, threads=1)  # noqa: E731
            self.assertTrue(any(overtaken(search) for _ in range(5)))
        finally:
            sys.setswitchinterval(usual)

    def test_baseline(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            trnplan.plan(JOB, out=folder + "/plan", risk="fastest")
            config = Path(folder, "plan", "nxdt.yaml").read_text()
            shape = Path(folder, "plan", "config.json").read_text()
        del shape  # the catalogue knows the model
        found = trnplan.plan(JOB, baseline=config)
        assert found.baseline is not None
        self.typed(found)
        self.assertAlmostEqual(found.baseline.speedup or 0, 1.0, delta=0.5)


class Others(Check):
    def test_simulate(self) -> None:
        one = trnplan.simulate(JOB, "tp=32")
        self.same(one, "simulate", JOB, "--strategy", "tp=32")
        assert one.plan is not None
        self.assertEqual(trnplan.simulate(JOB, {"tp": 32}).to_dict(), one.to_dict())
        again = trnplan.simulate(JOB, one.plan.strategy)
        self.assertEqual(again.to_dict(), one.to_dict())
        self.assertEqual(again, one)

    def test_a_refused_strategy_is_an_answer(self) -> None:
        one = trnplan.simulate(JOB, "tp=16,recompute=full")
        self.same(one, "simulate", JOB, "--strategy", "tp=16,recompute=full")
        self.assertTrue(one.refused)
        assert one.plan is not None
        none = trnplan.simulate(JOB, "tp=8,mbs=3")
        self.same(none, "simulate", JOB, "--strategy", "tp=8,mbs=3")
        self.assertIsNone(none.plan)
        self.refused(lambda: trnplan.simulate(JOB, "tp=5"), "strategy")

    def test_every_strategy_of_a_ranking_is_simulated_again(self) -> None:
        found = trnplan.plan("llama3-8b", nodes=4)
        for plan in found.plans:
            again = trnplan.simulate("llama3-8b", plan.strategy, nodes=4).plan
            assert again is not None
            self.assertEqual((again.strategy, again.step_seconds), (plan.strategy, plan.step_seconds))

    def test_a_strategy_with_one_thing_changed(self) -> None:
        best = trnplan.plan("llama3-8b", nodes=4).best
        assert best is not None
        other = dataclasses.replace(best.strategy, recompute="full")
        one = trnplan.simulate("llama3-8b", other, nodes=4).plan
        assert one is not None
        self.assertEqual(one.strategy, other)
        self.assertGreater(one.step_seconds, best.step_seconds)

    def test_whatif(self) -> None:
        found = trnplan.whatif("llama3-8b", [4, 8], tokens="200B", deadline=timedelta(days=90), budget=2.5e6,
                               storage_gb_per_second=10, failures_per_node_day=0.02)  # fmt: skip
        self.same(found, "whatif", "llama3-8b", "--nodes", "4,8", "--tokens", "200B", "--deadline", "2160h", "--budget",
                  "2500000", "--storage-gb-per-second", 10, "--failures-per-node-day", 0.02)  # fmt: skip
        assert found.best is not None and found.best.days is not None
        self.assertLess(found.best.days, 90)
        hopeless = trnplan.whatif("llama3-8b", 1, tokens="15T", deadline="10d")
        self.same(hopeless, "whatif", "llama3-8b", "--nodes", 1, "--tokens", "15T", "--deadline", "10d")
        self.assertIsNone(hopeless.best)
        self.refused(lambda: trnplan.whatif("llama3-8b", 4, pricing="free", scaling="odd"), "pricing", "scaling")

    def test_offerings(self) -> None:
        offers = f"{SOURCE}/tests/io/fixtures/offerings/capacity-blocks.json"
        found = trnplan.offerings("llama3-8b", offers, tokens="20B", confidence=0.9)
        self.same(found, "whatif", "llama3-8b", "--offerings", offers, "--tokens", "20B", "--confidence", "90%")
        self.refused(lambda: trnplan.offerings("llama3-8b", offers, confidence=2), "confidence")

    def test_compare(self) -> None:
        found = trnplan.compare("tp=8", "tp=32", job="llama3-8b", nodes=4)
        self.same(found, "compare", "tp=8", "tp=32", "--job", "llama3-8b", "--nodes", 4)
        self.refused(lambda: trnplan.compare("tp=8", "tp=x", job="llama3-8b"), "tp")

    def test_stated_prices(self) -> None:
        best = trnplan.plan("llama3-8b", nodes=4, price="trn1=10/h").best
        assert best is not None
        self.assertEqual(best.usd_per_hour, 40)
        self.refused(lambda: trnplan.simulate("llama3-8b", "tp=8", price="p5=10/h"), "p5.48xlarge")

    def test_check(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            trnplan.plan(JOB, out=folder + "/plan")
            file = Path(folder, "plan", "nxdt.yaml")
            self.same(trnplan.check(file), "check", file)
            text = file.read_text().replace("tensor_model_parallel_size: 8", "tensor_model_parallel_size: 16")
            file.write_text(text)
            checked = trnplan.check(file)
            self.same(checked, "check", file)
            self.assertEqual(checked.verdict, "refused")
            self.assertTrue(any(f.severity == "error" for f in checked.findings))
            self.assertTrue(checked.nearest)
        of_text = trnplan.check(text)  # without a config.json in its folder, and without a name
        self.assertEqual(of_text.verdict, "refused")
        self.refused(lambda: trnplan.check("model: llama3-8b\ntraining: {}\n"), "not an NxDT config", "<config>")

    def test_check_scripts(self) -> None:
        """Neither target nor env reached the request: a call could not state a script's target or its variables."""
        flags = (
            "export CUDA_DEVICE_MAX_CONNECTIONS=1\n"
            "torchrun --nproc-per-node 8 --nnodes 1 pretrain_gpt.py --num-layers 32 --hidden-size 4096 "
            "--ffn-hidden-size 14336 --num-attention-heads 32 --group-query-attention --num-query-groups 8 --swiglu "
            "--seq-length 8192 --max-position-embeddings 8192 --micro-batch-size 1 --global-batch-size 64 --bf16 "
            "--tensor-model-parallel-size $TP --sequence-parallel --use-distributed-optimizer --mock-data "
            "--tokenizer-type NullTokenizer --vocab-size 128256 --train-iters 100 --lr 3e-4 --use-mcore-models\n"
        )
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "train.sh")
            file.write_text(flags)
            stated: Any = {"target": "megatron", "instance": "p5.48xlarge", "nodes": 1}
            words = ["--target", "megatron", "--instance", "p5.48xlarge", "--nodes", 1]
            for degree in ("2", "4"):
                checked = trnplan.check(file, env={"TP": degree}, **stated)
                self.same(checked, "check", file, *words, "--env", f"TP={degree}")
                assert checked.prediction is not None
                self.assertEqual(checked.prediction.strategy.tensor_parallel, int(degree))
        self.refused(lambda: trnplan.check(flags, target="nobody"), "target", "is not known")
        self.refused(lambda: trnplan.check(flags, env=["TP=2"]), "env", "dict")  # type: ignore[arg-type]

    def test_calibrate(self) -> None:
        table = f"{SOURCE}/catalog/measured-collectives.csv"
        fitted = trnplan.calibrate(table, build="2023-04", profile="trn1-2023-04")
        self.same(fitted, "calibrate", table, "--build", "2023-04", "--profile", "trn1-2023-04")
        self.assertFalse(fitted.refused)
        log = f"{SOURCE}/{LOG}"
        read = trnplan.calibrate([log])
        self.same(read, "calibrate", log)
        self.assertTrue(read.steps)
        error = self.refused(lambda: trnplan.calibrate(out="profile.txt"), "nothing to read")
        self.assertEqual(error.faults[0].key, "files")
        self.refused(lambda: trnplan.calibrate(log, out="profile.txt", no_fit=True), "out", ".json")

    def test_validate(self) -> None:
        self.same(trnplan.validate(of="memory"), "validate", "--memory")
        self.same(trnplan.validate(of="goodput"), "validate", "--goodput")
        self.same(trnplan.validate(leave_out="none"), "validate", "--leave-out", "none")
        table = f"{SOURCE}/catalog/gpu-runs.csv"
        with tempfile.TemporaryDirectory() as folder:  # a few of its rows
            few = Path(folder, "few.csv")
            few.write_text("".join(Path(table).read_text().splitlines(keepends=True)[:40]))
            scored = trnplan.validate(few)
            self.assertIsInstance(scored, trnplan.ScoreResult)
            self.same(scored, "validate", few)
        self.refused(lambda: trnplan.validate(table, of="memory"), "runs")

    def test_collective(self) -> None:
        one = trnplan.collective("all_gather", ranks=8, bytes="64M")
        self.same(one, "collective", "all_gather", "--ranks", 8, "--bytes", "64M")
        sweep = trnplan.collective("allr", bytes=1024, most_bytes="1MiB", factor=4)
        assert isinstance(sweep, trnplan.CollectiveSweep)
        self.same(sweep, "collective", "allr", "--minbytes", 1024, "--maxbytes", "1MiB", "--stepfactor", 4)
        self.assertEqual([c.bytes for c in sweep.results], [1024 * 4**i for i in range(6)])
        self.refused(lambda: trnplan.collective("all_reduce", ranks=-1, datatype="fp64"), "ranks", "datatype")
        self.refused(lambda: trnplan.collective("broadcast"), "broadcast")

    def test_topology(self) -> None:
        self.same(trnplan.topology(), "topology")
        self.same(trnplan.topology(tp=16, dp=2), "topology", "--tp", 16, "--dp", 2)
        self.same(trnplan.topology(instance="trn2.48xlarge", tp=32), "topology", "--instance", "trn2.48xlarge", "--tp", 32)
        self.refused(lambda: trnplan.topology(instance="trn9"), "instance", "trn9")

    def test_what_is_known(self) -> None:
        self.same(trnplan.models(), "models")
        self.same(trnplan.instances(), "instances")
        self.assertIn("llama3-8b", [m.name for m in trnplan.models().models])

    def test_rules_and_support(self) -> None:
        self.same(trnplan.explain(), "explain")
        self.same(trnplan.explain("heads"), "explain", "heads")
        self.refused(lambda: trnplan.explain("head"), "head")
        self.same(trnplan.support("llama3-8b"), "support", "llama3-8b")
        self.same(trnplan.support("llama3-8b", "p5.48xlarge"), "support", "llama3-8b", "p5.48xlarge")
        self.refused(lambda: trnplan.support("llama9"), "llama9")


class Surface(Check):
    def test_tables_say_what_they_need(self) -> None:
        if importlib.util.find_spec("pandas"):
            self.skipTest("pandas is here")
        with self.assertRaisesRegex(trnplan.MissingPackage, "pandas.*pip install"):
            trnplan.models().to_dataframe()

    def test_notebooks(self) -> None:
        found = trnplan.plan("llama3-8b", nodes=4)
        html = found._repr_html_()
        ElementTree.fromstring(html)
        self.assertEqual(html.count("<tr"), len(found.plans) + 1)
        for result in (trnplan.models(), trnplan.instances(), trnplan.topology(tp=8), trnplan.collective("allr"),
                       trnplan.whatif("llama3-8b", 4, tokens="1T"), trnplan.plan("llama3-70b", nodes=1),
                       trnplan.validate(of="goodput"), trnplan.simulate(JOB, "tp=16,recompute=full")):  # fmt: skip
            ElementTree.fromstring(f"<div>{result._repr_html_()}</div>")

    def test_shown_by_python(self) -> None:
        found = trnplan.plan("llama3-8b", nodes=4)
        lines = repr(found).splitlines()
        self.assertEqual(len(lines), len(found.plans) + 2)  # a title, heads
        self.assertEqual([line[0] for line in lines[2:]].index("*"), found.recommended)
        assert found.best is not None
        self.assertLess(len(repr(found.best)), 5000)
        self.assertTrue(repr(found.best.strategy).startswith("Strategy(tensor_parallel=8, "))

    def test_results_cannot_be_changed_by_their_copies(self) -> None:
        found = trnplan.plan(JOB)
        found.to_dict()["plans"].clear()
        self.assertTrue(found.to_dict()["plans"])
        with self.assertRaises(AttributeError):
            found.proven = False  # type: ignore[misc]
        again = pickle.loads(pickle.dumps(found))
        self.assertEqual(again, found)
        self.assertEqual(again.to_dict(), found.to_dict())

    def test_a_hostile_job_drives_no_terminal(self) -> None:
        error = self.refused(lambda: trnplan.plan({"model": "\x1b[2Jllama", "\u202etraining": {}}))
        self.assertNotIn("\x1b", str(error))
        self.assertNotIn("\u202e", str(error))

    def test_errors_travel(self) -> None:
        error = self.refused(lambda: trnplan.plan("llama3-8c"))
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual(again.faults, error.faults)
        self.assertIsInstance(error, ValueError)

    def test_wrong_kinds(self) -> None:
        self.refused(lambda: trnplan.plan(JOB, top="five"), "top", "whole number")  # type: ignore[arg-type]
        self.refused(lambda: trnplan.plan(JOB, top=True), "top")
        self.refused(lambda: trnplan.plan(JOB, top=10**30), "top")
        self.refused(lambda: trnplan.plan(JOB, sure=10**400), "sure")
        self.refused(lambda: trnplan.plan(JOB, sure=1j), "sure")  # type: ignore[arg-type]
        self.refused(lambda: trnplan.plan(JOB, sure="0.9"), "sure")  # type: ignore[arg-type]
        self.refused(lambda: trnplan.plan(JOB, sure=float("nan")), "sure")
        self.refused(lambda: trnplan.plan(JOB, force=1), "force")  # type: ignore[arg-type]
        self.refused(lambda: trnplan.plan(""), "job")
        self.refused(lambda: trnplan.plan("/no/\udcff.yaml"), "cannot be read")  # a byte that is no UTF-8
        self.refused(lambda: trnplan.plan("/no/\ud800.yaml"), "job", "not a text")
        self.refused(lambda: trnplan.plan({"model": "\ud800"}), "not a text")
        self.refused(lambda: trnplan.calibrate(["\ud800"]), "files")
        self.refused(lambda: trnplan.plan("llama3-8b\0"), "job")
        with self.assertRaises(TypeError):
            trnplan.plan({"model": object()})
        with self.assertRaises(TypeError):
            trnplan.plan(17)  # type: ignore[arg-type]

    def test_wrong_values_of_every_argument(self) -> None:
        """Each is refused with a fault that names it, or is Python's TypeError; none is an internal error, and nothing is
        written."""

        class Speechless:
            def __str__(self) -> str:
                raise RuntimeError("no words")

            def __index__(self) -> int:
                raise KeyError("no number")

        cycle: Any = []
        cycle.append(cycle)
        inside: Any = {}
        inside["self"] = inside
        values: Any = [float("nan"), float("inf"), 10**30, 10**5000, -1, b"tp=8", bytearray(b"x"), object(), int, Speechless(),
                       [[1]], cycle, inside, {1}, "", "a\0b", "\ud800", "x" * 100_000, (None,), 1j, lambda: 0]  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            few = Path(folder, "few.csv")
            few.write_text("".join(Path(f"{SOURCE}/catalog/gpu-runs.csv").read_text().splitlines(keepends=True)[:3]))
            sound: Any = {
                trnplan.plan: {"job": JOB},
                trnplan.simulate: {"job": JOB, "strategy": "tp=32"},
                trnplan.whatif: {"job": JOB, "nodes": 1},
                trnplan.offerings: {"job": JOB, "offers": f"{SOURCE}/tests/io/fixtures/offerings/capacity-blocks.json"},
                trnplan.compare: {"first": "tp=8", "second": "tp=32", "job": JOB},
                trnplan.check: {"config": f"{SOURCE}/tests/io/fixtures/nxdt/hf_llama3_8B_config.yaml"},
                trnplan.calibrate: {"files": f"{SOURCE}/{LOG}", "no_fit": True},
                trnplan.validate: {"runs": few},
                trnplan.collective: {"op": "allr"},
                trnplan.topology: {},
            }
            before, here = os.listdir(folder), os.getcwd()
            os.chdir(folder)
            try:
                for function, given in sound.items():
                    for name in inspect.signature(function).parameters:
                        for value in values:
                            if (name, value) == ("build", values[17]) or (name == "progress" and callable(value)):
                                continue  # no build of a log; a function, which a short search never calls
                            with self.subTest(function=function.__name__, argument=name, value=repr_of(value)):
                                try:
                                    function(**{**given, name: value})
                                    self.fail("was taken")
                                except trnplan.InputError as error:
                                    self.assertTrue(error.faults[0].fix)
                                    self.assertLess(len(str(error)), 10_000)
                                except TypeError:
                                    pass
            finally:
                os.chdir(here)
            self.assertEqual(os.listdir(folder), before)

    def test_one_text_is_a_list_of_one(self) -> None:
        error = self.refused(lambda: trnplan.calibrate(runs="my-plan"), "my-plan")
        self.assertEqual(len(error.faults), 1)
        error = self.refused(lambda: trnplan.calibrate(f"{SOURCE}/{LOG}", kernels="gemm"), "gemm")
        self.assertEqual(len(error.faults), 1)

    def test_a_fork_after_a_search_and_in_its_middle(self) -> None:
        """Threads of a search do not live on in a child, whose own calls answer all the same."""
        code = ("import os, sys, trnplan\n"
                "def child(exit=os._exit):\n"
                "    pid = os.fork()\n"
                "    if pid == 0:\n"
                "        exit(0 if trnplan.plan('llama3-8b', nodes=2, threads=2).best else 1)\n"
                "    assert os.waitpid(pid, 0)[1] == 0\n"
                "assert trnplan.plan('llama3-8b', nodes=4, threads=2).best\n"
                "child()\n"
                "forked = []\n"
                "def once(*_):\n"
                "    if not forked: forked.append(1); child()\n"
                "while not forked: trnplan.plan('llama3-70b', nodes='1..128', global_batch='1024..2048', progress=once)\n"
                "print('done')\n")  # fmt: skip
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=1800)
        self.assertEqual((ran.returncode, ran.stdout), (0, "done\n"), ran.stderr)

    def test_ctrl_c_leaves_no_file_and_the_next_call_answers(self) -> None:
        """In the middle of a search that is to write a folder and a page."""
        code = ("import os, signal, sys, trnplan\n"
                "for _ in range(200):\n"
                "    try:\n"
                "        trnplan.plan('llama3-70b', nodes='1..128', global_batch='1024..2048', out='new', report='new.html',\n"
                "                     progress=lambda *_: os.kill(os.getpid(), signal.SIGINT), force=True)\n"
                "    except KeyboardInterrupt:\n"
                "        break\n"
                "else:\n"
                "    sys.exit('never interrupted')\n"
                "assert trnplan.plan('llama3-8b', nodes=4).best\n"
                "print(sorted(os.listdir('.')))\n")  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder)
            self.assertEqual((ran.returncode, ran.stdout), (0, "[]\n"), ran.stderr)

    def test_ctrl_c(self) -> None:
        """The search stops, and the exception is Python's own."""
        code = ("import os, signal, trnplan\n"
                "send = lambda *_: os.kill(os.getpid(), signal.SIGINT)\n"
                "for _ in range(200): trnplan.plan('llama3-70b', nodes='1..128', global_batch='1024..2048', progress=send)\n")  # fmt: skip
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True)
        self.assertIn(b"KeyboardInterrupt", ran.stderr)

    def test_a_catalogue_of_ones_own(self) -> None:
        self.assertTrue(trnplan.catalogue().startswith(str(Path(trnplan.__file__).parent)))
        ran = subprocess.run([sys.executable, "-c", "import trnplan; trnplan.models()"], capture_output=True,
                             env={**os.environ, "TRNPLAN_CATALOG": "/absent"})  # fmt: skip
        self.assertIn(b"InputError", ran.stderr)
        self.assertIn(b"TRNPLAN_CATALOG", ran.stderr)

    def test_the_program_comes_along(self) -> None:
        for words in (["trnplan"], [sys.executable, "-m", "trnplan"]):
            ran = subprocess.run([*words, "plan", "llama3-8b", "--nodes", "4"], capture_output=True, text=True)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertIn("Best", ran.stdout)
            self.assertEqual(subprocess.run([*words, "plan", "llama3-8c"], capture_output=True).returncode, 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

"""Results as DataFrames: a row for each of what the document lists, under the same names.

tables.py SOURCE_DIR
"""

import sys

import trnplan

assert "pandas" not in sys.modules  # which takes longer to import than all the rest

import numpy  # noqa: E402

SOURCE = sys.argv[1]
JOB = f"{SOURCE}/examples/llama3-8b-one-node/job.yaml"

found = trnplan.plan("llama3-8b", nodes=4)
table = found.to_dataframe()
assert list(table["rank"]) == [p.rank for p in found.plans]
assert list(table["step_seconds"]) == [p.step_seconds for p in found.plans]
assert found.best is not None and list(table.index[table["recommended"]]) == [found.best.rank - 1]

# Numbers of NumPy are numbers.
numbers = numpy.array([2, 4])
same = trnplan.plan("llama3-8b", nodes=list(numbers), tokens=numpy.float64(2e12), top=numbers[0], sure=numpy.float32(0.5))
assert same.plans == trnplan.plan("llama3-8b", nodes=[2, 4], tokens="2T", top=2, sure=0.5).plans

clusters = trnplan.whatif("llama3-8b", [1, 4, 8], tokens="1T")
assert list(clusters.to_dataframe()["nodes"]) == [1, 4, 8]
assert list(clusters.to_dataframe()["days"].fillna(-1)) == [-1 if p.days is None else p.days for p in clusters.points]

sweep = trnplan.collective("allr", bytes="1K", most_bytes="1M", factor=4)
assert list(sweep.to_dataframe()["bytes"]) == [1024 * 4**i for i in range(6)]
assert len(trnplan.collective("allr").to_dataframe()) == 1

for result, rows in (
    (trnplan.models(), len(trnplan.models().models)),
    (trnplan.instances(), len(trnplan.instances().instances)),
    (trnplan.explain("heads"), 4),
    (trnplan.support("llama3-8b", "p5.48xlarge"), 1),
    (trnplan.topology(tp=8), 4 + 8),  # groups of TP, and of DP 4
    (trnplan.simulate(JOB, "tp=32"), 1),
    (trnplan.simulate(JOB, "tp=8,mbs=3"), 0),
    (trnplan.validate(of="goodput"), len(trnplan.validate(of="goodput").to_dict()["rows"])),
    (trnplan.calibrate(f"{SOURCE}/catalog/measured-collectives.csv", build="2023-04", profile="trn1-2023-04"), 44),
):
    frame = result.to_dataframe()
    assert len(frame) == rows, (type(result).__name__, len(frame), rows)

"""Which cluster trains a model by a date? A table of clusters, and the plan of the one to take.

clusters.py MODEL TOKENS DAYS, as in: clusters.py llama3-8b 500B 60
"""

import sys
from datetime import timedelta

import trnplan


def main(model: str, tokens: str, days: str) -> int:
    try:
        found = trnplan.whatif(model, "4..32", tokens=tokens, deadline=timedelta(days=float(days)))
    except trnplan.InputError as error:
        for fault in error.faults:  # all of them at once
            print(f"{fault.key}: {fault.problem}; {fault.fix}", file=sys.stderr)
        return 2

    print(f"{'nodes':>5} {'step s':>8} {'days':>7} {'USD':>10}")
    for point in found.points:
        if point.step_seconds is None or point.days is None or point.usd is None:
            print(f"{point.nodes:>5} {point.why}")
            continue
        mark = " <" if point is found.best else ""
        print(f"{point.nodes:>5} {point.step_seconds:>8.2f} {point.days:>7.1f} {point.usd:>10,.0f}{mark}")
    print(found.reason)
    if found.best is None:
        return 3

    plan = trnplan.plan(model, nodes=found.best.nodes, tokens=tokens).best
    if plan is None:
        return 3
    low, high = plan.step_seconds_90
    memory = plan.memory_bytes_per_core
    print(f"{plan.strategy}: {plan.step_seconds:.2f} s a step ({low:.2f} to {high:.2f}), "
          f"{memory.peak / 2**30:.1f} of {memory.limit / 2**30:.0f} GiB a core")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) == 4 else __doc__)

"""Cost of a call from Python: the import, and plan() compared with the program. One thread, seconds of a core, the least of
nine: what else runs on the machine counts little.

python_plan.py TRNPLAN, by a Python that has the package
"""

import resource
import subprocess
import sys
from typing import Callable


def seconds(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def least(call: Callable[[], object], who: int) -> float:
    times = []
    for _ in range(9):
        begin = seconds(who)
        call()
        times.append(seconds(who) - begin)
    return min(times)


start = seconds(resource.RUSAGE_SELF)
import trnplan  # noqa: E402

print(f"import: {seconds(resource.RUSAGE_SELF) - start:.3f} s")
for model, nodes in (("llama3-8b", "4"), ("llama3-70b", "16")):
    words = [sys.argv[1], "plan", model, "--nodes", nodes, "--threads", "1", "--format", "json"]
    program = least(lambda: subprocess.run(words, capture_output=True, check=True), resource.RUSAGE_CHILDREN)
    package = least(lambda: trnplan.plan(model, nodes=nodes, threads=1), resource.RUSAGE_SELF)
    print(f"{model} on {nodes} nodes: {package:.3f} s, the program {program:.3f} s ({package / program - 1:+.1%})")

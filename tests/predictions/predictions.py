#!/usr/bin/env python3
"""Predictions of trn2 and p5 for predictions.md, "Predictions made before any comparison".

predictions.py TRNPLAN SOURCE           prints the tables
predictions.py TRNPLAN SOURCE --check   compares them with those of predictions.md: each number within 1 %
predictions.py TRNPLAN SOURCE --write   puts them there

Names on standard error the rows whose half-width is above 40 % of the step. A table made before a comparison is not to be made anew
after it: state a new date.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

MODELS = ["llama2-7b", "llama2-13b", "llama2-70b", "llama3-8b", "llama3-70b"]
TOKENS_A_STEP = 4 * 1024 * 1024
BEGIN, END = "<!-- predictions: begin -->", "<!-- predictions: end -->"


def plan(program, model, instance, nodes, sequence, pins):
    """(step, low, high) in seconds of what is recommended, or why there is nothing."""
    ranks = nodes * (64 if instance.startswith("trn2") else 8)
    tensor = int(re.search(r"tensor_parallel: (\d+)", pins).group(1)) if pins else ranks
    if ranks // tensor > TOKENS_A_STEP // sequence:
        return "batch"
    job = (f"model: {model}\n"
           f"training: {{sequence: {sequence}, global_batch: {TOKENS_A_STEP // sequence}}}\n"
           f"cluster: {{instance: {instance}, nodes: {nodes}}}\n"
           f"pin: {{framework: fsdp, pipeline_parallel: 1, context_parallel: 1{pins}}}\n")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "job.yaml")
        with open(path, "w", encoding="utf-8") as out:
            out.write(job)
        run = subprocess.run([program, "plan", path, "--format", "json"], capture_output=True, text=True)
    if run.returncode == 2:
        return "batch" if "batch" in run.stderr else "refused"
    if run.returncode not in (0, 3):
        sys.exit(f"{model}, {instance} x {nodes}: {run.stderr}")
    found = json.loads(run.stdout)
    if not found["plans"]:
        return "memory"
    best = found["plans"][found.get("recommended", 0) or 0]
    return best["step_seconds"], best["step_seconds_90"][0], best["step_seconds_90"][1]


def recipe(program, model, nodes, batch, strategy):
    run = subprocess.run([program, "simulate", model, "--instance", "trn2.48xlarge", "--nodes", str(nodes), "--sequence",
                          "8192", "--global-batch", str(batch), "--strategy", strategy, "--format", "json"],
                         capture_output=True, text=True, check=True)
    r = json.loads(run.stdout)
    return r["step_seconds"], r["step_seconds_90"][0], r["step_seconds_90"][1]


def cell(found):
    return found if isinstance(found, str) else "{:.3g} ({:.3g} - {:.3g})".format(*found)


def tables(program):
    wide = []
    lines = ["| model | sequence | nodes | trn2, TP 1 | trn2, TP 4 | trn2, TP 8 | p5.48xlarge |",
             "| --- | --- | --- | --- | --- | --- | --- |"]
    for model in MODELS:
        for sequence in (4096, 8192):
            for nodes in (16, 64, 128):
                cells = []
                for instance, tp in [("trn2.48xlarge", 1), ("trn2.48xlarge", 4), ("trn2.48xlarge", 8), ("p5.48xlarge", 0)]:
                    found = plan(program, model, instance, nodes, sequence, f", tensor_parallel: {tp}" if tp else "")
                    cells.append(cell(found))
                    if not isinstance(found, str) and (found[2] - found[1]) / 2 / found[0] > 0.4:
                        wide.append((model, sequence, nodes, instance, tp, cells[-1]))
                lines.append(f"| {model} | {sequence} | {nodes} | " + " | ".join(cells) + " |")
    lines += ["", "| NxDT's shipped recipe for trn2 | nodes | step s |", "| --- | --- | --- |"]
    for name, model, nodes, strategy in [
            ("hf_llama3_8B_trn2_config", "llama3-8b", 1, "tp=16,kv=2"),
            ("hf_llama3_70B_trn2_config", "llama3-70b", 8,
             "tp=32,pp=4,kv=4,recompute=LlamaRMSNorm+ActivationMultiplyMLP+CoreAttention")]:
        found = recipe(program, model, nodes, 1024, strategy)
        lines.append(f"| {name}: {strategy} | {nodes} | {cell(found)} |")
        if (found[2] - found[1]) / 2 / found[0] > 0.4:
            wide.append((name, cell(found)))
    return lines, wide


def numbers(text):
    return [float(x) for x in re.findall(r"\d+(?:\.\d+)?(?:e\+\d+)?", text)]


def main():
    program, source = sys.argv[1:3]
    lines, wide = tables(program)
    for one in wide:
        print("wider than 40 %:", one, file=sys.stderr)
    path = os.path.join(source, "tests", "predictions", "predictions.md")
    with open(path, encoding="utf-8") as text:
        page = text.read()
    if "--check" in sys.argv:
        stated = page[page.index(BEGIN) + len(BEGIN):page.index(END)]
        a, b = numbers(stated), numbers("\n".join(lines))
        same = len(a) == len(b) and all(abs(x - y) <= 0.01 * max(abs(x), abs(y)) for x, y in zip(a, b))
        print("predictions: " + ("as in predictions.md" if same else "not those of predictions.md"))
        sys.exit(0 if same else 1)
    if "--write" in sys.argv:
        begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
        with open(path, "w", encoding="utf-8") as out:
            out.write(page[:begin] + "\n" + "\n".join(lines) + "\n" + page[end:])
        return
    print("\n".join(lines))


main()

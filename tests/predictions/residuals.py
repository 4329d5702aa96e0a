#!/usr/bin/env python3
"""Residuals of GPU steps and memory against what they may depend on, as a picture for docs/accuracy.md, "Residuals".

residuals.py TRNPLAN TABLE OUT.svg      TABLE: a table of runs that `validate --measured` reads, with the columns of catalog/gpu-runs.csv
"""
import csv
import json
import math
import re
import statistics
import subprocess
import sys

WIDTH, HEIGHT, MARGIN = 420, 230, 46
SPAN = math.log2(3)  # shown: a third to three times the measured value


def scored(program, table, *more):
    out = subprocess.run([program, "validate", "--measured", table, "--format", "json", *more], check=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return {row["id"]: row for row in json.loads(out)["rows"]}


def step_error(row):
    if not row["measured_step_seconds"] or not row["predicted_step_seconds"] or row["quality"] == "D":
        return None
    return math.log2(row["predicted_step_seconds"] / row["measured_step_seconds"])


def number(text):
    return float(text) if text else None


def all_reduce(run):
    found = re.search(r"all-reduce ([0-9.]+) GB/s", run["note"])
    return float(found.group(1)) if found else None


# title, source, whether the run's own network is used, what is plotted against, its words
PANELS = [
    ("Playbook (nanotron, H100) as a plan", "nanotron/", False, all_reduce, "all-reduce that the run measured, GB/s"),
    ("The same, with what each run measured", "nanotron/", True, all_reduce, "all-reduce that the run measured, GB/s"),
    ("vTrain (a node of A100)", "VIA-Research/", True, lambda r: number(r["tp"]), "TP"),
    ("vTrain (a node of A100)", "VIA-Research/", True, lambda r: number(r["micro_batch"]), "micro-batch"),
    ("Megatron's, all sources", ("NVIDIA", "MooreThreads", "calculon"), True, lambda r: number(r["tp"]), "TP"),
    ("TorchTitan", "pytorch/", True, lambda r: number(r["gpus"]), "GPUs"),
]


def panel(at, title, words, points):
    """One picture: points (x, log2 of predicted over measured), their medians at each of at most eight places."""
    left, top = MARGIN + (at % 2) * (WIDTH + MARGIN), 34 + (at // 2) * (HEIGHT + 74)
    low, high = math.log2(min(x for x, _ in points)), math.log2(max(x for x, _ in points))
    across = max(high - low, 1)

    def place(x, y):
        return (left + WIDTH * (0.03 + 0.94 * (math.log2(x) - low) / across),
                top + HEIGHT * (0.5 - max(-1, min(1, y / SPAN)) / 2))

    out = [f'<text x="{left}" y="{top - 10}" class="t">{title}</text>',
           f'<rect x="{left}" y="{top}" width="{WIDTH}" height="{HEIGHT}" class="f"/>']
    for factor, name in ((1 / 2, "-50 %"), (1 / 1.25, "-20 %"), (1, "0"), (1.25, "+25 %"), (2, "+100 %")):
        y = place(1, math.log2(factor))[1]
        out.append(f'<line x1="{left}" x2="{left + WIDTH}" y1="{y:.1f}" y2="{y:.1f}" class="g"/>'
                   f'<text x="{left - 4}" y="{y + 3:.1f}" class="r">{name}</text>')
    for x, y in points:
        px, py = place(x, y)
        out.append(f'<circle cx="{px:.0f}" cy="{py:.0f}" r="1.7"/>')
    bins = {}
    for x, y in points:
        bins.setdefault(round(math.log2(x) - low) if across > 3 else math.log2(x), []).append((x, y))
    for group in bins.values():
        if len(group) < 3:
            continue
        middle = statistics.median(x for x, _ in group)
        px, py = place(middle, statistics.median(y for _, y in group))
        out.append(f'<line x1="{px - 9:.1f}" x2="{px + 9:.1f}" y1="{py:.1f}" y2="{py:.1f}" class="m"/>')
    power = math.ceil(low)
    while power <= high + 1e-9:
        px = place(2 ** power, 0)[0]
        out.append(f'<text x="{px:.1f}" y="{top + HEIGHT + 14}" class="c">{2 ** power:g}</text>')
        power += 1
    out.append(f'<text x="{left + WIDTH / 2}" y="{top + HEIGHT + 30}" class="c">{words}; {len(points)} rows</text>')
    return out


def main(program, table, out):
    with open(table, newline="", encoding="utf-8") as file:
        runs = {run["id"]: run for run in csv.DictReader(file)}
    rows = {True: scored(program, table), False: scored(program, table, "--no-network-state")}
    parts, at = [], 0
    for title, source, network, abscissa, words in PANELS:
        points = []
        for key, row in rows[network].items():
            error = step_error(row) if row["source"].startswith(source) and "experts" not in row["source"] else None
            x = abscissa(runs[key]) if error is not None else None
            if x:
                points.append((x, error))
        if points:
            parts += panel(at, title, words, points)
            at += 1
    width, height = 2 * (WIDTH + MARGIN) + 10, (at + 1) // 2 * (HEIGHT + 74) + 10
    style = ("text{font:12px sans-serif;fill:#333}.t{font-weight:bold}.r{text-anchor:end;font-size:10px}"
             ".c{text-anchor:middle;font-size:10px}"
             ".f{fill:#fff;stroke:#999}.g{stroke:#ccc}.m{stroke:#c33;stroke-width:3}circle{fill:#247;fill-opacity:.35}")
    with open(out, "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"><style>{style}</style>'
                   f'<rect width="{width}" height="{height}" fill="#fff"/>' + "\n".join(parts) + "</svg>\n")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])

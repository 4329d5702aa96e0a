#!/usr/bin/env python3
"""For which machine, price kind and date trn1 trains at 46 % lower cost (docs/accuracy.md, "46 % lower cost").

price_claim.py TRNPLAN   prints the table: USD per billion tokens on trn1.32xlarge and on each GPU type by price kind, how much lower
                         trn1's is, and the price of a GPU node at which it would be 46 % lower.
"""
import json
import subprocess
import sys

CLAIM = 0.46
TYPES = ["p4d.24xlarge", "p5.48xlarge", "p5en.48xlarge", "p6-b200.48xlarge"]
KINDS = ["on_demand", "capacity_block", "spot", "reserved"]
# USD per hour on demand before the cut of June 2025: the reference of AWS's articles of 2023 and 2024.
BEFORE = {"p4d.24xlarge": 32.77, "p5.48xlarge": 98.32}
JOBS = [("llama2-7b", "4096", "16"), ("llama3-70b", "8192", "32")]


def asked(program, model, sequence, nodes, kind):
    run = subprocess.run([program, "whatif", model, "--instances", ",".join(["trn1.32xlarge"] + TYPES), "--nodes", nodes,
                          "--sequence", sequence, "--global-batch", "1024", "--tokens", "2T", "--pricing", kind,
                          "--format", "json"], capture_output=True, text=True)
    return json.loads(run.stdout)


def main():
    program = sys.argv[1]
    for model, sequence, nodes in JOBS:
        print(f"\n{model}, sequence {sequence}, {nodes} nodes of each\n")
        print("| price kind | trn1.32xlarge | type | its price, region, date | its USD per billion tokens | trn1 is lower by "
              "| 46 % lower from, USD/h |")
        print("| --- | --- | --- | --- | --- | --- | --- |")
        for kind in KINDS:
            answer = asked(program, model, sequence, nodes, kind)
            points = {p["instance"]: p for p in answer["points"]}
            prices = {i["instance"]: i["price"] for i in answer["instances"]}
            own = points["trn1.32xlarge"]
            usd = own.get("usd_per_1e9_tokens")
            for name in TYPES:
                p = points[name]
                if p["strategy"] is None or usd is None:
                    continue
                # Billion tokens per node and hour.
                hour = p["tokens_per_second"] * p["goodput"] * 3600 / 1e9 / p["nodes"]
                even = usd / (1 - CLAIM) * hour
                rows = [prices.get(name)]
                if kind == "on_demand" and name in BEFORE:
                    rows.append({"usd_per_hour": BEFORE[name], "region": "us-east-1", "date": "before 2025-06"})
                for price in rows:
                    if price is None:
                        print(f"| {kind} | {usd:,.0f} | {name} | none | - | - | {even:.2f} |")
                        continue
                    theirs = price["usd_per_hour"] / hour
                    print(f"| {kind} | {usd:,.0f} | {name} | {price['usd_per_hour']:.2f}, {price['region']}, {price['date']} | "
                          f"{theirs:,.0f} | {100 * (1 - usd / theirs):.0f} % | {even:.2f} |")


main()

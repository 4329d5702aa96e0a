#!/usr/bin/env python3
"""Writes versions.csv: which version of a package each release of the Neuron SDK has, for tests of what trnplan pins.

    make_versions.py n2-manifest.json COMMIT > versions.csv

n2-manifest.json is src/helperscripts/n2-manifest.json of aws-neuron/aws-neuron-sdk, COMMIT the one it was taken from. Kept are
facts alone: release, package, version, and the versions of Python that it is published for. catalog/neuron-releases.json
is not made by this: a version that is wrong there is not wrong in the same way here.
"""

import csv
import json
import sys

PACKAGES = (
    "neuronx-cc",
    "torch-neuronx",
    "libneuronxla",
    "neuronx-distributed",
    "neuronx-distributed-training",
    "aws-neuronx-dkms",
    "aws-neuronx-runtime-lib",
    "aws-neuronx-collectives",
    "aws-neuronx-tools",
)
OLDEST = (2, 21, 0)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        releases = json.load(file)["neuron_releases"]
    out = csv.writer(sys.stdout, lineterminator="\n")
    print("# aws-neuron/aws-neuron-sdk@" + sys.argv[2] + ":src/helperscripts/n2-manifest.json")
    out.writerow(("release", "package", "version", "pythons"))
    rows = set()
    for release in releases:
        number = release["neuron_version"]
        if tuple(int(part) for part in number.split(".")) < OLDEST:
            continue
        for package in release["packages"]:
            name = package["name"].replace("_", "-")
            on_trainium = any(i.startswith("trn") for i in package["supported_instances"])
            if name in PACKAGES and on_trainium:
                rows.add((number, name, package["version"], " ".join(package["supported_python_versions"])))
    for row in sorted(rows, key=lambda r: ([int(part) for part in r[0].split(".")], r[1:])):
        out.writerow(row)


main()

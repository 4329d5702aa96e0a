#!/usr/bin/env python3
"""The trn1 digest: every number that trnplan answers for jobs on trn1, to the last digit.

  digest.py TRNPLAN SOURCE_DIR             compares with trn1.json
  digest.py TRNPLAN SOURCE_DIR --update    rewrites trn1.json: where numbers are meant to move
  digest.py TRNPLAN SOURCE_DIR --renamed   the same, with every family, instance and model of the catalogue renamed
  digest.py TRNPLAN SOURCE_DIR --numbers FILE    writes the numbers themselves, a line each, to compare two programs
  digest.py --near FILE FILE               two such files: the largest relative difference

trn1.json states the paths of the numbers that count, list indices left out, so that a new key of an answer changes
nothing; of each command how many there are, and their SHA-256.
"""
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# How long the search took is no answer.
NOT_ANSWERS = re.compile(r"^space/seconds$")


def commands():
    lines = (HERE / "commands").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def numbers(value, path=""):
    """(path, path without indices, text) of every number and truth value below."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield from numbers(below, f"{path}/{key}" if path else key)
    elif isinstance(value, list):
        for i, below in enumerate(value):
            yield from numbers(below, f"{path}/{i}" if path else str(i))
    elif isinstance(value, (bool, int, float)) and not NOT_ANSWERS.match(path):
        yield path, re.sub(r"/\d+(?=/|$)", "/*", path), repr(value)


def answer(trnplan, words, folder, catalog):
    environment = dict(os.environ, TRNPLAN_CATALOG=str(catalog))
    ran = subprocess.run([trnplan, *words, "--format", "json"], cwd=folder, env=environment, capture_output=True,
                         stdin=subprocess.DEVNULL, text=True, check=False)
    if ran.returncode not in (0, 3):
        sys.exit(f"trnplan {' '.join(words)}: exit {ran.returncode}\n{ran.stderr}")
    return [("exit", "exit", str(ran.returncode)), *numbers(json.loads(ran.stdout))]


class Renamed:
    """A copy of the catalogue and of the jobs in which no family, instance or model has its name."""

    def __init__(self, source, folder):
        self.names = {}
        self.folder = folder
        seed = random.SystemRandom().randrange(10**6)
        print(f"digest: renamed with seed {seed}")
        chance = random.Random(seed)
        new = lambda: "".join(chance.choice("bcdfghjklmnpqrstvwxz") for _ in range(9))
        catalog = source / "catalog"
        for file in sorted((catalog / "instances").glob("*.json")):
            self.names[file.stem] = new()
            family = json.loads(file.read_text())["family"]
            self.names.setdefault(family, new())
        for file in sorted((catalog / "models").glob("*.json")):
            self.names[file.stem] = new()
            text = json.loads(file.read_text())
            if "family" in text:
                self.names.setdefault(text["family"], new())
        self.pattern = re.compile(r"(?<![A-Za-z0-9_.-])(" + "|".join(
            re.escape(n) for n in sorted(self.names, key=len, reverse=True)) + r")(?![A-Za-z0-9_-]|\.[a-z0-9])")
        for part in ("catalog", "examples", "tests/digest/jobs"):
            for file in sorted((source / part).rglob("*")):
                if file.is_file():
                    self.copy(file, file.relative_to(source))

    def copy(self, file, name):
        inside_names = name.parts[0] == "catalog" and name.parts[1] in ("instances", "models")
        target = self.folder / (name.with_name(self.names[name.stem] + ".json") if inside_names else name)
        target.parent.mkdir(parents=True, exist_ok=True)
        # Sources are citations, and a profile's own name is none of the three.
        target.write_text("\n".join(line if '"source"' in line or '"note"' in line else self.renamed(line)
                                    for line in file.read_text().split("\n")))

    def renamed(self, text):
        return self.pattern.sub(lambda m: self.names[m.group(1)], text)


def digest(counted):
    text = "".join(f"{path} {value}\n" for path, _, value in counted)
    return {"numbers": len(counted), "sha256": hashlib.sha256(text.encode()).hexdigest()}


def near(one, two):
    def read(file):
        lines = (line.rsplit(" ", 1) for line in pathlib.Path(file).read_text().splitlines())
        return {name: value for name, value in lines}

    a, b = read(one), read(two)
    worst, where = 0.0, "-"
    for name in sorted(a.keys() & b.keys()):
        if a[name] == b[name]:
            continue
        try:
            x, y = float(a[name]), float(b[name])
            apart = abs(x - y) / max(abs(x), abs(y))
        except ValueError:
            apart = float("inf")
        if apart > worst:
            worst, where = apart, name
    print(f"{len(a.keys() & b.keys())} numbers of both, {len(a.keys() ^ b.keys())} of one only; "
          f"the largest relative difference is {worst:.3g}: {where}")


def main(arguments):
    if arguments[:1] == ["--near"]:
        return near(*arguments[1:3])
    trnplan, source = str(pathlib.Path(arguments[0]).resolve()), pathlib.Path(arguments[1]).resolve()
    mode = arguments[2] if len(arguments) > 2 else ""
    file = HERE / "trn1.json"
    stated = json.loads(file.read_text()) if file.exists() and mode in ("", "--renamed") else None
    paths = set(stated["paths"]) if stated else set()
    now, listing, failed = {}, [], 0
    with tempfile.TemporaryDirectory() as folder:
        renamed = Renamed(source, pathlib.Path(folder)) if mode == "--renamed" else None
        for command in commands():
            if renamed and "measured" in command:
                continue
            text = renamed.renamed(command) if renamed else command
            here = pathlib.Path(folder) if renamed else source
            found = answer(trnplan, text.split(), here, here / "catalog")
            listing += [f"{command}: {path} {value}" for path, _, value in found]
            if stated is None:
                paths.update(plain for _, plain, _ in found)
            now[command] = digest([n for n in found if n[1] in paths])
            if stated and now[command] != stated["commands"].get(command):
                failed += 1
                was = stated["commands"].get(command, {"numbers": 0})
                print(f"FAIL: trnplan {text}: {now[command]['numbers']} numbers (of {was['numbers']}), not all the same")
    if mode == "--numbers":
        pathlib.Path(arguments[3]).write_text("\n".join(listing) + "\n")
    if mode == "--update":
        file.write_text(json.dumps({"paths": sorted(paths), "commands": now}, indent=1) + "\n")
    total = sum(d["numbers"] for d in now.values())
    print(f"digest: {len(now)} commands, {total} numbers, {failed} commands differ")
    if failed:
        print("What moved: build both programs, digest.py TRNPLAN SOURCE --numbers FILE with each, and diff the files.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

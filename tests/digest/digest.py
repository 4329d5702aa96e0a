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
import csv
import hashlib
import io
import json
import os
import pathlib
import random
import re
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


def folded(name):
    """A name without its spelling, as the catalogue compares names."""
    return re.sub(r"[-_ ]", "", name.lower())


class Renamed:
    """A copy of the catalogue, of jobs and of configs in which no family, instance or model has its name.

    Words that are no names of the catalogue stay: frameworks, profiles, what a config's own format calls a model. The
    names keep their order: a fit takes configurations in the order of their names, and sums round with it.
    """

    PARTS = ("catalog", "examples", "tests/digest/jobs", "tests/digest/configs", "tests/launch/shipped")

    def __init__(self, source, folder):
        self.names, self.families, self.was = {}, {}, {}
        self.folder = folder
        seed = random.SystemRandom().randrange(10**6)
        print(f"digest: renamed with seed {seed}")
        chance = random.Random(seed)

        def new():
            return "".join(chance.choice("bcdfghjklmnpqrstvwxz") for _ in range(9))

        for kind in ("instances", "models"):
            for file in sorted((source / "catalog" / kind).glob("*.json")):
                self.names[file.stem] = ""
                family = json.loads(file.read_text())["family"]
                if family not in self.families:
                    self.families[family] = new()
        self.names = dict(zip(sorted(self.names), sorted(new() for _ in self.names)))
        self.by_spelling = {folded(name): fresh for name, fresh in self.names.items()}
        longest_first = sorted(self.names, key=len, reverse=True)
        self.pattern = re.compile(r"(?<![A-Za-z0-9_-])(" + "|".join(map(re.escape, longest_first)) +
                                  r")(?![A-Za-z0-9_-]|\.[a-z0-9])")
        # People write a model's name into file and run names in their own way.
        self.spelt = re.compile("|".join("[-_ ]?".join(map(re.escape, folded(n))) for n in longest_first), re.IGNORECASE)
        for part in self.PARTS:
            for file in sorted((source / part).rglob("*")):
                if file.is_file():
                    self.copy(file, file.relative_to(source))

    def copy(self, file, name):
        text, target = file.read_text(), name
        if name.parts[0] == "catalog":
            if name.parts[1] in ("instances", "models"):
                target = name.with_name(self.names[name.stem] + ".json")
                text = self.labels("family", text)
            elif name.parts[1] == "profiles":
                text = self.labels("instance", text)
        if name.suffix == ".csv":
            text = self.renamed_rows(text)
        elif name.parts[0] == "tests" and name.suffix == ".yaml":
            text, target = self.respelt(text), name.with_name(self.respelt(name.name))
        # Sources are citations.
        text = "\n".join(line if '"source"' in line or '"note"' in line else self.renamed(line)
                         for line in text.split("\n"))
        (self.folder / target).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / target).write_text(text)
        # A family's own profile is found by the family's name; that of the default one is asked for by its own too.
        if name.parts[:2] == ("catalog", "profiles") and name.stem in self.families:
            (self.folder / target).with_name(self.families[name.stem] + ".json").write_text(text)

    def labels(self, key, text):
        """A family where JSON states it under `key`."""
        return re.sub(rf'("{key}": ")([^"]*)(")',
                      lambda m: m.group(1) + self.families.get(m.group(2), m.group(2)) + m.group(3), text)

    def renamed_rows(self, text):
        """Tables spell models as their sources do, and may say more behind "-dims-".

        The spelling that an answer has is never that of tables of GPUs, which no command of the digest reads.
        """
        rows = list(csv.reader(io.StringIO(text)))
        if not rows or "model" not in rows[0]:
            return text
        column = rows[0].index("model")
        for row in rows[1:]:
            if len(row) > column:
                model, dims, rest = row[column].partition("-dims-")
                fresh = self.by_spelling.get(folded(model))
                if fresh and "gpu" not in rows[0]:
                    self.was.setdefault(fresh, model)
                row[column] = (fresh or model) + dims + rest
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows(rows)
        return out.getvalue()

    def respelt(self, text):
        return self.spelt.sub(lambda m: self.by_spelling[folded(m.group(0))], text)

    def renamed(self, text):
        return self.pattern.sub(lambda m: self.names[m.group(1)], text)

    def undone(self, path):
        """A path of an answer, whose keys hold names, as it was."""
        for fresh, model in self.was.items():
            path = path.replace(fresh, model)
        return path

    def command(self, text):
        return " ".join(self.respelt(word) if word.startswith("tests/") and word.endswith(".yaml") else self.renamed(word)
                        for word in text.split(" "))


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
            text = renamed.command(command) if renamed else command
            here = pathlib.Path(folder) if renamed else source
            found = answer(trnplan, text.split(), here, here / "catalog")
            if renamed:
                found = [(renamed.undone(path), renamed.undone(plain), value) for path, plain, value in found]
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

#!/usr/bin/env python3
"""The digests: every number that trnplan answers for jobs on trn1, on trn2 and on GPUs.

  digest.py TRNPLAN SOURCE_DIR                    compares with trn1.json, trn2.json and gpu.json
  digest.py TRNPLAN SOURCE_DIR --update           rewrites them: where numbers are meant to move
  digest.py TRNPLAN SOURCE_DIR --renamed [SEED]   compares, with every family, instance and model of the catalogue
                                                  renamed; SEED is a number (1 when absent) or "random"
  digest.py TRNPLAN SOURCE_DIR --numbers FILE     writes the numbers themselves, a line each, to compare two programs
  digest.py --near FILE FILE                      two such files: the largest relative difference

  --compiler "GNU 12, x86_64"    what compiled TRNPLAN. With the compiler that a digest was made with, or without the
                                 option, numbers are compared to the last digit; with another one, floating-point
                                 numbers within 1e-9 of each other, relatively, and whole numbers and truth values exactly
  --only NAME                    one digest of the three; may be repeated
  --answers FOLDER               of answers.sh: what stands there is not asked again

NAME.json states the compiler; the paths of the numbers that count, list indices left out, so that a new key of an answer
changes nothing; of each command of commands.NAME how many there are, and their SHA-256. NAME.numbers.xz holds the numbers.
"""
import argparse
import csv
import hashlib
import io
import json
import lzma
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
NAMES = ("trn1", "trn2", "gpu")
# How long the search took is no answer.
NOT_ANSWERS = re.compile(r"^space/seconds$")
# How far apart two compilers may be, relatively.
NEAR = 1e-9


def commands(name):
    lines = (HERE / f"commands.{name}").read_text().splitlines()
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
    return found_in(ran.returncode, ran.stdout)


def found_in(code, document):
    return [("exit", "exit", str(code)), *numbers(json.loads(document))]


def folded(name):
    """A name without its spelling, as the catalogue compares names."""
    return re.sub(r"[-_ ]", "", name.lower())


class Renamed:
    """A copy of the catalogue, of jobs and of configs in which no family, instance or model has its name.

    Words that are no names of the catalogue stay: frameworks, profiles, what a config's own format calls a model. The
    names keep their order: a fit takes configurations in the order of their names, and sums round with it.
    """

    PARTS = ("catalog", "examples", "tests/digest/jobs", "tests/digest/configs", "tests/launch/shipped")

    def __init__(self, source, folder, seed):
        self.names, self.families, self.was = {}, {}, {}
        self.folder = folder
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
        # Sources are citations; a line that has one may say which machine it is about.
        text = "\n".join(self.machines(line) if '"source"' in line or '"note"' in line else self.renamed(line)
                         for line in text.split("\n"))
        (self.folder / target).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / target).write_text(text)
        # A family's own profiles are found by the family's name; that of the default one is asked for by its own too.
        family, kernels, rest = name.stem.partition("-kernels")
        if name.parts[:2] == ("catalog", "profiles") and family in self.families and not rest:
            (self.folder / target).with_name(self.families[family] + kernels + ".json").write_text(text)

    def labels(self, key, text):
        """A family where JSON states it under `key`."""
        return re.sub(rf'("{key}": ")([^"]*)(")',
                      lambda m: m.group(1) + self.families.get(m.group(2), m.group(2)) + m.group(3), text)

    def machines(self, line):
        return re.sub(r'("instance": ")([^"]*)(")',
                      lambda m: m.group(1) + self.names.get(m.group(2), m.group(2)) + m.group(3), line)

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
                gpus = "gpu" in rows[0]  # where another spelling is a label, for which scoring.json has rules
                fresh = self.names.get(model) if gpus else self.by_spelling.get(folded(model))
                if fresh and not gpus:
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
        if " x " in path:  # a layout that a log showed: its names are the catalogue's, not those of a table
            for name, fresh in self.names.items():
                path = path.replace(fresh, name)
        for fresh, model in self.was.items():
            path = path.replace(fresh, model)
        return path

    def command(self, text):
        return " ".join(self.respelt(word) if word.startswith("tests/") and word.endswith(".yaml") else self.renamed(word)
                        for word in text.split(" "))


def lines_of(counted):
    return "".join(f"{path} {value}\n" for path, _, value in counted)


def digest(lines):
    return {"numbers": lines.count("\n"), "sha256": hashlib.sha256(lines.encode()).hexdigest()}


def numbers_file(name):
    return HERE / f"{name}.numbers.xz"


def write_numbers(name, lines):
    """The lines of each command below its own. Other releases of xz pack the same text otherwise."""
    text = "".join(f"$ {command}\n{below}" for command, below in lines.items()).encode()
    file = numbers_file(name)
    if not file.exists() or lzma.decompress(file.read_bytes()) != text:
        file.write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))


def read_numbers(name):
    text = lzma.decompress(numbers_file(name).read_bytes()).decode()
    return dict(part.split("\n", 1) for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:])


def apart(one, two):
    """The relative difference of two numbers as they are written; whole numbers and truth values are the same or not."""
    if one == two:
        return 0.0
    if not (re.search(r"[.e]", one) or re.search(r"[.e]", two)) or "True" in (one, two) or "False" in (one, two):
        return float("inf")
    x, y = float(one), float(two)
    return abs(x - y) / max(abs(x), abs(y)) if x != y else 0.0


def moved(was, now):
    """(relative difference, what) of every number that is not the same, in two texts of lines."""
    was, now = (dict(line.rsplit(" ", 1) for line in text.splitlines()) for text in (was, now))
    for path in [*was, *(path for path in now if path not in was)]:
        one, two = was.get(path), now.get(path)
        if one is None or two is None:
            yield float("inf"), f"{path}: {'is new' if one is None else 'is gone'}"
        elif one != two:
            yield apart(one, two), f"{path}: {one}, now {two}"


def near(one, two):
    was, now = (pathlib.Path(file).read_text() for file in (one, two))
    worst = max(moved(was, now), default=(0.0, "-"))
    print(f"{was.count(chr(10))} and {now.count(chr(10))} numbers; the largest relative difference is "
          f"{worst[0]:.3g}: {worst[1]}")


class Program:
    """Answers of one program, of the source folder or of a renamed copy of it."""

    def __init__(self, trnplan, source, renamed, answers):
        self.trnplan, self.renamed = trnplan, renamed
        self.here = renamed.folder if renamed else source
        self.answered = {file.read_text().strip(): file for file in answers.glob("*.command")} if answers else {}

    def text(self, command):
        return self.renamed.command(command) if self.renamed else command

    def answer(self, command):
        if not self.renamed and command in self.answered:
            file = self.answered[command]
            code = file.with_suffix(".exit").read_text().strip()
            return found_in(code, file.with_suffix(".json").read_text())
        found = answer(self.trnplan, self.text(command).split(), self.here, self.here / "catalog")
        if not self.renamed:
            return found
        return [(self.renamed.undone(path), self.renamed.undone(plain), value) for path, plain, value in found]


def compare(name, program, compiler):
    """How many commands differ from what NAME.json states."""
    stated = json.loads((HERE / f"{name}.json").read_text())
    paths, made_with, numbers_were = set(stated["paths"]), stated["compiler"], read_numbers(name)
    exact = compiler in ("", made_with)
    failed, total, worst = 0, 0, (0.0, "-")
    for command in commands(name):
        lines = lines_of(n for n in program.answer(command) if n[1] in paths)
        was, now = stated["commands"].get(command, {"numbers": 0}), digest(lines)
        lines_were = numbers_were.get(command, "")
        if digest(lines_were) != was:
            sys.exit(f"{numbers_file(name)} does not hold the numbers that {name}.json states of: {command}")
        total += now["numbers"]
        if now == was:
            continue
        differ = sorted(moved(lines_were, lines), reverse=True)
        if not differ:
            continue  # the same numbers, in another order
        worst = max(worst, differ[0])
        if not exact:
            differ = [d for d in differ if d[0] > NEAR]
        if differ:
            failed += 1
            print(f"FAIL: trnplan {program.text(command)}: {len(differ)} of {was['numbers']} numbers moved")
            for far, what in differ[:5]:
                print(f"  {what} ({far:.2g})")
    how = f"to the last digit, {made_with}" if exact else f"to {NEAR:g}, made with {made_with} and now {compiler}"
    far = "" if worst[0] == 0 else f", the largest relative difference {worst[0]:.2g} ({worst[1]})"
    print(f"digest {name}: {len(stated['commands'])} commands, {total} numbers, compared {how}: "
          f"{failed} commands differ{far}")
    return failed


def update(name, program, compiler):
    """Where no stated number moved, the paths stay as they were: then the file gains commands, a compiler, its numbers."""
    file = HERE / f"{name}.json"
    stated = json.loads(file.read_text()) if file.exists() else {"paths": [], "commands": {}}
    found = {command: program.answer(command) for command in commands(name)}

    def counted(paths):
        return {command: lines_of(n for n in numbers if n[1] in paths) for command, numbers in found.items()}

    lines = counted(set(stated["paths"]))
    if {command: digest(text) for command, text in lines.items()} != stated["commands"]:
        stated["paths"] = sorted({plain for numbers in found.values() for _, plain, _ in numbers})
        lines = counted(set(stated["paths"]))
    now = {"compiler": compiler or stated["compiler"], "paths": stated["paths"],
           "commands": {command: digest(text) for command, text in lines.items()}}
    file.write_text(json.dumps(now, indent=1) + "\n")
    write_numbers(name, lines)
    print(f"digest {name}: wrote {len(lines)} commands, {sum(d['numbers'] for d in now['commands'].values())} numbers")
    return 0


def main(arguments):
    if arguments[:1] == ["--near"]:
        return near(*arguments[1:3])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trnplan", type=pathlib.Path)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--renamed", metavar="SEED", nargs="?", const="1")
    parser.add_argument("--numbers", metavar="FILE", type=pathlib.Path)
    parser.add_argument("--compiler", default="")
    parser.add_argument("--answers", metavar="FOLDER", type=pathlib.Path)
    parser.add_argument("--only", choices=NAMES, action="append")
    a = parser.parse_args(arguments)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        renamed = None
        if a.renamed:
            seed = random.SystemRandom().randrange(10**6) if a.renamed == "random" else int(a.renamed)
            renamed = Renamed(a.source.resolve(), pathlib.Path(folder), seed)
        program = Program(str(a.trnplan.resolve()), a.source.resolve(), renamed, a.answers)
        names = a.only or NAMES
        if a.numbers:
            a.numbers.write_text("".join(f"{command}: {path} {value}\n" for name in names for command in commands(name)
                                         for path, _, value in program.answer(command)))
            return 0
        for name in names:
            failed += update(name, program, a.compiler) if a.update else compare(name, program, a.compiler)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

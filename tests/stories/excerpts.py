"""Excerpts of output in README.md and docs/ are what their commands print, guides run from top to bottom, and links lead somewhere.

excerpts.py TRNPLAN SOURCE_DIR [PAGE ...]        TRNPLAN_UPDATE_GOLDEN=1 rewrites the excerpts; tests/docs.sh calls it

A page has its excerpts in one of these forms:

    ```console                       lines "$ COMMAND", each followed by its standard output. bash runs them in order in one folder a page,
                                     where `trnplan`, `./dev`, `examples` and `catalog` are, on a screen of 80 columns
    <!-- output of: COMMAND -->      above another block, which is what the command prints; `pick KEY...` keeps these keys of a JSON
    <!-- file: NAME -->              above a block that the reader saves under this name for the commands after it

A command must exit with 0; one that may not ends in `; echo "exit $?"`. A block of `text` or `json` without a command is a fault: nothing
would notice that it is out of date.
"""

import difflib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(\w*)\s*$")
MARK = re.compile(r"^<!-- (output of|file): (.*) -->$")
LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]+))?\)")
QUOTED = re.compile(r'docs/(\w+\.md),(?: under)? \\?"([^"\\]+)\\?"')
ANCHORED = re.compile(r"docs/(\w+\.md)#([a-z0-9-]+)")
SOURCES = (".h", ".cpp", ".json", ".yaml", ".py", ".sh", ".js", ".txt", ".md")
GENERATED = ("keys.md", "rules.md", "performance.md")  # by the program, the last by a bench
MOST_WORDS = 25_000  # of the pages that are written by hand


def sources(source):
    """Files of ours that may name a page."""
    listed = subprocess.run(["git", "-C", str(source), "ls-files"], capture_output=True, text=True)
    if listed.returncode == 0:
        return [source / name for name in listed.stdout.splitlines() if name.endswith(SOURCES)]
    return [f for f in source.rglob("*") if f.suffix in SOURCES and "build" not in f.relative_to(source).parts]


def pick(paths):
    """Of the JSON on standard input only the values at these paths, numbers with four digits; `...` where something was left out."""

    def kept(value, wanted):
        if any(not path for path in wanted):
            return short(value)
        if isinstance(value, dict):
            left = {k: kept(v, [p[1:] for p in wanted if p[0] == k]) for k, v in value.items() if any(p[0] == k for p in wanted)}
            missing = [path[0] for path in wanted if path[0] not in value]
            if missing:
                sys.exit(f"pick: there is no key {missing[0]}")
            return (left, len(left) < len(value))
        if isinstance(value, list):
            places = sorted({int(path[0]) for path in wanted})
            return ([kept(value[i], [p[1:] for p in wanted if int(p[0]) == i]) for i in places], len(places) < len(value))
        sys.exit(f"pick: {value!r} has no parts")

    def short(value):
        if isinstance(value, float):
            return float(f"{value:.4g}")
        if isinstance(value, dict):
            return ({k: short(v) for k, v in value.items()}, False)
        if isinstance(value, list):
            return ([short(v) for v in value], False)
        return value

    def text(value, indent):
        if not isinstance(value, tuple):
            return json.dumps(value, ensure_ascii=False)
        parts, more = value
        if isinstance(parts, dict):
            pieces, ends = [f"{json.dumps(k)}: {text(v, indent + 1)}" for k, v in parts.items()], "{}"
        else:
            pieces, ends = [text(v, indent + 1) for v in parts], "[]"
        pieces += ["..."] * more
        lines, line = [], ""
        for piece in pieces:
            if line and len(line) + len(piece.split("\n")[0]) + indent > 108:
                lines.append(line + ",")
                line = ""
            line += (", " if line else "") + piece
        return ends[0] + (",\n" + " " * indent).join([part.rstrip(",") for part in lines] + [line]) + ends[1]

    wanted = [re.findall(r"[^.\[\]]+", path) for path in paths]
    print(text(kept(json.load(sys.stdin), wanted), 1))


def desk(folder, source, trnplan):
    """Makes `folder` a place where a reader's commands run, on a screen of 80 columns; gives their environment."""
    tools = folder / ".tools"
    tools.mkdir()
    ours = pathlib.Path(__file__).resolve()
    for name, line in {"trnplan": f'exec "{trnplan}" "$@"', "pick": f'exec "{sys.executable}" "{ours}" --pick "$@"'}.items():
        for place in [tools / name] + [folder / "dev"] * (name == "trnplan"):
            place.write_text(f"#!/bin/sh\n{line}\n")
            place.chmod(0o755)
    for name in ("examples", "catalog", "tests"):
        (folder / name).symlink_to(source / name)
    return {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "COLUMNS": "80", "LC_ALL": "C.UTF-8",
            "TRNPLAN_CATALOG": str(source / "catalog")}  # fmt: skip


class Page:
    """One Markdown file, run in a folder of its own."""

    def __init__(self, path, source, trnplan):
        self.path, self.source, self.name = path, source, str(path.relative_to(source))
        self.lines = path.read_text().splitlines()
        self.faults, self.commands = [], 0
        self.temporary = tempfile.TemporaryDirectory(prefix="trnplan-page-")
        self.folder = pathlib.Path(self.temporary.name).resolve()
        self.environment = desk(self.folder, source, trnplan)

    def fault(self, number, what):
        self.faults.append(f"{self.name}:{number + 1}: {what}")

    def run(self, number, command):
        self.commands += 1
        done = subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)  # fmt: skip
        if done.returncode != 0:
            self.fault(number, f"{command}: exit {done.returncode}: {(done.stderr or done.stdout).strip()[:400]}")
        printed = done.stdout.replace(str(self.folder), "~").replace(str(self.source), "{SRC}")
        wide = [line for line in printed.splitlines() if len(line) > 80] if command.startswith(("trnplan", "./dev")) else []
        if wide and "--format" not in command:
            self.fault(number, f"{command}: wider than 80 columns: {wide[0]}")
        return [line.rstrip() for line in printed.rstrip("\n").splitlines()]

    def console(self, number, body):
        """The block as its commands print it now."""
        made, i = [], 0
        if body and not body[0].startswith("$ "):
            self.fault(number, "a block of console begins with a command")
        while i < len(body):
            if body[i].startswith("$ "):
                shown = [body[i]]
                while shown[-1].endswith("\\") and i + 1 < len(body):
                    i += 1
                    shown.append(body[i])
                made += shown + self.run(number + i, "\n".join(shown)[2:])
            i += 1
        return made

    def remade(self):
        """All lines, with the excerpts as they are printed now."""
        made, i, mark = [], 0, None
        while i < len(self.lines):
            line = self.lines[i]
            fence = FENCE.match(line)
            made.append(line)
            i += 1
            if not fence:
                mark = MARK.match(line) or (mark if not line.strip() else None)
                continue
            end = next((j for j in range(i, len(self.lines)) if self.lines[j] == "```"), None)
            if end is None:
                self.fault(i - 1, "this block has no end")
                return self.lines
            body, kind = self.lines[i:end], fence[1]
            if kind == "console":
                body = self.console(i, body)
            elif mark and mark[1] == "output of":
                body = self.run(i - 1, mark[2])
            elif mark:
                (self.folder / mark[2]).write_text("\n".join(body) + "\n")
            elif kind in ("text", "json"):
                self.fault(i - 1, f"no command makes this block of {kind}")
            made += body + ["```"]
            i, mark = end + 1, None
        return made

    def check(self, update):
        made = self.remade()
        if made == self.lines:
            return
        if update and not self.faults:
            self.path.write_text("\n".join(made) + "\n")
            print(f"rewrote {self.name}")
        else:
            lines = list(difflib.unified_diff(self.lines, made, self.name, "as printed now", lineterm="", n=1))
            self.faults.append("\n".join(lines[:40] + ["(if the change is meant: TRNPLAN_UPDATE_GOLDEN=1)"]))


def headings(path):
    """Titles of a page, and the anchors that GitHub gives them."""
    titles = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S), re.M)
    anchors = {re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", title).lower()).replace(" ", "-") for title in titles}
    return [title.lower() for title in titles], anchors


def dead_links(source, pages):
    """Broken links between pages, and names of missing pages and headings in our sources."""
    faults = []
    for page in pages:
        for file, anchor in LINK.findall(re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)):
            target = page if not file else page.parent / file
            if "://" in file:
                continue
            if not target.exists():
                faults.append(f"{page.relative_to(source)}: {file} is not there")
            elif anchor and anchor not in headings(target)[1]:
                faults.append(f"{page.relative_to(source)}: {file} has no heading #{anchor}")
    known = {page.name: headings(page) for page in (source / "docs").glob("*.md")}
    for file in sources(source):
        if file.name == "CHANGELOG.md" or not file.is_file():
            continue
        text = file.read_text(errors="replace")
        if "docs/" not in text:
            continue
        name = file.relative_to(source)
        for page, title in QUOTED.findall(text):
            if page in known and not any(title.lower() in known_title for known_title in known[page][0]):
                faults.append(f'{name}: docs/{page} has no heading "{title}"')
        for page, anchor in ANCHORED.findall(text):
            if page in known and anchor not in known[page][1]:
                faults.append(f"{name}: docs/{page} has no heading #{anchor}")
    return faults


def main(trnplan, folder, wanted):
    source = pathlib.Path(folder).resolve()
    trnplan = pathlib.Path(trnplan).resolve()
    update = bool(os.environ.get("TRNPLAN_UPDATE_GOLDEN"))
    pages = [source / "README.md", source / "CONTRIBUTING.md", *sorted((source / "docs").rglob("*.md"))]
    faults, commands = [f"{name}: no such page" for name in wanted if source / name not in pages], 0
    for path in pages:
        if wanted and str(path.relative_to(source)) not in wanted:
            continue
        page = Page(path, source, trnplan)
        page.check(update)
        faults += page.faults
        commands += page.commands
    faults += dead_links(source, pages)
    words = {made: sum(len(page.read_text().split()) for page in pages if (page.name in GENERATED) == made) for made in (False, True)}
    if words[False] > MOST_WORDS:
        faults.append(f"{words[False]} words in the pages that are written by hand, {MOST_WORDS} at most")
    for fault in faults:
        print(f"FAIL: {fault}")
    print(f"excerpts: {len(pages)} pages, {words[False]} words and {words[True]} generated; {commands} commands, {len(faults)} faults")
    return 1 if faults or (commands == 0 and not wanted) else 0


if __name__ == "__main__":
    if sys.argv[1] == "--pick":
        pick(sys.argv[2:])
        sys.exit(0)
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))

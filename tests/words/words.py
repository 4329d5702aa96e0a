#!/usr/bin/env python3
"""Plain English: phrases that are out, and comments of headers that open with their noun or verb.

    words.py SOURCE_DIR [--count]

Catches a word of phrases.txt in a comment, page, message or name, and a comment in a header that opens with a relative or question
word ("What ...", "Of the ...", "Whether ..."). --count prints how often each is found and fails nothing.
"""
import pathlib
import re
import sys

FLOORS = "units text topology sim models logs planner calibrate targets io launch api cli python".split()
OTHER = "tests bench examples docs catalog".split()
SUFFIXES = {".h", ".cpp", ".py", ".pyi", ".sh", ".js", ".css", ".yaml", ".md", ".in", ".out", ".cmake", ".txt"}
PRINTED = {"command", "expected-output"}  # of examples
# Files that quote others: measured tables, logs and configs of frameworks; the list itself.
QUOTED = re.compile(r"(^|/)(fixtures|corpus|seeds|shipped|words)/|^catalog/.*\.(json|csv)$|/expected-folder/")
# A comment may open with none of these.
OPENINGS = set(
    "what of how where whether that which who when if as with without in on from to at by for it its they and or but so than "
    "because while until is are was does has may must can beside between".split()
)


def files(root: pathlib.Path) -> list[pathlib.Path]:
    found = [root / name for name in ("README.md", "CONTRIBUTING.md", "dev")]
    for folder in FLOORS + OTHER:
        found += sorted(p for p in (root / folder).rglob("*") if (p.suffix in SUFFIXES or p.name in PRINTED) and p.is_file())
    return [p for p in found if not QUOTED.search(p.relative_to(root).as_posix()) and "build" not in p.relative_to(root).parts]


def phrases() -> list[tuple[re.Pattern[str], str]]:
    rows = []
    for line in (pathlib.Path(__file__).parent / "phrases.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            pattern, instead = re.split(r"\t+", line)
            rows.append((re.compile(pattern, re.IGNORECASE if pattern == pattern.lower() else 0), instead))
    return rows


def openings(path: pathlib.Path, lines: list[str]) -> list[tuple[int, str]]:
    """The first line of each `///` block, and of the comment that opens the header."""
    found, last, code = [], False, False
    for number, line in enumerate(lines, 1):
        text = line.strip()
        comment = re.match(r"///(?!<) ?(.*)" if code else r"///?(?!<) ?(.*)", text)
        code = code or bool(text) and not text.startswith("//")
        if comment and not last:
            word = re.match(r"[A-Za-z]+", comment[1])
            if word and word[0].lower() in OPENINGS and word[0][0].isupper():
                found.append((number, comment[1]))
        last = bool(comment)
    return found


def main() -> int:
    root, count = pathlib.Path(sys.argv[1]), "--count" in sys.argv
    rows, totals, faults = phrases(), {}, []
    paths = files(root)
    for path in paths:
        name = path.relative_to(root).as_posix()
        lines = path.read_text(errors="replace").splitlines()
        for number, line in enumerate(lines, 1):
            for pattern, instead in rows:
                if hit := pattern.search(line):
                    totals[pattern.pattern] = totals.get(pattern.pattern, 0) + 1
                    faults.append(f"{name}:{number}: {hit[0]!r} is out ({instead}): {line.strip()[:100]}")
        if path.suffix == ".h" and path.relative_to(root).parts[0] in FLOORS:
            for number, line in openings(path, lines):
                totals["openings"] = totals.get("openings", 0) + 1
                faults.append(f"{name}:{number}: opens without its noun or verb: {line[:100]}")
    if count:
        for pattern, n in sorted(totals.items(), key=lambda row: -row[1]):
            print(f"{n:6} {pattern}")
        return 0
    print("\n".join(faults[:200] + ([f"... and {len(faults) - 200} more"] if len(faults) > 200 else [])))
    print(f"{len(faults)} faults in {len(paths)} files; {len(rows)} phrases")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())

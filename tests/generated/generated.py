"""Checks pages generated from the program's own keys: docs/keys.md, the table of docs/job.md, and the types of Python's results.

generated.py TRNPLAN SOURCE_DIR [--update]

`trnplan help --keys` prints the keys. The table of docs/job.md lies between <!-- keys of a job --> and <!-- end of keys -->. With
--update the files are rewritten; without it, the first difference of each is printed.
"""

import ast
import difflib
import json
import keyword
import pathlib
import re
import subprocess
import sys

TABLE = re.compile(r"(<!-- keys of a job -->\n).*?(<!-- end of keys -->)", re.DOTALL)
WORDS = {"int": "whole number", "float": "number", "str": "text", "bool": "true or false", "Any": "any"}


def words(kind):
    """A type of Python as people say it."""
    outer, _, inner = kind.rstrip("]").partition("[")
    if outer == "Optional":
        return f"{words(kind[len('Optional[') : -1])} or null"
    if outer == "List":
        return f"list of {words(kind[len('List[') : -1])}"
    if outer == "Dict":
        return f"{words(kind[len('Dict[str, ') : -1])} by name"
    if outer == "Tuple":
        return f"two of {words(inner.split(', ')[0])}"
    return WORDS.get(kind, f"[{kind}](#{kind.lower()})" if kind[0].isupper() else kind)


def record_table(record):
    lines = [f"## {record['name']}", "", record["says"].replace("``", "`")]
    if record["base"]:
        lines[-1] += f" Besides, the keys of {words(record['base'])}."
    lines.append("")
    rows = [key for key in record["keys"] if key["says"]]
    plain = [f"`{key['name']}` ({words(key['type'])})" for key in record["keys"] if not key["says"]]
    if rows:
        lines += ["| key | type | meaning |", "| --- | --- | --- |"]
        lines += [f"| `{key['name']}` | {words(key['type'])} | {key['says']} |" for key in rows]
        lines += [""] * bool(plain)
    if plain:
        lines.append(("Also " if rows else "") + ", ".join(plain) + ".")
    return lines + [""]


KEYS = """# Keys

Every key of every document, by the name of its record, which is that of Python's class; [json.md](json.md) shows documents and explains
what is not said by a key alone. Each document begins with `schema_version`. Written by tests/generated/generated.py --update.
"""


def keys_page(records):
    return KEYS + "\n" + "\n".join(line for record in records for line in record_table(record)).rstrip("\n") + "\n"


def job_page(text, keys):
    lines = ["| key | value | without it |", "| --- | --- | --- |"]
    lines += [f"| `{key['key']}` | {key['value']} | {key['without']} |" for key in keys]
    return TABLE.sub(lambda found: found[1] + "\n".join(lines) + "\n" + found[2], text)


def stub(source, records):
    """The types of results.py: its classes with their methods, and the keys that the program describes."""
    lines = ['"""Types of results.py, written by tests/generated/generated.py --update."""', "",
             "from dataclasses import dataclass", "from typing import Any, Dict, List, Optional, Tuple", "",
             "from pandas import DataFrame", "", "from .records import Record, Result", ""]  # fmt: skip
    classes = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)}
    for record in records:
        if record["name"] not in classes:
            classes[record["name"]] = None
    by_name = {record["name"]: record for record in records}
    for name, node in classes.items():
        record = by_name.get(name)
        bases = [ast.unparse(base) for base in node.bases] if node else [record["base"] or "Record"]
        lines += ["@dataclass(frozen=True, repr=False)", f"class {name}({', '.join(bases)}):"]
        described = node is None or any(ast.unparse(d) == "described" for d in node.decorator_list)
        keys = {"schema_version": "int"} if described and "Result" in bases else {}
        if described:
            keys.update({k["name"] + "_" * keyword.iskeyword(k["name"]): k["type"] for k in record["keys"]})
        body = [f"{key}: {kind}" for key, kind in keys.items()]
        for part in node.body if node else []:
            if isinstance(part, ast.AnnAssign):
                body.append(ast.unparse(part))
            elif isinstance(part, ast.Assign) and not part.targets[0].id.startswith("_"):
                body.append(f"{part.targets[0].id}: bool")
            elif isinstance(part, ast.FunctionDef):
                body += [f"@{ast.unparse(d)}" for d in part.decorator_list]
                gives = part.returns.value if isinstance(part.returns, ast.Constant) else ast.unparse(part.returns)
                body.append(f"def {part.name}({ast.unparse(part.args)}) -> {gives}: ...")
        lines += [f"    {line}" for line in body] or ["    ..."]
        lines.append("")
    return "\n".join(lines)


def main(program, folder, update):
    source = pathlib.Path(folder)
    keys = json.loads(subprocess.run([program, "help", "--keys"], check=True, capture_output=True).stdout)
    records = keys["records"]
    faults = []
    made = {
        "docs/keys.md": keys_page(records),
        "docs/job.md": job_page((source / "docs/job.md").read_text(), keys["job"]),
        "python/trnplan/results.pyi": stub((source / "python/trnplan/results.py").read_text(), records),
    }
    for name, text in made.items():
        file = source / name
        stands = file.read_text() if file.exists() else ""
        if text == stands:
            continue
        if update:
            file.write_text(text)
            print(f"wrote {name}")
        else:
            lines = list(difflib.unified_diff(stands.splitlines(), text.splitlines(), "stands", "as made", lineterm="", n=0))
            faults.append(f"{name} is not as made (--update writes it):\n" + "\n".join(lines[:12]))
    for fault in faults:
        print(f"FAIL: {fault}")
    print(f"generated: {len(records)} records, {len(keys['job'])} keys of a job, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], "--update" in sys.argv[3:]))

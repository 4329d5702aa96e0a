"""Runs a notebook from top to bottom, and writes its code as a script.

notebook.py NOTEBOOK SCRIPT
"""

import os
import sys

import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
assert not any(cell.get("outputs") for cell in notebook.cells), "the notebook is kept without outputs"
code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
lines = "\n".join(code).split("\n")
# What stands alone to be shown is no statement of a script.
with open(sys.argv[2], "w") as script:
    script.write("\n".join(lines) + "\n")
NotebookClient(notebook, timeout=600, kernel_name="python3",
               resources={"metadata": {"path": os.path.dirname(os.path.abspath(sys.argv[1]))}}).execute()  # fmt: skip
shown = [o for cell in notebook.cells for o in cell.get("outputs", []) if "data" in o and "text/html" in o["data"]]
assert len(shown) >= 4, f"{len(shown)} results are shown"
assert 'class="trnplan"' in shown[0]["data"]["text/html"]
assert 'srcdoc="&lt;!DOCTYPE html&gt;' in shown[0]["data"]["text/html"], "a plan is shown as its page"
print(f"{len(code)} cells, {len(shown)} shown")

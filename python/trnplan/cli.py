"""The program of the package, which is the one that docs/ describes."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    """Becomes the program: signals, exit codes and output are its own."""
    program = Path(__file__).with_name("bin") / "trnplan"
    os.execv(program, ["trnplan", *sys.argv[1:]])

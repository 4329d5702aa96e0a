"""The program of the package, as docs/ describes it."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    """Replaces this process by the program, with its own signals, exit codes and output."""
    program = Path(__file__).with_name("bin") / "trnplan"
    os.execv(program, ["trnplan", *sys.argv[1:]])

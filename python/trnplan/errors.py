"""Faults of an input: all at once, each with its place and its fix."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Iterable, List, Optional, Tuple, TypeVar

__all__ = ["Fault", "InputError", "MissingPackage"]

RawFault = Tuple[str, int, int, str, str, str]

# Options of the program that are arguments here, with dashes; an option precedes its own prefixes.
_OPTIONS = re.compile(
    r"--(all-reduce-gbps|allow-doubtful|async-checkpoints|baseline|budget|bytes|checkpoint-steps|config|datatype|deadline|"
    r"discount|env|factor|failures-per-node-day|fit-probability|force|framework-version|framework|global-batch|instances|instance|job|"
    r"leave-out|measured|neuron-ls|nodes|no-fit|"
    r"objective|op|out|oversubscription|precision|predictions|prefer|pricing|price|profile|ranks|recovery|release|"
    r"reliability|report|risk|scaling|scheduler|sequence|storage-gib|storage-gb-per-second|storage-usd-per-gib-month|"
    r"strategy|sure|target|term|time-limit|tokens|top|tp|pp|dp|cp|trace|upfront|usd-per-node-hour|with-catalogue)(?![\w-])"
)


def _as_arguments(text: str) -> str:
    """Replaces options by arguments: ``--global-batch`` of the program is ``global_batch`` here."""
    return _OPTIONS.sub(lambda found: found[1].replace("-", "_"), text)


@dataclass(frozen=True)
class Fault:
    """One fault of an input."""

    file: str
    """The file; ``<job>`` and the like for a text or a dict; ``""`` for an argument of the call."""
    line: Optional[int]
    """From 1; None if no place is known, as in a dict."""
    column: Optional[int]
    """From 1, likewise."""
    key: str
    """The key or the argument, such as ``training.global_batch``; ``""`` if there is none."""
    problem: str
    fix: str
    """The fix; may be ``""``."""

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        head = ": ".join(part for part in (place, self.key, self.problem) if part)
        return f"{head}\n  fix: {self.fix}" if self.fix else head

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))


class InputError(ValueError):
    """The input is wrong: a file, a key, a value or an argument. Contains every fault found, at least one."""

    faults: Tuple[Fault, ...]
    result: Any
    """The result, if only the requested files (``out``, ``report``) are at fault."""

    def __init__(self, faults: Iterable[Fault], result: Any = None) -> None:
        self.faults = tuple(faults)
        self.result = result
        super().__init__("\n".join(map(str, self.faults)))

    def __reduce__(self) -> Tuple[Any, ...]:
        return InputError, (self.faults, self.result)


class MissingPackage(ImportError):
    """A package that this call needs is not installed."""


def _fault(raw: RawFault) -> Fault:
    file, line, column, key, problem, fix = raw
    if file == "command line":
        file = ""
    stated = re.fullmatch(r"<dict (\w+)>", file)
    if stated:  # the lines refer to a text that the caller never sees
        file, line, column = f"<{stated[1]}>", 0, 0
    file, key, problem, fix = map(_as_arguments, (file, key, problem, fix))
    return Fault(file, line or None, column or None, key, problem, fix)


def input_error(raw: Iterable[RawFault], result: Any = None) -> InputError:
    """Makes the error from the faults of the native module."""
    return InputError(map(_fault, raw), result)


R = TypeVar("R")


def kept(found: R, unwritten: "List[RawFault]") -> R:
    """Returns the result; raises an InputError that contains it if one of its files could not be written."""
    if unwritten:
        raise input_error(unwritten, found)
    return found

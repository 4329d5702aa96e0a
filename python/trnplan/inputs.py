"""Converts jobs, configs and quantities of Python to the input of the program."""

from __future__ import annotations

import datetime
import json
import numbers
import os
import re
from typing import Any, Iterable, Mapping, Optional, Union

from . import _native
from .records import Record

Job = Union[str, "os.PathLike[str]", Mapping[str, Any]]
"""A path, a model's name, a text (with line breaks, or in braces) or a dict."""
Config = Job
Count = Union[int, float, str]
"""``15e12`` or ``"15T"``."""
Duration = Union[str, datetime.timedelta]
"""``"30d"``, ``"36h"`` or a timedelta."""


def _is_text(stated: str) -> bool:
    """True for a document, not a name: several lines, or a map in braces."""
    return "\n" in stated or stated.lstrip().startswith("{")


class Arguments:
    """Input of the native module: the given arguments, and texts that replace files."""

    def __init__(self, **given: Any) -> None:
        self.values: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        self._texts: dict[str, str] = {}

    def document(self, name: str, stated: Optional[Job]) -> "Arguments":
        """Adds a job or a config: its path or name, or the name of its text in faults."""
        if stated is None:
            return self
        if isinstance(stated, Record):
            stated = stated.to_dict()
        if isinstance(stated, Mapping):
            self.values[name] = f"<dict {name}>"
            try:
                self._texts[self.values[name]] = yaml_text(stated)
            except RecursionError:
                raise TypeError(f"{name} holds itself, or is nested too deeply") from None
        elif isinstance(stated, str) and _is_text(stated):
            self.values[name] = f"<{name}>"
            self._texts[self.values[name]] = stated
        else:
            self.values[name] = os.fspath(stated)
        self.values["texts"] = self._texts
        return self

    def words(self, **stated: Any) -> "Arguments":
        """Adds values that the program takes as words: numbers, texts, lists of them, time spans."""
        for name, value in stated.items():
            if value is not None:
                self.values[name] = word(value)
        return self

    def lists(self, **stated: Any) -> "Arguments":
        """Adds one or several paths or texts. The native module reports other values, with the argument's name."""
        for name, value in stated.items():
            one = isinstance(value, (str, os.PathLike))
            items = [value] if one else list(value) if isinstance(value, Iterable) else value
            self.values[name] = [_path(item) for item in items] if isinstance(items, list) else items
        return self

    def paths(self, **stated: "Optional[str | os.PathLike[str]]") -> "Arguments":
        for name, value in stated.items():
            if value is not None:
                self.values[name] = _path(value)
        return self


def _path(value: Any) -> Any:
    """A path as text. The native module reports other values, with the argument's name."""
    return os.fspath(value) if isinstance(value, os.PathLike) else value


# Values without quotes in a job: 4..32, 15T, 30d, 2.5M.
_QUANTITY = re.compile(r"[0-9]+\.\.[0-9]+|[0-9]+(\.[0-9]+)?[A-Za-z]+")


def yaml_text(value: Any) -> str:
    """YAML in braces. Quantities are plain; every other text is quoted, so that ``"2.24"`` stays a text."""
    if isinstance(value, Mapping):
        return "{" + ",\n".join(f"{json.dumps(str(k), ensure_ascii=False)}: {yaml_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, str):
        return value if _QUANTITY.fullmatch(value) else json.dumps(value, ensure_ascii=False)
    if value is None or isinstance(value, (bool, int)):
        return json.dumps(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, datetime.timedelta):
        return str(word(value))
    if isinstance(value, os.PathLike):
        return json.dumps(os.fspath(value), ensure_ascii=False)
    if isinstance(value, (list, tuple, range)):
        return "[" + ", ".join(map(yaml_text, value)) + "]"
    if hasattr(value, "tolist"):  # a number or an array of NumPy
        return yaml_text(value.tolist())
    raise TypeError(f"{type(value).__name__} cannot be used in a job: use dicts, lists, texts, numbers and booleans")


def word(value: Any) -> Any:
    """``4``, ``"4..32"``, ``[4, 8]``, ``2e12``, ``timedelta(days=30)`` as the program's options state them. The
    native module reports other values, with the argument's name."""
    if isinstance(value, str):
        return value
    if isinstance(value, datetime.timedelta):
        return f"{_number(value.total_seconds() / 3600)}h"
    if hasattr(value, "tolist"):  # a number or an array of NumPy
        return word(value.tolist())
    if isinstance(value, (list, tuple, range)):
        items = [item if isinstance(item, (list, tuple)) else word(item) for item in value]
        return ",".join(items) if all(isinstance(item, str) for item in items) else value
    return _number(value) if isinstance(value, numbers.Number) else value


def _number(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e18:
        return str(int(value))
    try:
        return str(value)
    except ValueError:  # thousands of digits
        return f"a {type(value).__name__} of thousands of digits"


# Short name of each key.
_SHORT = dict(json.loads(_native.strategy_keys()))
_OF_THE_CLUSTER = ("nodes", "instance", "micro_batches")


def strategy_text(strategy: Union[str, Mapping[str, Any], Record]) -> Any:
    """``tp=8,pp=4`` of a dict with these keys or with those of a result's strategy. The native
    module reports other values, with the argument's name."""
    if not isinstance(strategy, (Mapping, Record)):
        return strategy
    stated = strategy.to_dict() if isinstance(strategy, Record) else strategy
    parts = []
    for key, value in stated.items():
        key = _SHORT.get(key, key)
        if key in _OF_THE_CLUSTER or value is None or (key == "cuts" and not value):
            continue
        if key == "zero1" and ("sharding" in stated or "shard" in stated):
            continue  # implied by the sharding
        if isinstance(value, bool):
            value = "true" if value else "false"
        elif key == "cuts" and not isinstance(value, str):
            value = "/".join(map(str, value))
        parts.append(f"{key}={value}")
    return ",".join(parts)

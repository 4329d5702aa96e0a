"""Typed views of the program's JSON documents."""

from __future__ import annotations

import copy
import dataclasses
import functools
import json
import keyword
import typing
from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, Tuple, Type, TypeVar

from . import _native
from .pages import Page
from .tables import frame

if TYPE_CHECKING:
    from pandas import DataFrame

T = TypeVar("T", bound="Record")
_MOST_LETTERS = 200  # of a list when Python prints it


class Record:
    """A JSON object of docs/json.md with its keys as attributes; a key that is a keyword of Python ends in ``_``.

    An attribute is None if the document lacks the key. ``to_dict()`` contains the whole document, including keys that are
    newer than this class. Records are immutable; ``dataclasses.replace`` makes a changed copy.
    """

    _document: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """A copy of the object as ``trnplan ... --format json`` prints it."""
        document = vars(self).get("_document")
        if document is not None:
            return copy.deepcopy(dict(document))
        cls: Any = type(self)
        return {key: _untyped(getattr(self, name)) for name, key, _ in _fields(cls)}

    def __repr__(self) -> str:
        """Text in the form of a call; long lists and dicts show only their lengths."""
        cls: Any = type(self)
        parts = (f"{name}={_short(getattr(self, name))}" for name, _, _ in _fields(cls))
        return f"{cls.__name__}({', '.join(parts)})"


def _short(value: Any) -> str:
    if isinstance(value, (list, dict)) and len(repr(value)) > _MOST_LETTERS:
        return f"<{len(value)} in a {type(value).__name__}>"
    return repr(value)


def _untyped(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, (list, tuple)):
        return [_untyped(item) for item in value]
    return copy.deepcopy(value)


class Result(Record):
    """A whole document."""

    remarks: Tuple[str, ...]
    """Remarks of the program on standard error."""

    _rows = ""  # the list that is the result's table

    def to_dataframe(self) -> "DataFrame":
        """One row per record of the result's list. Needs pandas."""
        return frame([row.to_dict() for row in getattr(self, self._rows)])

    def to_html(self) -> str:
        """Self-contained HTML file: the page that ``report=`` writes, or the tables of a result without a page.

        The first call makes the page, which for a plan or a simulation costs another simulation.
        """
        from . import views

        return views.page(self)

    def _repr_html_(self) -> str:
        from . import views

        return views.html(self)

    def __repr__(self) -> str:
        from . import views

        return views.text(self)


@functools.lru_cache(maxsize=None)
def _fields(cls: Type[Any]) -> "tuple[tuple[str, str, Any], ...]":
    hints = typing.get_type_hints(cls)
    return tuple((f.name, f.name.rstrip("_"), hints[f.name]) for f in dataclasses.fields(cls))


def _value(kind: Any, value: Any) -> Any:
    """Converts `value` of JSON to a `kind`; objects inside become records."""
    if value is None:
        return None
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Union:
        return _value(next(k for k in inside if k is not type(None)), value)  # noqa: E721  # no instance is compared
    if origin is list:
        return [_value(inside[0], item) for item in value]
    if origin is dict:
        return {key: _value(inside[1], item) for key, item in value.items()}
    if origin is tuple:
        return tuple(value) if len(value) == len(inside) else None
    if isinstance(kind, type) and issubclass(kind, Record):
        return build(kind, value)
    return value


def build(cls: Type[T], document: Mapping[str, Any]) -> T:
    """The record of a JSON object. Keys that the class does not know stay in ``to_dict()``."""
    kinds: Any = cls
    record = cls(**{name: _value(kind, document.get(key)) for name, key, kind in _fields(kinds)})
    object.__setattr__(record, "_document", document)
    return record


def result(cls: Type[T], document: Mapping[str, Any], remarks: "list[str]", page: "Callable[[], str] | None" = None) -> T:
    """A whole document as a record. `page` makes its page."""
    made = build(cls, document)
    object.__setattr__(made, "remarks", tuple(remarks))
    if page is not None:
        object.__setattr__(made, "_page", Page(page))
    return made


# The program's description of its records: name, says, base, keys (name, type, says).
_DESCRIBED: Dict[str, Any] = {record["name"]: record for record in json.loads(_native.records())}


def described(cls: Type[T]) -> Type[T]:
    """`cls` with the keys of the record that the program describes under its name."""
    about = _DESCRIBED[cls.__name__]
    keys = {key["name"] + "_" * keyword.iskeyword(key["name"]): key["type"] for key in about["keys"]}
    cls.__annotations__ = {**({"schema_version": "int"} if Result in cls.__bases__ else {}), **keys}
    cls.__doc__ = cls.__doc__ or about["says"]
    return dataclasses.dataclass(frozen=True, repr=False)(cls)


def others(known: Mapping[str, Any]) -> Dict[str, Any]:
    """Records without a class in `known`, the names of a module."""
    made = dict(known)
    for name, about in _DESCRIBED.items():  # a base precedes the records built on it
        if name not in made:
            base = made[about["base"]] if about["base"] else Record
            made[name] = described(type(name, (base,), {"__module__": known["__name__"], "__annotations__": {}}))
    return made

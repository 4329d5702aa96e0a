"""Results as one HTML file, and inside a notebook."""

from __future__ import annotations

from html import escape
from typing import Any, Callable, Optional, Tuple

_HEIGHT = 720  # pixels in a notebook, which its reader may change


class Page:
    """A page of docs/report.md. It is made when it is asked for, since that costs a simulation, and then kept."""

    def __init__(self, make: Callable[[], str]) -> None:
        self._make: Optional[Callable[[], str]] = make
        self._text = ""

    def text(self) -> str:
        make = self._make
        if make is not None:
            self._text = make()
            self._make = None  # and what it holds
        return self._text

    def __reduce__(self) -> Tuple[Any, ...]:
        return _made, (self.text(),)

    def __copy__(self) -> "Page":
        return self

    def __deepcopy__(self, memo: Any) -> "Page":
        return self


def _made(text: str) -> Page:
    return Page(lambda: text)


def frame(page: str, otherwise: str) -> str:
    """The page in a frame of its own: what runs in it reaches neither the notebook nor the network. `otherwise`: what is
    left where notebooks are shown without frames, and behind a click elsewhere."""
    # In ASCII: the page names the hashes of what may run in it, whatever the encoding of what it is put into.
    framed = escape(page).encode("ascii", "xmlcharrefreplace").decode()
    return (
        '<div><iframe title="trnplan report" sandbox="allow-scripts" allow="clipboard-write" '
        f'style="width: 100%; height: {_HEIGHT}px; border: 0; resize: vertical" srcdoc="{framed}"></iframe>'
        f"<details><summary>as a table</summary>{otherwise}</details></div>"
    )


def document(title: str, body: str) -> str:
    """A whole page of some HTML."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>"
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
        f"<title>{escape(title)}</title></head>\n<body>{body}</body></html>\n"
    )

"""Results as one HTML file, and inside a notebook."""

from __future__ import annotations

from html import escape
from typing import Any, Callable, Optional, Tuple

_HEIGHT = 720  # pixels in a notebook; the reader may change it


class Page:
    """A page of docs/report.md. It is made on first use, which costs a simulation, and then kept."""

    def __init__(self, make: Callable[[], str]) -> None:
        self._make: Optional[Callable[[], str]] = make
        self._text = ""

    def text(self) -> str:
        make = self._make
        if make is not None:
            self._text = make()
            self._make = None  # releases the data that it holds
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
    """The page in a frame of its own: its script can access neither the notebook nor the network. `otherwise`: content for
    viewers that show notebooks without frames; elsewhere it is behind a click."""
    # In ASCII, so that the hashes of the page's scripts hold in any encoding of the surrounding document.
    framed = escape(page).encode("ascii", "xmlcharrefreplace").decode()
    return (
        '<div><iframe title="trnplan report" sandbox="allow-scripts" allow="clipboard-write" '
        f'style="width: 100%; height: {_HEIGHT}px; border: 0; resize: vertical" srcdoc="{framed}"></iframe>'
        f"<details><summary>as a table</summary>{otherwise}</details></div>"
    )


def document(title: str, body: str) -> str:
    """A complete page around some HTML."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>"
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
        f"<title>{escape(title)}</title></head>\n<body>{body}</body></html>\n"
    )

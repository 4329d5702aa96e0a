"""Tables of pandas, if that is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Sequence

from .errors import MissingPackage

if TYPE_CHECKING:
    from pandas import DataFrame


def frame(rows: Sequence[Mapping[str, Any]]) -> "DataFrame":
    """One row per mapping. Raises MissingPackage without pandas."""
    try:
        import pandas
    except ImportError:
        raise MissingPackage(
            "to_dataframe() needs pandas, which is not installed: pip install pandas (on Debian apt-get install "
            "python3-pandas), or take to_dict()",
            name="pandas",
        ) from None
    return pandas.DataFrame(list(rows))

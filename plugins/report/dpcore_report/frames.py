"""Records as a pandas frame, and cells of text as a table of a notebook."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError, replacing, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["escape", "frame_of", "in_columns", "table_of"]

_MOST_ROWS = 100
"""Of a table that a notebook shows unasked."""
_NO_PANDAS = "A frame needs pandas, which is not installed: pip install pandas."


def frame_of(records: Iterable[dict[str, Any]]) -> Any:
    """Return a pandas DataFrame with a row for each record, without a column that all have as
    ``None``.

    Raises InvalidInputError where pandas is not installed.
    """
    with replacing(ImportError, by=lambda _: InvalidInputError(_NO_PANDAS)):
        import pandas as pd
    frame = pd.DataFrame.from_records([*records])
    return frame.drop(columns=[name for name in frame if frame[name].isna().all()])


def escape(text: str) -> str:
    """Return a text in which nothing is markup, nor commands a terminal that shows it."""
    return html.escape(visible(text))


def table_of(heads: Sequence[str], rows: Sequence[Sequence[str]], what: str) -> str:
    """Return a table as HTML, a long one folded. ``what`` : its rows are, in the plural."""
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    lines = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    if len(rows) > _MOST_ROWS:
        table = f"<details><summary>{len(rows):,} {what}</summary>{table}</details>"
    return table


def in_columns(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table in text, its cells below each other."""
    lines = [[*map(visible, line)] for line in (heads, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]

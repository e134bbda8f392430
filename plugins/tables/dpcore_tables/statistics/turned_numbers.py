"""Numbers that another program made of text in another notation: 38.767 of "38.767", for 38,767.

Exact, for the owner of the rows, as is all of ``dpcore schema --check``. A column looks so where
every fraction in it has three decimals at most, is below 1,000, and lies within the bounds when it
is taken times 1,000: a point was between thousands there. One other fraction speaks against it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin.columns import Label, Numeric
from dpcore_tables.cells.cell_values import convert_column
from dpcore_tables.raw.raw_table import RawTable

if TYPE_CHECKING:
    from dpcore import Schema
    from dpcore_tables.raw.raw_matrix import RawMatrix

__all__ = ["turned_numbers"]

_THOUSAND = 1000.0
_NEAR = 2.0**-40
"""Of three decimals times 1,000 the nearest whole number is nearer than that, relatively."""


def turned_numbers(pieces: Iterable[RawTable | RawMatrix], schema: Schema) -> dict[str, int]:
    """Return, for each numeric column that looks so, how many of its cells are fractions."""
    if schema.width is not None:
        return {}
    columns = (*schema.features, schema.label)
    bounded = [numeric for numeric in map(_as_numeric, columns) if numeric is not None]
    like, unlike = dict.fromkeys((c.name for c in bounded), 0), set[str]()
    for raw in pieces:
        assert isinstance(raw, RawTable)  # The columns have names.
        for column in bounded:
            cells = convert_column(raw.columns[column.name], column, schema.notation, raw.source)[0]
            fractions = cells[np.isfinite(cells) & (cells != np.trunc(cells))]
            if _were_thousands(fractions, column.lower, column.upper):
                like[column.name] += fractions.size
            else:
                unlike.add(column.name)
    return {name: n for name, n in like.items() if n and name not in unlike}


def _as_numeric(column: object) -> Numeric | None:
    """Return a column of numbers between public bounds, or the label as such a column."""
    if isinstance(column, Label) and column.lower is not None and column.upper is not None:
        return Numeric(column.name, column.lower, column.upper, missing=column.missing)
    return column if isinstance(column, Numeric) and column.bounds is not None else None


def _were_thousands(fractions: np.ndarray, lower: float, upper: float) -> bool:
    """Return whether all may be whole numbers with a point between thousands."""
    whole = _THOUSAND * fractions
    is_near = np.abs(whole - np.rint(whole)) <= _NEAR * np.abs(whole)
    is_small = np.abs(fractions) < _THOUSAND
    return bool((is_near & is_small & (whole >= lower) & (whole <= upper)).all())

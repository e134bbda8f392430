"""Columns of cells as plain numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

__all__ = ["Columns", "Reading"]

Reading: TypeAlias = tuple[np.ndarray, np.ndarray | None, str]
"""Cells as numbers, which of them are faults (bool or None), and the reason.

Those of categories and buckets are int32, the level's position, -1 for none. All others are
float64: a number, the position of an ordinal level, 0 or 1 for false or true, the days of a date
since 1970-01-01; NaN where the cell is empty and the schema says what becomes of it.
"""


@dataclass(frozen=True)
class Columns:
    """Cells as numbers, by column name.

    ``values[name]`` : ndarray of shape (n_rows,), as ``dpcore_tables.cells.cell_values`` makes;
    float64 for the label, -1 and +1 or the target scaled to [-1, 1], absent where it was not asked
    for. ``kept`` : bool, one for each row that was given, None if all were kept. ``ids`` : of the
    rows' units, in their normal form; None where the schema has no units, or with the label.
    ``weights`` : of the rows, float64, None where none were asked for.
    """

    values: dict[str, np.ndarray]
    n_rows: int
    kept: np.ndarray | None = None
    ids: np.ndarray | None = None
    weights: np.ndarray | None = None

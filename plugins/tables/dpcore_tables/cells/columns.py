"""Columns of cells as plain numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Columns"]


@dataclass(frozen=True)
class Columns:
    """Cells as numbers, by column name.

    ``values[name]`` : ndarray of shape (n_rows,), as ``dpcore_tables.cells.cell_values`` makes;
    float64 for the label, -1 and +1 or the target scaled to [-1, 1], absent where it was not asked
    for. ``kept`` : bool, one for each row that was given, None if all were kept. ``ids`` : of the
    rows' units, in their normal form; None where the schema has no units, or with the label.
    """

    values: dict[str, np.ndarray]
    n_rows: int
    kept: np.ndarray | None = None
    ids: np.ndarray | None = None

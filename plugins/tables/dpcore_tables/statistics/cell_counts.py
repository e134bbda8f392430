"""The numbers of rows, and of cells in each column that a schema does not take as they are."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from dpcore.plugin import InvalidInputError, NeighboringRelation
from dpcore.plugin.parts import Sensitivity, float_up, sealed, sqrt_up
from dpcore_tables.statistics.raw_cells import BINS

if TYPE_CHECKING:
    from dpcore_tables.statistics.raw_cells import RawCells

__all__ = ["CellCounts"]


@sealed
@dataclass(frozen=True, slots=True)
class CellCounts:
    """The number of rows and the cells of each column in each of ``BINS``, over ``RawCells``.

    A sum over rows of vectors of 0 and 1: of a row the first entry is 1, and in the four of each of
    the m columns one at most, since a cell falls in one bin at most, by itself alone. So the row
    has l1 norm m + 1 and l2 norm sqrt(m + 1) at most: the sensitivity under add-or-remove-one and
    replace-special. Under replace-one the first entry stays, and the four of a column change by one
    up and one down: 2 m in l1, sqrt(2 m) in l2 (Dwork, McSherry, Nissim & Smith 2006, of a
    histogram: every column is one).

    Parameters
    ----------
    n_columns : m >= 1. ``norm`` : that of the sensitivity; l1 for pure noise, l2 for Gaussian.
    """

    n_columns: int
    norm: Literal["l1", "l2"] = "l2"

    kind: ClassVar[str] = "cells"
    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.n_columns < 1:
            raise InvalidInputError(f"Expected n_columns={self.n_columns!r} >= 1.")

    def start(self) -> np.ndarray:
        return np.zeros(1 + len(BINS) * self.n_columns, dtype=np.int64)

    def answer_block(self, block: Any) -> np.ndarray:
        cells: RawCells = block
        return cells.counts()

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        changes = self.n_columns + 1
        if relation is NeighboringRelation.REPLACE_ONE:
            changes = 2 * self.n_columns
        bound = changes if self.norm == "l1" else float_up(sqrt_up(Fraction(changes)))
        return Sensitivity(self.norm, float(bound), relation)

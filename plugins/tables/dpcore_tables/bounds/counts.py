"""The numbers of rows in each bin of each column in waiting, at every level of the bins."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from dpcore.plugin import InvalidInputError, NeighboringRelation
from dpcore.plugin.parts import Sensitivity, float_up, sealed, sqrt_up
from dpcore_tables.bounds.bins import BINS, LEAVES, leaves_of

if TYPE_CHECKING:
    from dpcore_tables.bounds.unbounded_rows import UnboundedCells

__all__ = ["SIZES", "BinCounts"]

SIZES = (BINS, LEAVES)
"""The number of bins of each level, the coarsest first."""


@sealed
@dataclass(frozen=True, slots=True)
class BinCounts:
    """How many cells of each of m columns are in each bin of each of the two levels.

    A sum over rows of vectors of 0 and 1. Of a row, a column's cell is in one leaf, by itself
    alone (``leaves_of``), and so in one bin of each level, or, if it is empty, in none. So the row
    has l1 norm 2 m and l2 norm sqrt(2 m) at most: the sensitivity under add-or-remove-one and
    replace-special. Under replace-one in each of the 2 m histograms one bin may lose and another
    gain a row: 4 m in l1, sqrt(4 m) in l2 (Dwork, McSherry, Nissim & Smith 2006, of a histogram;
    Hay, Rastogi, Miklau & Suciu 2010, section 4, of several levels).

    Parameters
    ----------
    n_columns : m >= 1. ``norm`` : that of the sensitivity; l1 for pure noise, l2 for Gaussian.
    """

    n_columns: int
    norm: Literal["l1", "l2"] = "l2"

    kind: ClassVar[str] = "bounds"
    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.n_columns < 1:
            raise InvalidInputError(f"Expected n_columns={self.n_columns!r} >= 1.")

    def start(self) -> np.ndarray:
        return np.zeros(self.n_columns * sum(SIZES), dtype=np.int64)

    def answer_block(self, block: Any) -> np.ndarray:
        cells: UnboundedCells = block
        return np.concatenate([self._of_column(cells.column(j)) for j in range(self.n_columns)])

    def _of_column(self, cells: np.ndarray) -> np.ndarray:
        leaves = np.bincount(leaves_of(cells[~np.isnan(cells)]), minlength=LEAVES)
        return np.concatenate([leaves.reshape(size, -1).sum(axis=1) for size in SIZES])

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        changes = len(SIZES) * self.n_columns * relation.rows_changed
        bound = changes if self.norm == "l1" else float_up(sqrt_up(Fraction(changes)))
        return Sensitivity(self.norm, float(bound), relation)

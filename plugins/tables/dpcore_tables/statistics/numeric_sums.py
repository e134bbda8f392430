"""Count, sums and sums of products of numeric columns."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation, Problem
from dpcore.plugin.parts import (
    Sensitivity,
    float_up,
    sealed,
    sqrt_up,
)
from dpcore_tables.statistics.columns import LARGEST_STEP, NumericColumn

if TYPE_CHECKING:
    from dpcore.plugin.parts import Block

__all__ = ["NumericSums"]

_MOST_COLUMNS = 1000
_SUM_BITS = 62


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class NumericSums:
    """The number of rows, behind it ``sum_i c_i``, and with ``products`` behind that the upper
    triangle of ``sum_i c_i c_i^T``, row by row. Here c_i are the cells of row i, mapped from their
    column's bounds to [-1/2, 1/2].

    A row contributes 1, k numbers of size 1/2 at most and k (k + 1) / 2 of size 1/4 at most, which
    bounds what add-or-remove-one and replace-special move. Under replace-one the count stays, a sum
    moves by at most 1, a square's (within [0, 1/4]) by 1/4 and another product's by 1/2 (Dwork,
    McSherry, Nissim & Smith 2006, of a sum of bounded vectors). Cells are on the grid, and all sums
    are of whole numbers.

    Parameters
    ----------
    columns : one or more. ``products`` : whether those are asked too. ``norm`` : of the
        sensitivity.

    Examples
    --------
    >>> from dpcore.plugin import NeighboringRelation
    >>> from dpcore_tables.statistics import NumericColumn, NumericSums
    >>> age, income = NumericColumn(0, 0, 90), NumericColumn(1, 0, 1e6)
    >>> query = NumericSums((age, income), norm="l1")
    >>> query.sensitivity(NeighboringRelation.ADD_OR_REMOVE_ONE).bound  # 1 and two halves
    2.0
    """

    columns: tuple[NumericColumn, ...]
    products: bool = False
    norm: Literal["l1", "l2"] = "l2"

    kind: ClassVar[str] = "sums"
    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "products", bool(self.products))  # It is counted: 1 or 0.
        if not 1 <= len(self.columns) <= _MOST_COLUMNS:
            raise InvalidInputError(f"Expected 1 to {_MOST_COLUMNS} numeric columns.")

    @property
    def grid_bits(self) -> int:
        return Problem.FEATURE_BITS * (1 + self.products)

    @property
    def rows_that_fit(self) -> int:
        """So many rows at most leave 62 bits to the count, in grid steps, which is the largest."""
        return 1 << (_SUM_BITS - self.grid_bits)

    def start(self) -> np.ndarray:
        k = len(self.columns)
        return np.zeros(1 + k + (k * (k + 1) // 2 if self.products else 0), dtype=np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        half = LARGEST_STEP // 2
        cells = np.array([column.linear_steps(block) - half for column in self.columns])
        finer = self.grid_bits - Problem.FEATURE_BITS
        parts = [[block.n_rows << self.grid_bits], cells.sum(axis=1, dtype=np.int64) << finer]
        if self.products:
            # A block's sums of products are below 2^43 steps: exact in float64, in any order.
            gram = (cells.astype(np.float64) @ cells.astype(np.float64).T).astype(np.int64)
            parts.append(gram[np.triu_indices(len(self.columns))])
        return np.concatenate(parts).astype(np.int64)

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        moves = self._moves(relation)
        if self.norm == "l1":
            bound = float_up(sum((n * size for n, size in moves), Fraction(0)))
        else:
            bound = float_up(sqrt_up(sum((n * size**2 for n, size in moves), Fraction(0))))
        return Sensitivity(self.norm, bound, relation, grid_bits=self.grid_bits)

    def _moves(self, relation: NeighboringRelation) -> list[tuple[int, Fraction]]:
        """Return how many coordinates move, and how far each at most."""
        k, pairs = len(self.columns), len(self.columns) * (len(self.columns) - 1) // 2
        if relation is NeighboringRelation.REPLACE_ONE:
            sums, products = [(k, Fraction(1))], [(k, Fraction(1, 4)), (pairs, Fraction(1, 2))]
        else:
            sums = [(1, Fraction(1)), (k, Fraction(1, 2))]
            products = [(k + pairs, Fraction(1, 4))]
        return sums + products if self.products else sums

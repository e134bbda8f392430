"""X^T X and X^T y as exact sums."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.plugin import Problem
from dpcore.plugin.parts import (
    Sensitivity,
    Table,
    cached_by_value,
    sealed,
)
from dpcore_accuracy_first.queries.kernels import exact_gram_sums
from dpcore_baselines.queries.gradient_sum import bounded_labels

if TYPE_CHECKING:
    from dpcore.plugin import NeighboringRelation
    from dpcore.plugin.parts import Block

__all__ = ["GramMatrix", "gram_sums", "symmetric", "unpack"]

_UP = 1.0 + 2.0**-40
_ROWS = 96
"""Rows whose columns the kernel of sums holds at a time."""


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class GramMatrix:
    """The upper triangle of ``sum_i x_i x_i^T``, row by row, and behind it ``sum_i y_i x_i``.

    A row with ||x||_1 <= r, ||x||_2 <= R, |y| <= 1 contributes (||x||_1^2 + ||x||_2^2) / 2 to the
    l1 norm of the triangle and ||x||_1 to that of the rest, so the sums move by at most
    (r^2 + R^2) / 2 + r under add-or-remove-one and by twice that under replace-one (Ligett et al.
    2017, section 3.1, count the full matrix: 2 r^2 + 2 r; the triangle is drawn once and mirrored,
    which is post-processing). Rows are scaled down to r and to R, truncated towards zero to
    ``2**-bits``, targets too, and multiplied and added without rounding.

    Parameters
    ----------
    problem : public facts. ``l1_norm`` : r; ``None`` for what follows from R, sqrt(d) R.

    Examples
    --------
    >>> from dpcore.plugin.parts import Logistic
    >>> from dpcore.plugin import NeighboringRelation, Problem
    >>> from dpcore_accuracy_first.queries.gram import GramMatrix
    >>> add = NeighboringRelation.ADD_OR_REMOVE_ONE
    >>> problem = Problem(Logistic(), 0.0, 2, row_norm=1.0, raw_norm_bound=1.0, relation=add)
    >>> GramMatrix(problem).sensitivity(add).norm
    'l1'
    """

    problem: Problem
    l1_norm: float | None = None

    kind: ClassVar[str] = "gram-matrix"
    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        longest = self.longest
        if not (math.isfinite(longest) and longest >= 2.0**-8):
            raise InvalidInputError(f"Expected l1-norm={self.l1_norm!r} to be at least 2^-8.")
        if self.bits < 4:
            raise InvalidInputError("The rows are too many or too long for exact sums of squares.")

    @property
    def n_features(self) -> int:
        return self.problem.n_features

    @property
    def longest(self) -> float:
        """r: the l1 norm that rows are scaled down to."""
        follows = math.sqrt(self.problem.n_features) * self.problem.row_norm * _UP
        return follows if self.l1_norm is None else min(self.l1_norm, follows)

    @property
    def l2_norm(self) -> float:
        """R: the l2 norm of a row at most."""
        return min(self.problem.row_norm, self.longest)

    @property
    def bits(self) -> int:
        """Rows and targets are in steps of ``2**-bits``."""
        problem = self.problem
        rows = problem.capacity if problem.n is None else problem.n
        largest = math.frexp(max(self.l2_norm, 1.0) ** 2)[1]
        # A block's sums below 2^53 steps, all rows' below 2^62.
        return min(
            Problem.FEATURE_BITS,
            (Table.BLOCK_SUM_BITS - largest) // 2,
            (61 - rows.bit_length() - largest) // 2,
        )

    @property
    def rows_that_fit(self) -> int | None:
        return self.problem.capacity if self.problem.n is None else None

    def start(self) -> np.ndarray:
        d = self.n_features
        return np.zeros(d * (d + 1) // 2 + d, dtype=np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        factor = block.factors_within(self.longest, block.row_norms("l1") * block.factor * _UP)
        rows = np.empty((block.n_rows, self.n_features + 1))
        np.multiply(block.rows(), factor[:, np.newaxis], out=rows[:, :-1])
        rows[:, -1] = bounded_labels(block)
        np.trunc(np.multiply(rows, 2.0**self.bits, out=rows), out=rows)
        whole = gram_sums(rows, self.n_features).astype(np.int64)
        upper = np.triu_indices(self.n_features)
        return np.concatenate([whole[:, :-1][upper], whole[:, -1]])

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        bound = (self.longest**2 + self.l2_norm**2) / 2 + self.longest
        bound *= relation.rows_changed * _UP
        return Sensitivity("l1", bound, relation, grid_bits=2 * self.bits)


def gram_sums(rows: np.ndarray, height: int, left: np.ndarray | None = None) -> np.ndarray:
    """Return the sums over rows of ``left[j] rows[k]``, j <= k: float64 of shape (height, width).
    Below the diagonal is nothing to be used.

    Parameters
    ----------
    rows : whole numbers, float64 of shape (n, width), whose sums of products are below 2^53.
    left : the same for the first factor, of that shape; ``None`` for ``rows``.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore_accuracy_first.queries.gram import gram_sums
    >>> np.triu(gram_sums(np.array([[1.0, 2.0], [3.0, 4.0]]), 2))
    array([[10., 14.],
           [ 0., 20.]])
    """
    width = rows.shape[1]
    columns = np.zeros((1 if left is None else 2, width + 3, _ROWS))
    sums = np.zeros((height + 1, width + 3))
    exact_gram_sums(rows if left is None else left, rows, columns, sums)
    return sums[:height, :width]


def unpack(answer: np.ndarray, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the symmetric matrix and the vector of an answer, float64.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore_accuracy_first.queries.gram import unpack
    >>> unpack(np.array([1.0, 2.0, 3.0, 7.0, 8.0]), 2)
    (array([[1., 2.],
           [2., 3.]]), array([7., 8.]))
    """
    upper, vector = answer[:-n_features], answer[-n_features:]
    return symmetric(upper, n_features), np.asarray(vector, dtype=np.float64)


def symmetric(upper: np.ndarray, n_features: int) -> np.ndarray:
    """Return the symmetric matrix of its upper triangle, given row by row: float64.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore_accuracy_first.queries.gram import symmetric
    >>> symmetric(np.array([1.0, 2.0, 3.0]), 2)
    array([[1., 2.],
           [2., 3.]])
    """
    matrix: np.ndarray = upper.astype(np.float64)[_places(n_features)]
    return matrix


@cached_by_value(maxsize=4)
def _places(n_features: int) -> np.ndarray:
    """Return for each cell of the matrix its place in the upper triangle's rows."""
    places = np.zeros((n_features, n_features), dtype=np.intp)
    rows, columns = np.triu_indices(n_features)
    places[rows, columns] = places[columns, rows] = np.arange(rows.size)
    places.flags.writeable = False
    return places

"""Sums of the rows' outer products, each with a weight of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.plugin import Problem, round_parameters
from dpcore.plugin.parts import (
    GridScale,
    Sensitivity,
    Table,
    constant,
    float_up,
    sealed,
    sqrt_up,
)
from dpcore_report.intervals.slopes import curvatures, largest_slope, slopes

if TYPE_CHECKING:
    from dpcore.plugin import NeighboringRelation
    from dpcore.plugin.parts import Block
    from dpcore_report.intervals.centring import Centring

__all__ = ["ON_DIAGONAL", "OVER_DIAGONAL", "By", "RowProducts", "matrix_of"]

By = Literal["slope", "curvature"]

ON_DIAGONAL, OVER_DIAGONAL = 5, 7
"""The factors of a matrix's entries in the answer: 7/5 is just below sqrt(2)."""
_LEAST_BITS = 4
_UP = 1.0 + 2.0**-40


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class RowProducts:
    """The upper triangle of ``sum_i v_i v_i^T``, row by row, its diagonal times 5 and the rest
    times 7. Here v_i = s_i x_i, where s_i is the size of the row's slope at ``w``, or the root of
    its curvature.

    Sensitivity. Let t(v) be a row's part, and B the bound of ||v||. For any u and v, <t(u), t(v)> =
    25 sum_j (u_j v_j)^2 + 49 sum_{j<k} u_j v_j u_k v_k = 24.5 (u.v)^2 + .5 sum_j (u_j v_j)^2. So
    ||t(v)||^2 <= 25 ||v||^4, and the l2 sensitivity is 5 B^2 under add-or-remove-one and
    replace-special. The product is never negative, so ||t(u) - t(v)||^2 <= ||t(u)||^2 + ||t(v)||^2,
    and under replace-one it is sqrt(2) 5 B^2. With factors of 1 and sqrt(2), to which 5 and 7 come
    close, this is the Frobenius norm of v v^T: an entry beside the diagonal has half of its
    variance. In l1 a part is 1.5 ||v||_2^2 + 3.5 ||v||_1^2 at most, with ||v||_1^2 <= d ||v||_2^2,
    and twice that under replace-one. All bounds are rounded up.

    Entries of v are rounded to ``2**-bits``, which B counts, and multiplied and added without
    rounding.

    Parameters
    ----------
    problem : public facts; its loss runs on raw rows.
    w : float64 of shape (n_features,), a released value, rounded to the parameters' grid.
    by : what a row's product is weighed by: ``"slope"``, squared, or ``"curvature"``.
    norm : of the sensitivity.
    noise_multiplier : the noise the answer will get, which bounds how fine the grid may be.
    centring : of the rows, with the bound of their norms; ``None`` leaves them as they are.
    """

    problem: Problem
    w: np.ndarray
    by: By
    norm: Literal["l1", "l2"] = "l2"
    noise_multiplier: float = 1.0
    centring: Centring | None = None

    kind: ClassVar[str] = "intervals"
    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        rounded = round_parameters(self.w, self.problem.raw_norm_bound)
        object.__setattr__(self, "w", constant(rounded))
        if not math.isfinite(self._longest) or self.bits < _LEAST_BITS:
            raise InvalidInputError("The rows are too many or too long for exact sums of products.")

    @property
    def _longest(self) -> float:
        """The bound of ||v|| before it is rounded to the grid."""
        problem, by_slope = self.problem, self.by == "slope"
        weight = self._largest_slope if by_slope else math.sqrt(problem.loss.smoothness)
        row_norm = problem.row_norm if self.centring is None else self.centring.row_norm
        return weight * row_norm * _UP

    @property
    def _largest_slope(self) -> float:
        return largest_slope(self.problem, self.w, self.centring)

    @property
    def bits(self) -> int:
        """Entries of v are in steps of ``2**-bits``."""
        problem = self.problem
        rows = problem.capacity if problem.n is None else problem.n
        largest = math.frexp(max(self._longest, 1.0) ** 2)[1] + 1
        # A block's sums below 2^53 steps, all rows' below 2^62, and 7 below 2^3.
        of_all = (61 - rows.bit_length() - largest - OVER_DIAGONAL.bit_length()) // 2
        noise = self.noise_multiplier * problem.rows_changed * self._factor
        below_noise = (GridScale.NOISE_BITS - 1 - largest - math.frexp(noise)[1]) // 2
        return min(Problem.FEATURE_BITS, (Table.BLOCK_SUM_BITS - largest) // 2, of_all, below_noise)

    @property
    def _factor(self) -> float:
        """The norm of a row's part over B^2, at most."""
        return 1.5 + 3.5 * self.problem.n_features if self.norm == "l1" else float(ON_DIAGONAL)

    @property
    def rows_that_fit(self) -> int | None:
        return self.problem.unsure_capacity

    def start(self) -> np.ndarray:
        d = self.problem.n_features
        return np.zeros(d * (d + 1) // 2, dtype=np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        asked = self.problem, self.w, block
        by_slope = self.by == "slope"
        weights = slopes(*asked, self._largest_slope) if by_slope else np.sqrt(curvatures(*asked))
        v = block.rows() if self.centring is None else self.centring.rows(block.rows())
        v *= weights[:, np.newaxis]
        np.rint(np.ldexp(v, self.bits, out=v), out=v)
        # Whole numbers whose partial sums are below 2^53: exact in any order of terms.
        products = (v.T @ v).astype(np.int64)
        factors = np.where(np.eye(v.shape[1], dtype=bool), ON_DIAGONAL, OVER_DIAGONAL)
        return np.asarray((products * factors)[np.triu_indices(v.shape[1])])

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        d = self.problem.n_features
        longest = self._longest + math.sqrt(d) * _UP * 2.0 ** -(self.bits + 1)
        rows = relation.rows_changed
        moved = float(rows) if self.norm == "l1" else float_up(sqrt_up(Fraction(rows)))
        bound = self._factor * longest * longest * moved * _UP
        return Sensitivity(self.norm, bound, relation, grid_bits=2 * self.bits)


def matrix_of(answer: np.ndarray, n_features: int) -> np.ndarray:
    """Return the symmetric matrix of a released triangle, float64."""
    whole = np.zeros((n_features, n_features))
    whole[np.triu_indices(n_features)] = answer
    whole = (whole + whole.T) / OVER_DIAGONAL
    np.fill_diagonal(whole, np.diag(whole) * OVER_DIAGONAL / (2 * ON_DIAGONAL))
    return whole

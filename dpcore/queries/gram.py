"""X^T X and X^T y as exact sums, and the squared-loss objective that follows from them."""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.data.blocks.row_norms import row_factors
from dpcore.errors import InvalidInputError
from dpcore.exact.compiled import njit
from dpcore.exact.grid import BLOCK_SUM_BITS, FEATURE_BITS
from dpcore.privacy.sealed import constant, sealed
from dpcore.privacy.sensitivity import Sensitivity
from dpcore.queries.ball import PublicBall, bounded_labels

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.data.blocks.block import Block
    from dpcore.noise.source import NoiseSource
    from dpcore.privacy.sensitivity import NeighboringRelation
    from dpcore.protocols.problem import Problem

__all__ = ["GramMatrix", "MinimumQuadratic", "QuadraticObjective", "unpack"]

_UP = 1.0 + 2.0**-40
_QUADRATIC_BITS = 24


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
        """Rows and targets stand on ``2**-bits``."""
        problem = self.problem
        rows = problem.capacity if problem.n is None else problem.n
        largest = math.frexp(max(self.l2_norm, 1.0) ** 2)[1]
        # A block's sums below 2^53 steps, all rows' below 2^62.
        return min(
            FEATURE_BITS,
            (BLOCK_SUM_BITS - largest) // 2,
            (61 - rows.bit_length() - largest) // 2,
        )

    @property
    def rows_that_fit(self) -> int | None:
        return self.problem.capacity if self.problem.n is None else None

    def start(self) -> np.ndarray:
        d = self.n_features
        return np.zeros(d * (d + 1) // 2 + d, dtype=np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        factor = row_factors(block.row_norms("l1") * block.factor * _UP, self.longest)
        rows = np.empty((block.n_rows, self.n_features + 1))
        np.multiply(block.rows(), factor[:, np.newaxis], out=rows[:, :-1])
        rows[:, -1] = bounded_labels(block)
        total = np.zeros((self.n_features, self.n_features + 1))
        gram_sums(rows, 2.0**self.bits, total)
        whole = total.astype(np.int64)
        upper = np.triu_indices(self.n_features)
        return np.concatenate([whole[:, :-1][upper], whole[:, -1]])

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        bound = (self.longest**2 + self.l2_norm**2) / 2 + self.longest
        bound *= relation.rows_changed * _UP
        return Sensitivity("l1", bound, relation, grid_bits=2 * self.bits)


@njit(cache=True, error_model="numpy", nogil=True)
def gram_sums(rows: np.ndarray, scale: float, out: np.ndarray) -> None:
    """Add each row's products to the upper triangle of ``out``, and with the last column, the
    targets, to its last; every entry is truncated to 1 / scale first, so that every sum is exact.

    ``rows`` : float64 of shape (n, d + 1), overwritten. ``out`` : float64 of shape (d, d + 1).
    """
    width = rows.shape[1]
    for i in range(rows.shape[0]):
        for j in range(width):
            rows[i, j] = np.trunc(rows[i, j] * scale)
    # Four rows at a time: a sum is then fetched and stored once for all of them.
    whole = rows.shape[0] - rows.shape[0] % 4
    for i in range(0, whole, 4):
        first, second, third, fourth = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        for j in range(width - 1):
            sums = out[j]
            a, b, c, d = first[j], second[j], third[j], fourth[j]
            for k in range(j, width):
                sums[k] += (a * first[k] + b * second[k]) + (c * third[k] + d * fourth[k])
    for i in range(whole, rows.shape[0]):
        for j in range(width - 1):
            for k in range(j, width):
                out[j, k] += rows[i, j] * rows[i, k]


def unpack(answer: np.ndarray, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the symmetric matrix and the vector of an answer, float64."""
    matrix = np.zeros((n_features, n_features))
    matrix[np.triu_indices(n_features)] = answer[:-n_features]
    return matrix + np.triu(matrix, 1).T, np.asarray(answer[-n_features:], dtype=np.float64)


@sealed
class _Quadratic:
    """The objective of squared loss less ``sum y^2 / 2``, which is alike for all ``w``, as
    w'(G + n l2)w / 2 - w'b from the sums of a GramMatrix.

    A row's part m^2/2 - y m of a margin |m| <= M lies in an interval of length (M + 1)^2 / 2. What
    float64 adds is at most ``error`` (Higham 2002, section 3.1; sum_ij |w_i G_ij w_j| <= n M^2 by
    row).
    """

    __slots__ = ()

    gram: GramMatrix
    problem: Problem
    ball: PublicBall

    kind: ClassVar[str] = "objective"

    def _require_public_rows(self) -> None:
        if self.problem.n is None:
            raise InvalidInputError("The objective needs a public number of rows: replace-one.")

    @property
    def mu(self) -> float:
        return (self.problem.n or 0) * self.problem.l2

    @property
    def curvature(self) -> float:
        return (self.problem.n or 0) * self.gram.l2_norm**2 + self.mu

    @property
    def spread(self) -> float:
        """The length of the interval of a row's part."""
        return (self._margin() + 1) ** 2 / 2 * _UP

    @property
    def error(self) -> float:
        return 8 * (self.problem.n_features + 8) * 2.0**-53 * self._size()

    @property
    def bits(self) -> int:
        """The objective stands on ``2**-bits``."""
        return min(_QUADRATIC_BITS, 61 - math.frexp(self._size())[1])

    def _margin(self) -> float:
        return self.ball.radius * self.gram.l2_norm * _UP

    def _size(self) -> float:
        margin = self._margin()
        return (self.problem.n or 0) * (margin**2 + 2 * margin) + self.mu * self.ball.radius**2

    def at(self, w: np.ndarray, matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
        value = w @ (0.5 * (matrix @ w) - vector) + 0.5 * self.mu * (w @ w)
        return np.array([round(math.ldexp(float(value), self.bits))], dtype=np.int64)

    def sums(self, ask: Callable[[Any], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        matrix, vector = unpack(ask(self.gram), self.gram.n_features)
        scale = 2.0 ** (-2 * self.gram.bits)
        return matrix * scale, vector * scale

    def bound(self, gap: float, relation: NeighboringRelation) -> Sensitivity:
        """Return the sensitivity under replace-one: the interval's length, float64's error on
        either side, and what rounding to the grid and ``gap`` add."""
        if not relation.size_is_public:
            raise InvalidInputError("The objective's sensitivity is known under replace-one.")
        bound = (self.spread + 2 * self.error + gap + 2.0**-self.bits) * _UP
        return Sensitivity("l1", bound, relation, grid_bits=self.bits)


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class QuadraticObjective(_Quadratic):
    """The objective at a released ``w``, brought into the ball; no pass over the rows."""

    gram: GramMatrix
    problem: Problem
    ball: PublicBall
    w: np.ndarray

    def __post_init__(self) -> None:
        self._require_public_rows()
        object.__setattr__(self, "w", constant(self.w))

    def derive(self, ask: Callable[[Any], np.ndarray], noise: NoiseSource) -> np.ndarray:
        return self.at(self.ball.project(self.w), *self.sums(ask))

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        return self.bound(0.0, relation)


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class MinimumQuadratic(_Quadratic):
    """The least objective. Cholesky's solution has a residual of at most 8 d^3 2^-53 times the norm
    of the matrix times its own (Higham 2002, Theorem 10.4), on every table: ``gap`` is that of the
    objective, residual^2 / (2 mu)."""

    gram: GramMatrix
    problem: Problem
    ball: PublicBall

    def __post_init__(self) -> None:
        self._require_public_rows()
        self._require_ball()
        importlib.import_module("scipy.linalg")  # which ``derive`` needs, after the charge

    def _require_ball(self) -> None:
        if self.ball.radius < PublicBall.of(self.problem).radius:
            raise InvalidInputError("The ball of a minimum is that of its own problem, or larger.")

    @property
    def gap(self) -> float:
        d = self.problem.n_features
        residual = 8 * d**3 * 2.0**-53 * self.curvature * self.ball.radius
        return residual**2 / (2 * self.mu)

    def derive(self, ask: Callable[[Any], np.ndarray], noise: NoiseSource) -> np.ndarray:
        from scipy.linalg import cho_factor, cho_solve

        matrix, vector = self.sums(ask)
        whole = matrix + self.mu * np.eye(vector.size)
        return self.at(cho_solve(cho_factor(whole), vector), matrix, vector)

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        self._require_ball()
        return self.bound(self.gap, relation)

"""The squared-loss objective and its minimum, from the sums of a Gram matrix."""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError, RowCount, ordered_dot, ordered_norm
from dpcore.plugin.parts import LossFacts, Sensitivity, constant, sealed
from dpcore_accuracy_first.objectives.public_ball import PublicBall, penalty_of
from dpcore_accuracy_first.objectives.radial_penalty import (
    public_rows,
    require_relation,
    rows_at_most,
)
from dpcore_accuracy_first.queries.gram import GramMatrix, unpack
from dpcore_baselines.queries.descent import load_descent, minimize

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin import NeighboringRelation, Problem
    from dpcore.plugin.parts import NoiseSource

__all__ = ["MinimumQuadratic", "QuadraticObjective"]

_UP = 1.0 + 2.0**-40
_QUADRATIC_BITS = 24
_DEPTH = 2.0**-12
"""The share of a row's part that the minimiser leaves, where n is private."""


@sealed
class _Quadratic:
    """The objective of squared loss less ``sum y^2 / 2``, which is alike for all ``w``, as
    w'(G + n l2)w / 2 - w'b from the sums of a GramMatrix.

    A row's part m^2/2 - y m of a margin |m| <= M lies in [-1/2, M^2/2 + M]: (M + 1)^2 / 2 long.
    What float64 adds is at most ``error`` (Higham 2002, section 3.1; sum_ij |w_i G_ij w_j| <= n M^2
    by row), up to twice the ball's radius.

    Where n is private, l2 is that of n0 rows, the penalty is a term of the objective, and ``less``
    is subtracted for each row, as in ``ObjectiveSum``; ``error`` is for up to ``most_rows``.
    """

    __slots__ = ()

    gram: GramMatrix
    problem: Problem
    ball: PublicBall

    kind: ClassVar[str] = "objective"

    def _require_parts(self) -> None:
        """Raise InvalidInputError for another loss than the squared one, from which the ball and
        the interval of a row's part follow, and for other parts than a GramMatrix and a ball."""
        require_relation(self.problem, self.problem.relation)
        if not LossFacts.of(self.problem.loss).quadratic:
            raise InvalidInputError("A quadratic objective is that of squared loss alone.")
        if not (isinstance(self.gram, GramMatrix) and isinstance(self.ball, PublicBall)):
            raise InvalidInputError("Expected a GramMatrix and a PublicBall.")

    @property
    def less(self) -> float:
        """A value that is subtracted for each row."""
        return self.middle

    @property
    def middle(self) -> float:
        """The middle of the interval of a row's part where n is private, else 0."""
        return self.spread / 2 - 0.5 if self.problem.n is None else 0.0

    @property
    def most_rows(self) -> int | None:
        # Beyond what the grid of the products is for, they wrap around and are of no table.
        fits = self.gram.rows_that_fit
        return None if fits is None else min(fits, rows_at_most(self.problem))

    @property
    def mu(self) -> float:
        return public_rows(self.problem) * self.problem.l2

    @property
    def curvature(self) -> float:
        return rows_at_most(self.problem) * self.gram.l2_norm**2 + self.mu

    @property
    def spread(self) -> float:
        """The length of the interval of a row's part."""
        return (self._margin() + 1) ** 2 / 2 * _UP

    @property
    def error(self) -> float:
        d = self.problem.n_features
        penalty = penalty_of(self.problem).value_error(d) if self.problem.n is None else 0.0
        return 8 * (d + 8) * 2.0**-53 * self._size() + penalty

    @property
    def bits(self) -> int:
        """The objective is in steps of ``2**-bits``."""
        return min(_QUADRATIC_BITS, 61 - math.frexp(self._size())[1])

    def _margin(self) -> float:
        return self.ball.radius * self.gram.l2_norm * _UP

    def _size(self) -> float:
        margin = self._margin()
        # The most that is subtracted for each row, alike for both that an excess is made of.
        less = self.middle + self.spread if self.problem.n is None else 0.0
        rows = rows_at_most(self.problem) * (margin**2 + 2 * margin + less)
        if self.problem.n is None:
            rows += penalty_of(self.problem).value(np.array([self.ball.radius]))
        return rows + self.mu * self.ball.radius**2

    def at(self, w: np.ndarray, matrix: np.ndarray, vector: np.ndarray, rows: int) -> np.ndarray:
        value = float(ordered_dot(w, 0.5 * ordered_dot(matrix, w) - vector))
        value += 0.5 * self.mu * float(ordered_dot(w, w))
        if self.problem.n is None:
            value += penalty_of(self.problem).value(w) - rows * self.less
        # Nothing is clipped for up to ``most_rows``; beyond, an answer is a number all the same.
        steps = min(max(round(math.ldexp(value, self.bits)), -(2**62)), 2**62)
        return np.array([steps], dtype=np.int64)

    def sums(self, ask: Callable[[Any], np.ndarray]) -> tuple[np.ndarray, np.ndarray, int]:
        """Return X'X, X'y and the number of rows."""
        matrix, vector = unpack(ask(self.gram), self.gram.n_features)
        scale, n = 2.0 ** (-2 * self.gram.bits), self.problem.n
        rows = n if n is not None else int(ask(RowCount())[0])
        return matrix * scale, vector * scale, rows

    def bound(self, gap: float, relation: NeighboringRelation) -> Sensitivity:
        """Return the sensitivity: the interval's length, or its end that is farthest from ``less``
        where a row is added, float64's error on either side, and what rounding to the grid and
        ``gap`` add."""
        require_relation(self.problem, relation)
        moved = self.spread
        if self.problem.n is None:
            moved = max(self.spread - 0.5 - self.less, self.less + 0.5) * _UP
        bound = (moved + 2 * self.error + gap + 2.0**-self.bits) * _UP
        return Sensitivity("l1", bound, relation, grid_bits=self.bits)


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class QuadraticObjective(_Quadratic):
    """The objective at a released ``w``, brought into the ball; no pass over the rows. ``excess`` :
    subtracted for each row beside the middle, where n is private; from 0 to ``spread``."""

    gram: GramMatrix
    problem: Problem
    ball: PublicBall
    w: np.ndarray
    excess: float = 0.0

    @property
    def less(self) -> float:
        return self.middle + self.excess

    def __post_init__(self) -> None:
        self._require_parts()
        most = self.spread if self.problem.n is None else 0.0
        if not 0 <= self.excess <= most:
            raise InvalidInputError(f"Expected excess={self.excess!r} to be from 0 to {most:g}.")
        w = constant(self.w)
        if w.shape != self.problem.w_shape or not math.isfinite(ordered_norm(w)):
            raise InvalidInputError(
                f"Expected w of a finite norm, of shape {self.problem.w_shape}."
            )
        object.__setattr__(self, "w", w)

    def derive(self, ask: Callable[[Any], np.ndarray], noise: NoiseSource) -> np.ndarray:
        return self.at(self.ball.project(self.w), *self.sums(ask))

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        return self.bound(0.0, relation)


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class MinimumQuadratic(_Quadratic):
    """The least objective. Cholesky's solution has a residual of at most 8 d^3 2^-53 times the norm
    of the matrix times its own (Higham 2002, Theorem 10.4), on every table: ``gap`` is that of the
    objective, residual^2 / (2 mu).

    Where n is private, the objective with its penalty is not a quadratic; it is minimised by its
    gradients (``dpcore_baselines.queries.descent``), to a tolerance that follows from public facts
    and from what float64 adds to a gradient. The minimum then moves by a row's part at one of the
    two minimisers at most, at the other at least, both in the ball."""

    gram: GramMatrix
    problem: Problem
    ball: PublicBall

    def __post_init__(self) -> None:
        self._require_parts()
        self._require_ball()
        importlib.import_module("scipy.linalg")  # which ``derive`` needs, after the charge
        load_descent()

    def _require_ball(self) -> None:
        if self.ball.radius < PublicBall.of(self.problem).radius:
            raise InvalidInputError("The ball of a minimum is that of its own problem, or larger.")

    @property
    def gap(self) -> float:
        d = self.problem.n_features
        if self.problem.n is None:
            return (self._tolerance() + self._slope_error()) ** 2 / (2 * self.mu) * _UP
        residual = 8 * d**3 * 2.0**-53 * self.curvature * self.ball.radius
        return residual**2 / (2 * self.mu)

    def derive(self, ask: Callable[[Any], np.ndarray], noise: NoiseSource) -> np.ndarray:
        from scipy.linalg import cho_factor, cho_solve

        matrix, vector, rows = self.sums(ask)
        if self.problem.n is None:
            return self.at(self._within(matrix, vector, rows), matrix, vector, rows)
        whole = matrix + self.mu * np.eye(vector.size)
        return self.at(cho_solve(cho_factor(whole), vector), matrix, vector, rows)

    def _slope_error(self) -> float:
        """Return a bound of the l2 error of a gradient, up to twice the radius: products of d terms
        (Higham 2002, section 3.1; the norm of the moduli of X'X is at most n R^2)."""
        d, longest = self.problem.n_features, 2 * self.ball.radius
        largest = self.curvature * longest + rows_at_most(self.problem) * self.gram.l2_norm
        penalty = penalty_of(self.problem).error(d)
        return (d + 16) * 2.0**-51 * largest + penalty

    def _tolerance(self) -> float:
        return 4 * self._slope_error() + math.sqrt(2 * _DEPTH * self.spread * self.mu)

    def _within(self, matrix: np.ndarray, vector: np.ndarray, rows: int) -> np.ndarray:
        """Return a point whose gradient is at most the tolerance."""
        penalty = penalty_of(self.problem)

        def gradient(w: np.ndarray) -> np.ndarray:
            return ordered_dot(matrix, w) - vector + self.mu * w + penalty.slope(w)

        # All points that it may come to have a value of at most that at 0, or at a point of a
        # smaller gradient; up to rows / 2 above what a row's part is at least.
        most = rows + (rows * self.gram.l2_norm) ** 2 / (2 * self.mu)
        bends = rows * self.gram.l2_norm**2 + self.mu + penalty.stiffness_at(most)
        return minimize(
            gradient,
            np.asarray,
            np.zeros(vector.size),
            curvature=bends * _UP,
            mu=self.mu,
            radius=self.ball.radius,
            tolerance=self._tolerance(),
        )

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        self._require_ball()
        return self.bound(self.gap, relation)

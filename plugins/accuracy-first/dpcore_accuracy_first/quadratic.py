"""The squared-loss objective and its minimum, from the sums of a Gram matrix."""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import Sensitivity, constant, sealed
from dpcore_accuracy_first.gram import unpack
from dpcore_accuracy_first.public_ball import PublicBall

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin import NeighboringRelation, Problem
    from dpcore.plugin.parts import NoiseSource
    from dpcore_accuracy_first.gram import GramMatrix

__all__ = ["MinimumQuadratic", "QuadraticObjective"]

_UP = 1.0 + 2.0**-40
_QUADRATIC_BITS = 24


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

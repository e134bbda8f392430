"""The exact minimiser of the regularised objective, and the objective there."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.grid import PARAMETER_BITS, round_parameters, round_to
from dpcore.queries.ball import PublicBall
from dpcore.queries.descent import minimize
from dpcore.queries.gradient_sum import (
    FINE_BITS,
    LOSS_ERROR,
    GradientSum,
    gradient_bits,
    gradient_error,
)
from dpcore.queries.loss_sum import ObjectiveSum, objective_bits
from dpcore.sensitivity import NeighboringRelation, Sensitivity

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.noise.source import NoiseSource
    from dpcore.problem import Problem

__all__ = ["MinimumObjective", "Minimizer"]

_UP = 1.0 + 2.0**-40
_TOLERANCE = 0.005
"""The gradient at the end, relative to the largest gradient of a row."""
_DEPTH = 0.002


class Minimizer:
    """argmin of ``sum_i loss(x_i.w, y_i) + (n l2 / 2) ||w||^2``, to a certified distance.

    Sensitivity under replace-one (Chaudhuri, Monteleoni & Sarwate 2011, Lemma 7 with Corollary 8):
    the objective is n l2-strongly convex, and at the other table's minimiser its gradient is the
    difference of two rows' gradients, of norm at most 2 G, G = slope * row_norm; so minimisers are
    2 G / (n l2) apart in l2. The slope is the loss's Lipschitz constant, or for squared loss its
    bound on the ball that holds the minimiser. A point whose gradient is at most g is within
    g / (n l2) of the minimiser, which counts twice; it stands on the grid of 2^-44 at which that
    gradient was taken, and a coarser answer adds one step for each coordinate. In l1 the bound of
    the minimisers is sqrt(d) times larger.

    The solver stops at a gradient of ``tolerance`` G, and by public constants it reaches it
    (``dpcore.queries.descent``), so that it neither refuses nor gives up on any table.

    Parameters
    ----------
    problem : public facts; replace-one, l2 > 0, a smooth loss.
    grid_bits : the answer is in steps of ``2**-grid_bits``.

    Raises InvalidInputError for a problem without one of these.
    """

    kind: ClassVar[str] = "minimizer"

    def __init__(self, problem: Problem, grid_bits: int = FINE_BITS) -> None:
        if problem.n is None:
            raise InvalidInputError(
                "The exact minimiser has a known sensitivity under replace-one, where the number "
                "of rows is public."
            )
        if not math.isfinite(problem.loss.smoothness):
            raise InvalidInputError(f"The loss {problem.loss.name} is not smooth.")
        if not 8 <= grid_bits <= 52:
            raise InvalidInputError(f"Expected 8 <= grid_bits={grid_bits!r} <= 52.")
        self.problem = problem
        self.loss = problem.loss
        self.grid_bits = grid_bits
        inner = PublicBall.of(problem)
        self._mu = problem.n * problem.l2
        self._row_gradient = inner.slope * problem.row_norm * _UP
        self.curvature = (
            problem.n * problem.loss.smoothness * problem.row_norm**2 + self._mu
        ) * _UP
        rounding = math.sqrt(problem.n_features) * self.curvature * 2.0**-PARAMETER_BITS
        self._coarse = 64 * rounding
        self._slope = 2 * inner.slope + 1.0
        self._error = gradient_error(problem, problem.n, self._slope)
        fine = rounding * 2.0 ** (PARAMETER_BITS - FINE_BITS)
        # So small, too, that the objective there is next to its minimum, in terms of a row's loss.
        depth = self._mu * math.sqrt(2 * _DEPTH * inner.spread / self.curvature)
        wanted = min(_TOLERANCE * self._row_gradient, depth)
        self._tolerance = wanted + 4 * (self._error + fine)
        self._radius = inner.radius
        self.gap = (self._tolerance + self._error) / self._mu * _UP
        # Where the objective is taken, on the grid of released parameters, is in the ball as well.
        grid = math.sqrt(problem.n_features) * 2.0 ** -(min(PARAMETER_BITS, grid_bits) - 1)
        self.ball = PublicBall.of(problem, slack=self.gap + grid)

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        if relation is not NeighboringRelation.REPLACE_ONE:
            raise InvalidInputError("The minimiser's sensitivity is known under replace-one.")
        l2 = 2 * (self._row_gradient / self._mu + self.gap)
        l1 = math.sqrt(self.problem.n_features) * l2 * _UP
        if self.grid_bits < FINE_BITS:
            l1 += self.problem.n_features * 2.0**-self.grid_bits
        return Sensitivity("l1", l1, relation, grid_bits=self.grid_bits)

    def derive(self, ask: Callable[[Any], np.ndarray], noise: NoiseSource) -> np.ndarray:
        problem = self.problem
        bits = gradient_bits(problem, problem.n or 1, self._slope)
        far = True

        def gradient(w: np.ndarray) -> np.ndarray:
            nonlocal far
            total = ask(GradientSum(problem, w, bits))
            whole = np.ldexp(total.astype(np.float64), -bits) + self._mu * w
            far = bool(np.linalg.norm(whole) > self._coarse)
            return whole

        def rounded(w: np.ndarray) -> np.ndarray:
            # Far from the minimum the coarse grid does, and saves half of the products.
            return round_parameters(w, problem.raw_norm_bound) if far else round_to(w, FINE_BITS)

        w = minimize(
            gradient,
            rounded,
            np.zeros(problem.n_features),
            curvature=self.curvature,
            mu=self._mu,
            radius=self._radius,
            tolerance=self._tolerance,
        )
        return np.rint(np.ldexp(w, self.grid_bits)).astype(np.int64)


class MinimumObjective:
    """The objective at the minimiser: what an excess risk is counted from.

    With low <= loss <= high on the public ball that holds both tables' minimisers, the minimum
    moves by at most ``high - low`` under replace-one: at either minimiser two rows' losses differ
    by that at most. What is computed lies in an interval of length ``gap`` about the real value:
    curvature / 2 times the squared distance of the point above it, and for each row a grid step
    below it and twice a loss's error; the public part is rounded.

    Parameters
    ----------
    minimizer : asked for as it is, so that it is worked out once.
    """

    kind: ClassVar[str] = "objective"

    def __init__(self, minimizer: Minimizer) -> None:
        self.minimizer = minimizer
        self.loss = minimizer.loss
        problem, ball = minimizer.problem, minimizer.ball
        self.bits = objective_bits(problem, ball)
        n = problem.n or 0
        public = n * (problem.l2 * ball.radius**2 + ball.high) * 2.0**-48
        steps = n * (2.0**-self.bits + 2 * LOSS_ERROR) + 2.0**-self.bits + public
        # The objective is taken on the grid of released parameters, 2^-24, of a point on the
        # minimiser's own grid: half a step of each, at most this.
        bits = min(PARAMETER_BITS, minimizer.grid_bits)
        away = minimizer.gap + math.sqrt(problem.n_features) * 2.0 ** -(bits - 1)
        self.gap = minimizer.curvature / 2 * away**2 * _UP + steps

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        if relation is not NeighboringRelation.REPLACE_ONE:
            raise InvalidInputError("The minimum's sensitivity is known under replace-one.")
        bound = (self.minimizer.ball.spread + self.gap) * _UP
        return Sensitivity("l1", bound, relation, grid_bits=self.bits)

    def derive(self, ask: Callable[[Any], np.ndarray], noise: NoiseSource) -> np.ndarray:
        minimizer = self.minimizer
        w = np.ldexp(ask(minimizer).astype(np.float64), -minimizer.grid_bits)
        return ask(ObjectiveSum(minimizer.problem, w, minimizer.ball))

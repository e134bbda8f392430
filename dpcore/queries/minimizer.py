"""The exact minimiser of the regularised objective, and the objective there."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.grid import PARAMETER_BITS, round_parameters, round_to
from dpcore.queries.ball import PublicBall
from dpcore.queries.count import RowCount
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
    """argmin of ``sum_i loss(x_i.w, y_i) + (N l2 / 2) ||w||^2``, to a certified distance.

    N is the public number of rows, or n0 where that is private. Sensitivity (Chaudhuri, Monteleoni
    & Sarwate 2011, Lemma 7 with Corollary 8): the objective is N l2-strongly convex, and at the
    other table's minimiser its gradient is the difference of two rows' gradients, of norm at most
    2 G, or one row's, of norm at most G = slope * row_norm; so minimisers are 2 G / (N l2) apart in
    l2 under replace-one and G / (N l2) under add-or-remove-one, where N does not depend on the
    table. The slope is the loss's Lipschitz constant, or, where the number of rows is public, its
    bound on the ball that holds the minimiser. A point whose gradient is at most g is within
    g / (N l2) of the minimiser, which counts twice; it stands on the grid of 2^-44 at which that
    gradient was taken, and a coarser answer adds one step for each coordinate. In l1 the bound of
    the minimisers is sqrt(d) times larger.

    The solver stops at a gradient of ``tolerance`` G, and by public constants it reaches it
    (``dpcore.queries.descent``), so that it neither refuses nor gives up on any table.

    Where the number of rows is private, what rounding can add to a gradient is bounded for
    tables of up to ``capacity`` rows: that figure is part of the promise there.

    Parameters
    ----------
    problem : public facts; l2 > 0, a smooth loss, a public figure for the number of rows.
    grid_bits : the answer is in steps of ``2**-grid_bits``.
    norm : in which the sensitivity is stated, ``"l1"`` or ``"l2"``.

    Raises InvalidInputError for a problem without one of these.
    """

    kind: ClassVar[str] = "minimizer"

    def __init__(
        self, problem: Problem, grid_bits: int = FINE_BITS, norm: Literal["l1", "l2"] = "l1"
    ) -> None:
        if problem.n_public is None:
            raise InvalidInputError(
                "The exact minimiser has a known sensitivity where there is a public figure for "
                "the number of rows: under replace-one, or with rows = ... in the schema."
            )
        if not math.isfinite(problem.loss.smoothness):
            raise InvalidInputError(f"The loss {problem.loss.name} is not smooth.")
        if problem.n is None and not math.isfinite(problem.loss.lipschitz):
            raise InvalidInputError(
                f"The slope of the loss {problem.loss.name} has a public bound under replace-one "
                "only."
            )
        if not 8 <= grid_bits <= 52:
            raise InvalidInputError(f"Expected 8 <= grid_bits={grid_bits!r} <= 52.")
        self.problem = problem
        self.loss = problem.loss
        self.grid_bits = grid_bits
        self.norm = norm
        rows = problem.capacity if problem.n is None else problem.n
        self._mu = problem.n_public * problem.l2
        # Its largest ball is that of the most rows.
        most = replace(problem, l2=self._mu / rows) if problem.n is None else problem
        inner = PublicBall.of(most)
        self._row_gradient = inner.slope * problem.row_norm * _UP
        self.curvature = self._curvature(rows)
        rounding = math.sqrt(problem.n_features) * self.curvature * 2.0**-PARAMETER_BITS
        self._coarse = 64 * rounding
        self._slope = 2 * inner.slope + 1.0
        self._bits = gradient_bits(problem, rows, self._slope)
        self._error = gradient_error(problem, rows, self._slope, precise=problem.n is None)
        fine = rounding * 2.0 ** (PARAMETER_BITS - FINE_BITS)
        wanted = _TOLERANCE * self._row_gradient
        if problem.n is not None:
            # So small that the objective there is next to its minimum, in terms of a row's loss.
            depth = self._mu * math.sqrt(2 * _DEPTH * inner.spread / self.curvature)
            wanted = min(wanted, depth)
        self._tolerance = wanted + 4 * (self._error + fine)
        self._radius = inner.radius
        self.gap = (self._tolerance + self._error) / self._mu * _UP
        # Where the objective is taken, on the grid of released parameters, is in the ball as well.
        grid = math.sqrt(problem.n_features) * 2.0 ** -(min(PARAMETER_BITS, grid_bits) - 1)
        self.ball = PublicBall.of(most, slack=self.gap + grid)

    def _curvature(self, rows: int) -> float:
        problem = self.problem
        return (rows * problem.loss.smoothness * problem.row_norm**2 + self._mu) * _UP

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        if relation is not self.problem.relation:
            raise InvalidInputError(
                f"The minimiser's sensitivity was worked out under {self.problem.relation.value}."
            )
        l2 = relation.rows_changed * self._row_gradient / self._mu + 2 * self.gap
        coarse = self.grid_bits < FINE_BITS
        width = self.problem.n_features
        if self.norm == "l2":
            bound = l2 * _UP + (math.sqrt(width) * _UP * 2.0**-self.grid_bits if coarse else 0.0)
            return Sensitivity("l2", bound * _UP, relation, grid_bits=self.grid_bits)
        l1 = math.sqrt(width) * l2 * _UP
        if coarse:
            l1 += width * 2.0**-self.grid_bits
        return Sensitivity("l1", l1, relation, grid_bits=self.grid_bits)

    def derive(self, ask: Callable[[Any], np.ndarray], noise: NoiseSource) -> np.ndarray:
        problem = self.problem
        curvature, far = self.curvature, True
        if problem.n is None:
            # Seen by the solver alone; the certificate is the same for every number of rows.
            curvature = self._curvature(int(ask(RowCount())[0]))

        def gradient(w: np.ndarray) -> np.ndarray:
            nonlocal far
            total = ask(GradientSum(problem, w, self._bits, precise=problem.n is None))
            whole = np.ldexp(total.astype(np.float64), -self._bits) + self._mu * w
            far = bool(np.linalg.norm(whole) > self._coarse)
            return whole

        def rounded(w: np.ndarray) -> np.ndarray:
            # Far from the minimum the coarse grid does, and saves half of the products.
            return round_parameters(w, problem.raw_norm_bound) if far else round_to(w, FINE_BITS)

        w = minimize(
            gradient,
            rounded,
            np.zeros(problem.n_features),
            curvature=curvature,
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

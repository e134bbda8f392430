"""The exact minimiser of the regularised objective, and the objective there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.plugin import Problem, RowCount, ordered_norm, round_parameters, round_to
from dpcore.plugin.parts import Sensitivity, sealed
from dpcore_accuracy_first.objectives.loss_sum import ObjectiveSum, objective_bits
from dpcore_accuracy_first.objectives.public_ball import PublicBall, penalty_of
from dpcore_accuracy_first.objectives.radial_penalty import (
    public_rows,
    require_relation,
    rows_at_most,
)
from dpcore_baselines.queries.descent import minimize
from dpcore_baselines.queries.gradient_sum import (
    GradientSum,
    dry_run_gradient,
    gradient_bits,
    gradient_error,
    loss_error,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin import Loss, NeighboringRelation
    from dpcore.plugin.parts import NoiseSource

__all__ = ["MinimumObjective", "Minimizer"]

_UP = 1.0 + 2.0**-40
_TOLERANCE = 0.005
"""The gradient at the end, relative to the largest gradient of a row."""
_DEPTH = 0.002


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class Minimizer:
    """argmin of ``sum_i loss(x_i.w, y_i) + (n l2 / 2) ||w||^2``, to a certified distance.

    Sensitivity under replace-one (Chaudhuri, Monteleoni & Sarwate 2011, Lemma 7 with Corollary 8):
    the objective is n l2-strongly convex, and at the other table's minimiser its gradient is the
    difference of two rows' gradients, of norm at most 2 G, G = slope * row_norm; so minimisers are
    2 G / (n l2) apart in l2. The slope is the loss's Lipschitz constant, or for squared loss its
    bound on the ball that holds the minimiser. A point whose gradient is at most g is within
    g / (n l2) of the minimiser, which counts twice; it is on the fine grid at which that
    gradient was taken, and a coarser answer adds one step for each coordinate. In l1 the bound of
    the minimisers is sqrt(d) times larger.

    Of K classes, w is a matrix of K rows and its norm that of all D = K d numbers (Frobenius). The
    lemma asks for strong convexity and for gradients in a norm, and for nothing of margins: a row's
    gradient is the outer product of its slopes and x, of norm ||slopes|| ||x|| <= lipschitz
    row_norm, the loss's lipschitz being in l2 (softmax: ||p - e_y|| <= sqrt(2), and not 1); its
    Hessian is at most smoothness row_norm^2. So G, the curvature and all else are as above, with D
    for d; the answer is the matrix laid flat, row by row.

    Under add-or-remove-one n is private: the objective is ``sum of losses + (n0 l2 / 2) ||w||^2``
    with a public n0, and a public term (``dpcore_accuracy_first.objectives.radial_penalty``) that
    keeps the minimiser in the ball. At the other minimiser the gradient is that of one row:
    minimisers are G / (n0 l2) apart. What rounding adds to a gradient is bounded for tables of up
    to ``most_rows``, which is part of the promise there.

    The solver stops at a gradient of ``tolerance`` G, and by public constants it reaches it
    (``dpcore_baselines.queries.descent``), so that it neither refuses nor gives up on any table.

    Parameters
    ----------
    problem : public facts; l2 > 0, a smooth loss.
    grid_bits : the answer is in steps of ``2**-grid_bits``.
    slack : by how much ``ball`` is larger than need be, for tests on a larger one.

    Raises InvalidInputError for a problem without one of these.
    """

    problem: Problem
    grid_bits: int = Problem.FINE_BITS
    slack: float = 0.0

    kind: ClassVar[str] = "minimizer"

    def __post_init__(self) -> None:
        problem = self.problem
        require_relation(problem, problem.relation)
        if not math.isfinite(problem.loss.smoothness):
            raise InvalidInputError(f"The loss {problem.loss.name} is not smooth.")
        if not 8 <= self.grid_bits <= 52:
            raise InvalidInputError(f"Expected 8 <= grid_bits={self.grid_bits!r} <= 52.")
        if not (math.isfinite(self.slack) and self.slack >= 0):
            raise InvalidInputError(f"Expected slack={self.slack!r} to be finite and >= 0.")
        _Certificate.of(self)

    @property
    def loss(self) -> Loss:
        return self.problem.loss

    @property
    def curvature(self) -> float:
        """The Lipschitz constant of the objective's gradient."""
        return _Certificate.of(self).curvature

    @property
    def gap(self) -> float:
        """How far what is found can be from the minimiser, in l2."""
        return _Certificate.of(self).gap

    @property
    def ball(self) -> PublicBall:
        """The public ball that holds the minimiser, and what is found."""
        return _Certificate.of(self).ball

    def moves(self, relation: NeighboringRelation) -> float:
        """Return how far apart two neighbours' answers are in l2, before a coarser grid."""
        require_relation(self.problem, relation)
        known = _Certificate.of(self)
        apart = relation.rows_changed / 2 * (known.row_gradient / known.mu)
        return 2 * (apart + known.gap)

    @property
    def most_rows(self) -> int | None:
        return rows_at_most(self.problem) if self.problem.n is None else None

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        l2, size = self.moves(relation), math.prod(self.problem.w_shape)
        l1 = math.sqrt(size) * l2 * _UP
        if self.grid_bits < Problem.FINE_BITS:
            l1 += size * 2.0**-self.grid_bits
        return Sensitivity("l1", l1, relation, grid_bits=self.grid_bits)

    def dry_run_queries(self) -> tuple[GradientSum]:
        return (dry_run_gradient(self.problem),)

    def derive(self, ask: Callable[[Any], np.ndarray], noise: NoiseSource) -> np.ndarray:
        problem, known, far = self.problem, _Certificate.of(self), True
        bits = gradient_bits(problem, rows_at_most(problem), known.slope)
        penalty, curvature = penalty_of(problem), known.curvature
        if problem.n is None:
            # For the solver alone: the certificate is the same for every number of rows.
            rows = int(ask(RowCount())[0])
            # All points that it may come to have an objective of at most that at 0, or at a point
            # of a smaller gradient.
            most = rows * known.ball.high + (rows * known.row_gradient) ** 2 / (2 * known.mu)
            curvature = _curvature(problem, rows, known.mu + penalty.stiffness_at(most))

        def gradient(w: np.ndarray) -> np.ndarray:
            nonlocal far
            total = ask(GradientSum(problem, w.reshape(problem.w_shape), bits)).reshape(-1)
            whole = np.ldexp(total.astype(np.float64), -bits) + known.mu * w
            if penalty.force:
                whole += penalty.slope(w)
            far = ordered_norm(whole) > known.coarse
            return whole

        def rounded(w: np.ndarray, fine: int = Problem.FINE_BITS) -> np.ndarray:
            # Far from the minimum the coarse grid does, and saves half of the products.
            return round_parameters(w, problem.raw_norm_bound) if far else round_to(w, fine)

        w = minimize(
            gradient,
            rounded,
            np.zeros(math.prod(problem.w_shape)),
            curvature=curvature,
            mu=known.mu,
            radius=known.radius,
            tolerance=known.tolerance,
        )
        steps: np.ndarray = np.rint(np.ldexp(w, self.grid_bits)).astype(np.int64)
        return steps


@dataclass(frozen=True, slots=True)
class _Certificate:
    """The values that follow from the public facts of a minimiser, worked out whenever they are
    asked for, so that what is claimed and what is answered cannot be those of different facts."""

    mu: float
    row_gradient: float
    curvature: float
    coarse: float
    slope: float
    tolerance: float
    radius: float
    gap: float
    ball: PublicBall

    @classmethod
    def of(cls, minimizer: Minimizer) -> _Certificate:
        problem, n = minimizer.problem, rows_at_most(minimizer.problem)
        inner, penalty = PublicBall.of(problem), penalty_of(problem)
        mu = public_rows(problem) * problem.l2
        penalty_error = penalty.error(math.prod(problem.w_shape))
        row_gradient = inner.slope * problem.row_norm * _UP
        curvature = _curvature(problem, n, mu + penalty.stiffness)
        size = math.prod(problem.w_shape)
        rounding = math.sqrt(size) * curvature * 2.0**-Problem.PARAMETER_BITS
        slope = 2 * inner.slope + 1.0
        error = gradient_error(problem, n, slope) + penalty_error
        fine = rounding * 2.0 ** (Problem.PARAMETER_BITS - Problem.FINE_BITS)
        # So small, too, that the objective there is next to its minimum, in terms of a row's loss.
        depth = mu * math.sqrt(2 * _DEPTH * inner.spread / curvature)
        if problem.n is None:
            depth = math.sqrt(2 * _DEPTH * inner.spread * mu)
        tolerance = min(_TOLERANCE * row_gradient, depth) + 4 * (error + fine)
        # The norm that is compared with the tolerance is a sum of so many terms.
        gap = (tolerance + error) / mu * max(_UP, 1.0 + size * 2.0**-51)
        # Where the objective is taken, on the grid of released parameters, is in the ball as well.
        bits = min(Problem.PARAMETER_BITS, minimizer.grid_bits)
        grid = math.sqrt(size) * 2.0 ** -(bits - 1)
        ball = PublicBall.of(problem, slack=gap + grid + minimizer.slack)
        coarse = 64 * rounding
        return cls(mu, row_gradient, curvature, coarse, slope, tolerance, inner.radius, gap, ball)


def _curvature(problem: Problem, rows: int, public: float) -> float:
    return (rows * problem.loss.smoothness * problem.row_norm**2 + public) * _UP


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class MinimumObjective:
    """The objective at the minimiser: what an excess risk is counted from.

    With low <= loss <= high on the public ball that holds both tables' minimisers, the minimum
    moves by at most ``high - low`` under replace-one: at either minimiser two rows' losses differ
    by that at most. With a row more it grows by that row's loss at one of the two at most, at the
    other at least; ``middle`` is subtracted for each row there, so that it moves by half of
    ``high - low``. What is computed lies in an interval of length ``gap`` about the real value:
    curvature / 2 times the squared distance of the point above it, and for each row a grid step
    below it and twice a loss's error; the public part is rounded. Where n is private, the first is
    by strong convexity g^2 / (2 mu) + g s + curvature s^2 / 2, g a gradient's norm and s a step to
    that grid.

    Parameters
    ----------
    minimizer : asked for as it is, so that it is worked out once.
    """

    minimizer: Minimizer

    kind: ClassVar[str] = "objective"

    @property
    def loss(self) -> Loss:
        return self.minimizer.loss

    @property
    def bits(self) -> int:
        """The objective is in steps of ``2**-bits``."""
        return objective_bits(self.minimizer.problem, self.minimizer.ball)

    @property
    def gap(self) -> float:
        problem, known = self.minimizer.problem, _Certificate.of(self.minimizer)
        n, bits = rows_at_most(problem), objective_bits(problem, known.ball)
        public = n * (problem.l2 * known.ball.radius**2 + known.ball.high) * 2.0**-48
        # The public part is rounded: sums of so many terms (Higham 2002, section 3.1).
        size = math.prod(problem.w_shape)
        public = public * max(1.0, size / 32) + penalty_of(problem).value_error(size)
        steps = n * (2.0**-bits + 2 * loss_error(self.loss)) + 2.0**-bits + public
        # The objective is taken on the grid of released parameters of a point on the
        # minimiser's own grid: half a step of each, at most this.
        coarser = min(Problem.PARAMETER_BITS, self.minimizer.grid_bits)
        away = known.gap + math.sqrt(size) * 2.0 ** -(coarser - 1)
        if problem.n is None:
            step, left = away - known.gap, known.gap * known.mu
            left = left**2 / (2 * known.mu) + left * step + known.curvature / 2 * step**2
            return left * _UP + steps
        return known.curvature / 2 * away**2 * _UP + steps

    @property
    def middle(self) -> float | None:
        """A value that is subtracted for each row where their number is private."""
        ball, problem = self.minimizer.ball, self.minimizer.problem
        return ball.low + ball.spread / 2 if problem.n is None else None

    @property
    def most_rows(self) -> int | None:
        return self.minimizer.most_rows

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        problem, ball = self.minimizer.problem, self.minimizer.ball
        require_relation(problem, relation)
        at_zero = np.zeros(problem.w_shape)
        asked = ObjectiveSum(problem, at_zero, ball, self.middle).sensitivity(relation)
        bound = (asked.bound + self.gap) * _UP
        return Sensitivity("l1", bound, relation, grid_bits=self.bits)

    def derive(self, ask: Callable[[Any], np.ndarray], noise: NoiseSource) -> np.ndarray:
        minimizer = self.minimizer
        w = np.ldexp(ask(minimizer).astype(np.float64), -minimizer.grid_bits)
        w = w.reshape(minimizer.problem.w_shape)
        return ask(ObjectiveSum(minimizer.problem, w, minimizer.ball, self.middle))

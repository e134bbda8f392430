"""Bases of noise reduction: the answer that gets noise, and the hypothesis made from it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError, Problem, round_to
from dpcore.plugin.parts import LossFacts
from dpcore_accuracy_first.objectives.ball_solve import BallSolver
from dpcore_accuracy_first.objectives.excess import Excess
from dpcore_accuracy_first.objectives.minimizer import Minimizer
from dpcore_accuracy_first.objectives.public_ball import PublicBall, paper_slack, penalty_of
from dpcore_accuracy_first.objectives.quadratic import MinimumQuadratic, QuadraticObjective
from dpcore_accuracy_first.objectives.radial_penalty import public_rows, require_relation
from dpcore_accuracy_first.queries.gram import GramMatrix, unpack
from dpcore_accuracy_first.target import (
    Target,
    absolute_target,
    excess_target,
    make_target,
    tested_excess,
)

__all__ = ["CovBase", "OutputBase"]

_FINEST_BITS, _COARSEST_BITS, _SCALE_BITS = Problem.FINE_BITS, 8, 55


class OutputBase:
    """Output perturbation: the exact minimiser; a hypothesis is the noisy one, brought into the
    public ball (post-processing).

    Parameters
    ----------
    problem : public facts. ``smallest`` : the least epsilon at which it will be released, which
        says how fine a grid the noise leaves room for; ``None`` for the finest.
    ball : "pull" for the smallest ball known to hold the minimiser, "paper" for the paper's.
    """

    minimizer: ClassVar[type[Minimizer]] = Minimizer
    variance: ClassVar[int] = 2
    """Of noise of scale 1."""

    def __init__(self, problem: Problem, smallest: float | None = None, ball: str = "pull") -> None:
        self.problem = problem
        require_known(problem, ball)
        slack = paper_slack(problem) if ball == "paper" else 0.0
        self.query = self.minimizer(problem, slack=slack)
        if smallest is not None:
            bits = _room(self.bound, smallest)
            self.query = self.minimizer(problem, min(bits, _FINEST_BITS), slack)
        self.ball = self.query.ball  # worked out anew whenever it is asked for
        self._inside = inside(problem, self.ball)

    @property
    def bound(self) -> float:
        """The sensitivity, in the norm of the noise."""
        return self.query.sensitivity(self.problem.relation).bound

    @property
    def drowned(self) -> float:
        """An epsilon at which the noise is eight times as long as the ball is wide."""
        return self.bound * math.sqrt(self.variance * self._size) / (8 * self.ball.radius)

    @property
    def _size(self) -> int:
        return math.prod(self.problem.w_shape)

    def hypothesis(self, value: np.ndarray, epsilon: float) -> np.ndarray:
        return self._inside.project(value).reshape(self.problem.w_shape)

    def excess(self, question: Any, reference: Any) -> Excess:
        """Return the excess over the reference as a query of its own."""
        return Excess(question, reference, self.query)

    def target(self, options: Any, kind: str) -> Target:
        if kind == "excess-risk":
            return excess_target(options, self.problem, self.query)
        return absolute_target(options, self.problem, self.ball)

    def theory(self, alpha: float) -> float:
        """Return the epsilon at which the expected excess risk is at most ``alpha``, with the
        sensitivity of this code: Theorem 3.3, whose bound is G E||b|| + l2/2 E||b||^2 for noise b.

        Squared loss is not Lipschitz, and at its minimum the gradient is 0: there the excess is at
        most (R^2 + l2)/2 E||b||^2 for rows of norm R. (The authors' code has 1/n for R^2.)"""
        d = self._size
        if LossFacts.of(self.problem.loss).quadratic:
            return self.bound * math.sqrt((self.problem.row_norm**2 + self.problem.l2) * d / alpha)
        slope = PublicBall.of(self.problem).slope * self.problem.row_norm
        linear, square = slope * math.sqrt(2 * d), self.problem.l2 * d
        scale = 2 * alpha / (linear + math.sqrt(linear**2 + 4 * square * alpha))
        return self.bound / scale


class CovBase:
    """Covariance perturbation: X'X and X'y of squared loss; a hypothesis minimises the noisy
    objective over the public ball (post-processing)."""

    gram: ClassVar[type[GramMatrix]] = GramMatrix
    variance: ClassVar[int] = 2

    def __init__(
        self,
        problem: Problem,
        l1_norm: float | None,
        smallest: float | None = None,
        ball: str = "pull",
    ) -> None:
        if not LossFacts.of(problem.loss).quadratic:
            raise InvalidInputError(
                f"Covariance perturbation is for squared loss (--loss ridge), not for "
                f"{problem.loss.name}; take output-nr."
            )
        require_relation(problem, problem.relation)
        require_known(problem, ball)
        self.problem = problem
        self.query = self.gram(problem, l1_norm)
        self.ball = PublicBall.of(problem, paper_slack(problem) if ball == "paper" else 0.0)
        self._inside = inside(problem, self.ball)
        self._solver = BallSolver(public_rows(problem) * problem.l2, self._inside.radius)
        # About the spectral norm of a symmetric matrix of noise of scale 1 (2 sigma sqrt(d)), which
        # keeps what is minimised convex; the paper stays at the ball, where noise leads it.
        about = self.bound * 2 * math.sqrt(self.variance * problem.n_features)
        self._ridge = 0.0 if ball == "paper" else about
        if smallest is not None:
            _room(self.bound, smallest, 2 * self.query.bits)

    @property
    def bound(self) -> float:
        return self.query.sensitivity(self.problem.relation).bound

    @property
    def drowned(self) -> float:
        """An epsilon at which the noise is larger than the largest matrix there can be."""
        largest = public_rows(self.problem) * self.query.l2_norm**2
        return self.bound * 2 * math.sqrt(self.variance * self.problem.n_features) / largest

    def hypothesis(self, value: np.ndarray, epsilon: float) -> np.ndarray:
        """Return the minimiser over the ball; ``epsilon`` says how much noise is in the value. It
        is rounded, so that what LAPACK's order of adding changes is not seen."""
        noisy = unpack(value, self.problem.n_features)
        found = self._solver.solve(*noisy, self._ridge / epsilon)
        return self._inside.project(round_to(found, Problem.PARAMETER_BITS))

    def excess(self, question: Any, reference: Any) -> Excess:
        """Return the excess over the reference as a query of its own."""
        return Excess(question, reference, self.query)

    def target(self, options: Any, kind: str) -> Target:
        if kind != "excess-risk":
            return absolute_target(options, self.problem, self.ball)
        gram, problem, ball = self.query, self.problem, self.ball
        reference = MinimumQuadratic(gram, problem, ball)

        excess = tested_excess(options, problem, reference.spread)
        above = 0.0 if problem.n is not None else excess

        def question(w: np.ndarray) -> Any:
            return QuadraticObjective(gram, problem, ball, w, above)

        error = reference.gap + 2 * reference.error
        return make_target(question, reference, options, error, problem, excess)

    def theory(self, alpha: float) -> float:
        """Return the epsilon at which the expected excess risk is at most ``alpha``. By Theorem
        3.1, 2 sup over the ball of the noise's part, E <= sqrt(2) b (d r^2 + 2 sqrt(d) r) / n for
        noise of scale b and a ball of radius r, with the sensitivity and the ball of this code."""
        d, r, n = self.problem.n_features, self.ball.radius, public_rows(self.problem)
        scale = n * alpha / (math.sqrt(2) * (d * r * r + 2 * math.sqrt(d) * r))
        return self.bound / scale


def require_known(problem: Problem, ball: str) -> None:
    """Raise InvalidInputError for the paper's ball where it is no ball of the objective."""
    if problem.n is None and ball == "paper":
        raise InvalidInputError(
            "The paper's constants and its code are for replace-one, where the number of rows is "
            "public; pass --relation replace-one, or leave --preset paper, --as-published and "
            "--set ball=paper out."
        )


def inside(problem: Problem, ball: PublicBall) -> PublicBall:
    """Return the ball for hypotheses: where the penalty has not begun, if there is one."""
    return ball if problem.n is not None else replace(ball, radius=penalty_of(problem).start)


def _room(bound: float, smallest: float, bits: int = _FINEST_BITS) -> int:
    """Return how fine a grid noise of scale bound / smallest leaves room for, at most ``bits``."""
    room = _SCALE_BITS - math.frexp(bound / smallest)[1]
    if room < min(bits, _COARSEST_BITS):
        raise InvalidInputError(
            f"Noise at epsilon={smallest:.3g} does not fit the 64-bit grid: the budget is too "
            "small for one release."
        )
    return min(room, bits)

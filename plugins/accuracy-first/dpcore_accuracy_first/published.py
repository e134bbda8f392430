"""The authors' code as it behaves: not private at the epsilon it prints, kept for comparison.

Departures from the paper that it reproduces: a test's noise is for what a question moves by, as if
the minimum did not move with the rows (half of the sensitivity; for its values the authors doubled
the tests' epsilon afterwards); the "optimal threshold" of the tests, which misses gamma; for
squared loss an objective with a quarter of the squared residuals instead of a half, whose minimum
the hypotheses do not aim at; a noisy matrix that is inverted, and the result drawn into the ball;
for squared loss noise on the minimiser that falls with the root of the number of rows; and where
nothing passes, the least noisy hypothesis (recorded there at epsilon = -1; here at all it cost).

Not reproduced: floating-point noise, the division by the largest norm found in the rows, the noise
of the lower triangle beside that of the upper one (at the same scale, and mirrored here), and that
all hypotheses are computed before any is tested.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError, ordered_dot
from dpcore.plugin.parts import LossFacts, Sensitivity, sealed
from dpcore_accuracy_first.guarantee import TestPlan
from dpcore_accuracy_first.objectives.base_releases import CovBase, OutputBase
from dpcore_accuracy_first.objectives.excess import Excess
from dpcore_accuracy_first.objectives.loss_sum import ObjectiveSum
from dpcore_accuracy_first.objectives.minimizer import Minimizer, MinimumObjective
from dpcore_accuracy_first.objectives.quadratic import MinimumQuadratic, QuadraticObjective
from dpcore_accuracy_first.queries.gram import GramMatrix, unpack
from dpcore_accuracy_first.target import Target, make_target

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin import NeighboringRelation, Problem
    from dpcore.plugin.parts import Block, NoiseSource

__all__ = ["PublishedCovBase", "PublishedOutputBase", "as_published", "published_test"]


def as_published(optimizer: Any) -> dict[str, Any]:
    """Return the options that the authors' code runs an optimizer with."""
    options = {**optimizer.presets["paper"]}
    options.pop("failure_probability", None)
    return options | ({"release_last": True} if "release_last" in optimizer.targets else {})


def published_test(tests: int, failure: float) -> TestPlan:
    """Return the "optimal threshold" of the code, the excess being compared with -W: b is the scale
    of the threshold's noise, over alpha, and epsilon_0 = 2 D / (b alpha)."""
    b = 1 / (4 * math.log(1.5**0.75 * math.sqrt(tests) / failure))
    return TestPlan(2 / b, -(0.25 + 0.75 * b * math.log(1.5) - 0.5 * b * math.log(tests)))


def _unmoved(relation: NeighboringRelation, bits: int) -> Sensitivity:
    return Sensitivity("l1", 2.0**-bits, relation, grid_bits=bits)


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class PublishedMinimizer(Minimizer):
    """NOT private at the sensitivity it states: what the solver leaves open is not in it."""

    private: ClassVar[bool] = False

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        problem, n = self.problem, self.problem.n or 1
        slope = problem.row_norm
        bound = 2 * slope * math.sqrt(problem.n_features) / (n * problem.l2)
        if LossFacts.of(problem.loss).quadratic:
            margin = problem.row_norm / math.sqrt(problem.l2)
            bound = (margin + 1) * math.sqrt(problem.n_features / (n * problem.l2))
        return Sensitivity("l1", bound, relation, grid_bits=self.grid_bits)


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class PublishedObjectiveSum(ObjectiveSum):
    """The objective, which for squared loss is made of quarters of the squared residuals."""

    private: ClassVar[bool] = False

    def answer_block(self, block: Block) -> np.ndarray:
        total = ObjectiveSum.answer_block(self, block)
        return total // 2 if LossFacts.of(self.problem.loss).quadratic else total


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class PublishedMinimum(MinimumObjective):
    """NOT private at the sensitivity it states: it moves with the rows."""

    private: ClassVar[bool] = False

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        return _unmoved(relation, self.bits)

    def derive(self, ask: Callable[[Any], np.ndarray], noise: NoiseSource) -> np.ndarray:
        minimizer = self.minimizer
        w = np.ldexp(ask(minimizer).astype(np.float64), -minimizer.grid_bits)
        return ask(PublishedObjectiveSum(minimizer.problem, w, minimizer.ball))


@sealed
class _Quarters:
    """The objective of squared loss with a quarter of the squared residuals."""

    __slots__ = ()

    mu: float
    bits: int

    def at(self, w: np.ndarray, matrix: np.ndarray, vector: np.ndarray, rows: int) -> np.ndarray:
        value = 0.5 * float(ordered_dot(w, 0.5 * ordered_dot(matrix, w) - vector))
        value += 0.5 * self.mu * float(ordered_dot(w, w))
        return np.array([round(math.ldexp(value, self.bits))], dtype=np.int64)


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class PublishedQuadratic(_Quarters, QuadraticObjective):
    """The objective at a released ``w``."""

    private: ClassVar[bool] = False


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class PublishedMinimumQuadratic(_Quarters, MinimumQuadratic):
    """NOT private at the sensitivity it states: it moves with the rows."""

    private: ClassVar[bool] = False

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        return _unmoved(relation, self.bits)


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class PublishedExcess(Excess):
    """NOT private at the sensitivity it states: it is that of the question alone."""

    private: ClassVar[bool] = False

    def __post_init__(self) -> None:
        pass

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        asked: Sensitivity = self.question.sensitivity(relation)
        return asked


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class PublishedGram(GramMatrix):
    """X'X and X'y at half of epsilon each, of the full matrix: more noise than they need."""

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        bound = relation.rows_changed * (self.longest**2 + self.longest)
        return Sensitivity("l1", bound, relation, grid_bits=2 * self.bits)


class PublishedOutputBase(OutputBase):
    """Output perturbation as the code has it."""

    minimizer: ClassVar[type[Minimizer]] = PublishedMinimizer

    def __init__(self, problem: Problem, smallest: float | None = None, ball: str = "pull") -> None:
        if problem.n_margins > 1:
            raise InvalidInputError(
                f"The authors' code is for two classes, and the label has {problem.n_margins}; "
                "leave --as-published out."
            )
        super().__init__(problem, smallest, ball)

    def target(self, options: Any, kind: str) -> Target:
        reference, problem, ball = PublishedMinimum(self.query), self.problem, self.ball

        def question(w: np.ndarray) -> Any:
            return PublishedObjectiveSum(problem, w, ball)

        return make_target(question, reference, options, reference.gap, problem)

    def excess(self, question: Any, reference: Any) -> Excess:
        return PublishedExcess(question, reference, self.query)

    def theory(self, alpha: float) -> float:
        """Return the epsilon that ``theory.py`` of the code computes."""
        problem, d, n = self.problem, self.problem.n_features, self.problem.n or 1
        # As if rows were divided by their norm's bound.
        l2 = problem.l2 / problem.row_norm**2
        if LossFacts.of(problem.loss).quadratic:
            return math.sqrt((1 / n + l2) / (n * l2 * alpha)) * (1 / math.sqrt(l2) + 1) * d
        return 2 * math.sqrt(2) * d / (n * l2 * alpha)


class PublishedCovBase(CovBase):
    """Covariance perturbation as the code has it."""

    gram: ClassVar[type[GramMatrix]] = PublishedGram

    def hypothesis(self, value: np.ndarray, epsilon: float) -> np.ndarray:
        matrix, vector = unpack(value, self.problem.n_features)
        whole = matrix + (self.problem.n or 1) * self.problem.l2 * np.eye(vector.size)
        return self.ball.project(np.linalg.solve(whole, vector))

    def target(self, options: Any, kind: str) -> Target:
        gram, problem, ball = self.query, self.problem, self.ball
        reference = PublishedMinimumQuadratic(gram, problem, ball)

        def question(w: np.ndarray) -> Any:
            return PublishedQuadratic(gram, problem, ball, w)

        error = reference.gap + 2 * reference.error
        return make_target(question, reference, options, error, problem)

    def excess(self, question: Any, reference: Any) -> Excess:
        return PublishedExcess(question, reference, self.query)

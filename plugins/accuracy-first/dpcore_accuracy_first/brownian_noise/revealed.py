"""A Brownian walk whose levels and tests are charged one by one, under an accountant of normal
noise: what was charged by the end is what the run cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.errors import BudgetExceededError
from dpcore.plugin import Gaussian, InvalidInputError, Solution, noise_multiplier
from dpcore.plugin.parts import Sensitivity, float_up, sealed
from dpcore_accuracy_first.feasible_targets import Loosest, advice
from dpcore_accuracy_first.levels import near_and_far_levels
from dpcore_accuracy_first.objectives.excess import Excess
from dpcore_accuracy_first.objectives.loss_sum import ErrorCount, ObjectiveSum
from dpcore_accuracy_first.objectives.quadratic import QuadraticObjective
from dpcore_accuracy_first.options import kind_of

if TYPE_CHECKING:
    from dpcore.plugin import NeighboringRelation, PrivacySession, Problem
    from dpcore.plugin.parts import NoiseSource
    from dpcore_accuracy_first.options import TargetOptions
    from dpcore_accuracy_first.target import Target

__all__ = ["NumberInL2", "revealed_walk"]

_NUMBERS = (ObjectiveSum, ErrorCount, QuadraticObjective, Excess)
_TESTS_TO_FIRST = 8
_LAST_TO_FIRST = 10
_BELOW, _ABOVE = 1 - 2.0**-30, 1 + 2.0**-30


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class NumberInL2:
    """One number, for normal noise: its sensitivity in l1 is that in l2, under either relation.

    Raises InvalidInputError for a question of any other class: of more numbers the two differ.
    """

    question: Any

    kind: ClassVar[str] = "target-test"

    def __post_init__(self) -> None:
        if type(self.question) not in _NUMBERS:
            known = ", ".join(each.__name__ for each in _NUMBERS)
            raise InvalidInputError(f"Expected {known} and not {type(self.question).__name__}.")

    def derive(self, ask: Callable[[Any], np.ndarray], noise: NoiseSource) -> np.ndarray:
        derived = hasattr(self.question, "derive")
        answer: np.ndarray = self.question.derive(ask, noise) if derived else ask(self.question)
        return answer

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        asked = self.question.sensitivity(relation)
        return Sensitivity("l2", asked.bound, relation, grid_bits=asked.grid_bits)


@dataclass(frozen=True)
class _Plan:
    """The mu of each level, of its own release, and of a test; and what a test accepts, in the
    unit of alpha."""

    levels: tuple[float, ...]
    steps: tuple[float, ...]
    test: float
    limit: float


def revealed_walk(
    options: TargetOptions,
    make_base: Callable[..., Any],
    problem: Problem,
    session: PrivacySession,
    count: int,
) -> Solution:
    """Look at one level after the other, and charge each when it is released.

    ``make_base`` : a function of a problem and of the least mu that is released.
    """
    kind = kind_of(options)
    base = make_base(problem)
    plan = _plan(base, base.target(options, kind), options, session, count)
    base = make_base(problem, min(plan.steps))
    target = base.target(options, kind)
    _require_room(base, target, plan)
    w, level, accepted = _looked_at(base, target, plan, session, count)
    details = {
        "target": target.text,
        "target_met": accepted,
        "failure_probability": options.failure_probability,
        "levels_tested": level,
        "test_mu": plan.test,
        "level_mu": plan.levels[level - 1],
    }
    if not accepted:
        return options.missed(w, details)
    return Solution(w, f"The target was met at level {level} of {count}: {target.text}.", details)


def _looked_at(
    base: Any, target: Target, plan: _Plan, session: PrivacySession, count: int
) -> tuple[np.ndarray, int, bool]:
    """Return the hypothesis of the last level that was released, its number, and whether its test
    was passed.

    With W a Brownian motion, s f + W(s) at the clock s = mu^2 / Delta^2 is s times the answer f
    with noise of variance 1 / s: the Brownian mechanism run by its clock (time inversion). What it
    adds between two levels is independent of what was seen before, and is one Gaussian release of
    mu^2 = mu_t^2 - mu_(t-1)^2. So each level is a release of its own with fresh noise, and the mean
    of all so far, weighted by mu^2, has the noise of the level. Which level is the last follows
    from the tests, releases as well. A fully adaptive filter holds any number of releases that are
    chosen from those before (zCDP: Rogers, Roth, Ullman & Vadhan 2016; Whitehouse, Ramdas, Rogers &
    Wu 2023; GDP: Smith & Thakurta 2022), so that what it was charged by the end, the last level's
    mu^2 and that of the tests made, is what the run cost in a composition with others. That
    noise reduction may be composed so is Rogers, Samorodnitsky, Wu & Ramdas 2023; the proof above
    is of normal noise alone. Relation and constants are those of the sensitivities in l2 that the
    session asks for at each release.
    """
    limit = plan.limit * target.alpha + target.goal
    weighted, accepted, level = 0.0, False, 0
    while level < count and not accepted:
        try:
            noisy = session.release(base.query, _gaussian(plan.steps[level]))
            weighted = weighted + noisy * plan.steps[level] ** 2
            made = sum(step**2 for step in plan.steps[: level + 1])
            w = base.hypothesis(weighted / made, made**0.5)
            level += 1
            passed = session.release(NumberInL2(_question(base, target, w)), _gaussian(plan.test))
        except BudgetExceededError:
            # The budget was divided up in floating point: the last level may be a grain too dear.
            if not level:
                raise
            break
        accepted = bool(passed[0] <= limit)
    return w, level, accepted


def _plan(
    base: Any, target: Target, options: TargetOptions, session: PrivacySession, count: int
) -> _Plan:
    """Return the levels and tests that fit into the budget, by public facts.

    With normal noise of deviation s on the test and acceptance at most at tau, a model above alpha
    passes one of T tests with probability at most T Q((alpha - tau) / s), and one of at most beta
    alpha fails with at most Q((tau - beta alpha) / s), Q the normal's tail: both are at most the
    failure probability g at s = (1 - beta) alpha / (Q^-1(g / T) + Q^-1(g)).
    """
    from scipy.stats import norm

    accountant, failure = session.accountant, options.failure_probability
    whole = _BELOW / noise_multiplier(accountant, Gaussian.nominal_event, accountant.remaining)
    every, one = float(norm.isf(failure / count)), float(norm.isf(failure))
    test = _ABOVE * target.distance * (every + one) / (target.alpha * (1 - options.beta))
    tests = test * count**0.5
    if 2 * tests**2 > whole**2:
        times, loosest = 2**0.5 * tests / whole, Loosest.of(options, base.problem)
        enough = loosest.asked * times
        least = enough / loosest.limit if loosest.limit > 0 else math.inf
        told = advice(loosest, base.problem, enough, least, times, accountant.epsilon)
        raise InvalidInputError(
            f"{count} tests of this target cost mu={tests:.4g}, and the worst case is a mu of "
            f"{whole:.4g}, half of whose square is for them. {told}"
        )
    last = (whole**2 - tests**2) ** 0.5 * _BELOW
    first = min(max(base.drowned, test / _TESTS_TO_FIRST), last / _LAST_TO_FIRST)
    levels = near_and_far_levels(first, last, count, test)
    below = (0.0, *levels)
    steps = tuple((high**2 - low**2) ** 0.5 for low, high in zip(below, levels, strict=False))
    limit = options.beta + (1 - options.beta) * one / (every + one)
    return _Plan(levels, steps, test, limit)


def _question(base: Any, target: Target, w: np.ndarray) -> Any:
    question = target.question(w)
    return question if target.reference is None else base.excess(question, target.reference)


def _require_room(base: Any, target: Target, plan: _Plan) -> None:
    """Raise InvalidInputError, before anything is charged, for noise that does not fit a grid."""
    test = NumberInL2(_question(base, target, np.zeros(base.problem.w_shape)))
    for query, mu in ((base.query, min(plan.steps)), (test, plan.test)):
        _gaussian(mu).event(query.sensitivity(base.problem.relation))


def _gaussian(mu: float) -> Gaussian:
    """Return the mechanism of at most that mu."""
    return Gaussian(float_up(1 / Fraction(mu)))

"""OutputNR and CovNR (Algorithm 3): noise is taken off until a noisy test passes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from dpcore.plugin import InvalidInputError, Solution, option
from dpcore_accuracy_first.feasible_targets import too_dear
from dpcore_accuracy_first.forecast import forecast
from dpcore_accuracy_first.guarantee import exact_test, paper_test
from dpcore_accuracy_first.levels import geometric_levels
from dpcore_accuracy_first.noise_chain.mechanism import NoiseReduction
from dpcore_accuracy_first.objectives.base_releases import CovBase, OutputBase
from dpcore_accuracy_first.options import SearchOptions, positive, pure_cap
from dpcore_accuracy_first.paper import COVARIANCE, NOISE_REDUCTION, paper_levels, sources_of
from dpcore_accuracy_first.published import (
    PublishedCovBase,
    PublishedOutputBase,
    as_published,
    published_test,
)

if TYPE_CHECKING:
    from dpcore.plugin import Accountant, PrivacySession, Problem
    from dpcore_accuracy_first.guarantee import TestPlan
    from dpcore_accuracy_first.target import Target

__all__ = ["CovNr", "OutputNr"]

_TESTS_TO_FIRST = 50
_LAST_TO_FIRST = 10
_BELOW = 1 - 2.0**-30

_DEPARTURES = (
    "where no level passes there is no model, and eps_0 + eps_T is charged; the paper returns the "
    "exact minimiser",
    "eps_0 and the threshold solve the exact integrals of both guarantees (--preset paper: "
    "Theorem 3.2's)",
    "the public ball is that of the loss: sqrt(.2785 / l2) for logistic, sqrt(.25 / l2) for "
    "squared loss, instead of sqrt(1 / l2) and more (--preset paper: the paper's)",
    "levels end at what the worst case leaves (--preset paper: 1,000 from 1/n to four times the "
    "utility theorem's epsilon, as far as the worst case leaves them)",
    "whole numbers on a grid throughout, with discrete noise and an exact coin",
)


@dataclass(frozen=True, kw_only=True)
class _NoiseReductionOptions(SearchOptions):
    levels: int = option(50, "privacy levels from the noisiest to the last", "levels")
    first_level: float | None = option(
        None,
        "epsilon of the noisiest level",
        "epsilon",
        "noise eight times the ball, at least a fiftieth of the tests, at most a tenth of the last",
    )
    theorem: ClassVar[str] = (
        "Lemma 2.8: the levels looked at and the tests cost eps_0 + eps_t as one mechanism, ex-post"
    )
    departures: ClassVar[tuple[str, ...]] = _DEPARTURES
    presets: ClassVar[dict[str, dict[str, Any]]] = {"paper": NOISE_REDUCTION}
    preset_sources: ClassVar[dict[str, dict[str, str]]] = sources_of(NOISE_REDUCTION)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.levels <= 10**5:
            raise InvalidInputError(f"Expected 1 <= levels={self.levels!r} <= 100000.")
        positive("first-level", self.first_level)

    def _base(self, problem: Problem, smallest: float | None = None) -> Any:
        raise TypeError("an algorithm says what its noise is added to")

    def minimize(self, problem: Problem, session: PrivacySession) -> Solution:
        if self.as_published:
            return replace(self, **as_published(self))._minimize(problem, session)
        return self._minimize(problem, session)

    def _minimize(self, problem: Problem, session: PrivacySession) -> Solution:
        kind = self._kind()
        base = self._base(problem)
        target = base.target(self, kind)
        tests = self._test_epsilon(target)
        levels = self._levels(base, pure_cap(session.accountant), tests)
        # Once more, on the grid that the noise of the first level leaves room for.
        base = self._base(problem, levels[0])
        return self._walk(base, base.target(self, kind), levels, session)

    def _plan(self) -> TestPlan:
        if self.as_published:
            return published_test(self.levels, self.failure_probability)
        rule = exact_test if self.threshold == "exact" else paper_test
        return rule(self.levels, self.failure_probability, self.beta)

    def _test_epsilon(self, target: Target) -> float:
        return self._plan().cost * target.distance / target.alpha

    def cost_forecast(self, problem: Problem, accountant: Accountant) -> str:
        """Return what the run is expected to cost, from public facts."""
        if self.as_published:
            return ""
        base = self._base(problem)
        tests = self._test_epsilon(base.target(self, self._kind()))
        levels = self._levels(base, pure_cap(accountant), tests)
        costs = [tests + level for level in levels]
        return forecast(costs, levels, base, self._excess_of_minimiser)

    def _levels(self, base: Any, cap: float, tests: float) -> tuple[float, ...]:
        last = (cap - tests) * _BELOW
        if last <= 0:
            raise too_dear("To test for this target costs", tests, cap, self, base.problem)
        if self.grid == "paper":
            theorem = base.theory(self.target_excess_risk)
            return paper_levels(base.problem.n, theorem, self.levels, last)
        first = self.first_level
        if first is None:
            first = min(max(base.drowned, tests / _TESTS_TO_FIRST), last / _LAST_TO_FIRST)
        return geometric_levels(first, last, self.levels, tests)

    def _walk(
        self, base: Any, target: Target, levels: tuple[float, ...], session: PrivacySession
    ) -> Solution:
        """Look at one level after the other; hypotheses of later ones are never computed."""
        tests = self._test_epsilon(target)
        mechanism = NoiseReduction(
            base=base.query,
            levels=levels,
            test_epsilon=tests,
            threshold=self._plan().threshold * target.alpha - target.goal,
            question=target.asked,
            reference=target.reference,
        )
        exchange = session.start(mechanism)
        w = base.hypothesis(exchange.value, levels[0])
        question = target.question(w)
        level = 0
        while (reply := exchange.ask(question)).value is not None:
            level += 1
            if reply.changed:
                w = base.hypothesis(reply.value, levels[level])
                question = target.question(w)
        details = {
            "target": target.text,
            "target_met": reply.accepted,
            "failure_probability": None if self.as_published else self.failure_probability,
            "levels_tested": level + 1,
            "test_epsilon": tests,
            "level_epsilon": levels[level],
        }
        if not reply.accepted:
            return self.missed(w, details)
        status = f"The target was met at level {level + 1} of {len(levels)}: {target.text}."
        return Solution(w, status, details)


@dataclass(frozen=True, kw_only=True)
class OutputNr(_NoiseReductionOptions):
    """Takes noise off the exact minimiser, level by level, until the target is met (OutputNR).

    A returned model is beside the target with at most the failure probability; if the last level
    is within beta alpha of it, a model within the target is returned with at least one minus that.
    Which level, and so which epsilon, is an outcome: ex-post privacy eps_0 + eps_t, and epsilon-DP
    for the cap that was agreed to. Whether a target can be reached without noise is not known
    beforehand: to find out is what a failed run costs.
    """

    name: ClassVar[str] = "output-nr"
    multiclass: ClassVar[bool] = True

    def _base(self, problem: Problem, smallest: float | None = None) -> OutputBase:
        kind = PublishedOutputBase if self.as_published else OutputBase
        return kind(problem, smallest, self.ball)


@dataclass(frozen=True, kw_only=True)
class CovNr(_NoiseReductionOptions):
    """Takes noise off X'X and X'y of ridge regression until the target is met (CovNR).

    As output-nr, with a hypothesis that minimises the noisy objective over a public ball.
    """

    l1_norm: float | None = option(
        None,
        "rows are scaled down to this l1 norm in X'X and X'y",
        "norm of a row",
        "sqrt(n_features) row_norm, which scales none",
    )

    name: ClassVar[str] = "cov-nr"
    needs: ClassVar[tuple[str, ...]] = ("strong-convexity", "public-size", "squared-loss")
    presets: ClassVar[dict[str, dict[str, Any]]] = {"paper": {**NOISE_REDUCTION, **COVARIANCE}}
    preset_sources: ClassVar[dict[str, dict[str, str]]] = sources_of(
        {**NOISE_REDUCTION, **COVARIANCE}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("l1-norm", self.l1_norm)

    def _base(self, problem: Problem, smallest: float | None = None) -> CovBase:
        kind = PublishedCovBase if self.as_published else CovBase
        return kind(problem, self.l1_norm, smallest, self.ball)

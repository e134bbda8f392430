"""OutputBnr and CovBnr: normal noise is taken off until a test passes, its own noise in step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from dpcore.plugin import InvalidInputError, Solution, option
from dpcore.plugin.parts import ApproximateDpEvent, float_up
from dpcore_accuracy_first.brownian_noise.boundary import least_clocks
from dpcore_accuracy_first.brownian_noise.guarantee import reduced_test
from dpcore_accuracy_first.brownian_noise.revealed import revealed_walk
from dpcore_accuracy_first.brownian_noise.threshold import ReducedAboveThreshold
from dpcore_accuracy_first.feasible_targets import too_dear
from dpcore_accuracy_first.forecast import forecast
from dpcore_accuracy_first.levels import near_and_far_levels
from dpcore_accuracy_first.objectives.in_l2 import CovBaseInL2, OutputBaseInL2
from dpcore_accuracy_first.options import TargetOptions, kind_of, positive, pure_cap

if TYPE_CHECKING:
    import numpy as np

    from dpcore.plugin import Accountant, PrivacySession, Problem
    from dpcore.plugin.parts import DpEvent
    from dpcore_accuracy_first.brownian_noise.guarantee import ReducedPlan
    from dpcore_accuracy_first.target import Target

__all__ = ["CovBnr", "OutputBnr"]

_TESTS_TO_FIRST = 8
_LAST_TO_FIRST = 10
_KNEE = 4.0
_LOSS_OF_MU = 4.0
"""About what a mu of 1 costs in epsilon at a small delta, for a first level (utility alone)."""
_BELOW = 1 - 2.0**-30


@dataclass(frozen=True, kw_only=True)
class _BrownianOptions(TargetOptions):
    levels: int = option(20, "privacy levels from the noisiest to the last", "levels")
    first_level: float | None = option(
        None,
        "epsilon of the noisiest level, without its test",
        "epsilon",
        "noise eight times the ball, at least an eighth of the tests, at most a tenth of the last",
    )
    first_test: float = option(
        0.65,
        "the first test's epsilon; it rises to that of the last over half of the levels",
        "the last test's epsilon",
    )
    delta: float = option(1e-8, "delta of the run, --delta on the command line", "1")

    targets: ClassVar[tuple[str, ...]] = (*TargetOptions.targets, "delta")
    adaptive_accountants: ClassVar[tuple[str, ...]] = ("zcdp", "gdp")
    theorem: ClassVar[str] = (
        "Brownian noise reduction (Whitehouse et al. 2022): the levels looked at cost what the "
        "last of them costs, at delta; a test that passes what its own noise costs, which falls "
        "in step"
    )
    departures: ClassVar[tuple[str, ...]] = (
        "each level has a part of delta and the exact normal curve, where the paper bounds the "
        "whole path at once",
        "the noise of tests is exponential, one-sided, where the paper's is Laplace",
        "the tests' epsilon solves exact integrals of what is promised",
        "where no level passes there is no model, and the whole worst case is charged",
        "whole numbers on a grid throughout; all levels are floors of one exact path",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.levels <= 1000:
            raise InvalidInputError(f"Expected 1 <= levels={self.levels!r} <= 1000.")
        positive("first-level", self.first_level)
        if not 0 < self.first_test <= 1:
            raise InvalidInputError(f"Expected 0 < first-test={self.first_test!r} <= 1.")
        if not 0 < self.delta < 1:
            raise InvalidInputError(f"Expected 0 < delta={self.delta!r} < 1.")

    def _base(self, problem: Problem, smallest: float | None = None) -> Any:
        raise TypeError("an algorithm says what its noise is added to")

    def schedule(self, problem: Problem, noise_multiplier: float) -> Mapping[DpEvent, int]:
        """Return the one event of a run, whose delta the filter keeps."""
        return {ApproximateDpEvent(1 / noise_multiplier, self.delta): 1}

    def minimize(self, problem: Problem, session: PrivacySession) -> Solution:
        if session.accountant.name in self.adaptive_accountants:
            self._require_usual_path()
            return revealed_walk(self, self._base, problem, session, self.levels)
        kind = kind_of(self)
        base = self._base(problem)
        target = base.target(self, kind)
        losses, plan = self._levels(base, target, pure_cap(session.accountant))
        clocks = least_clocks(losses, self.delta)
        if not clocks[0]:
            raise InvalidInputError("No noise makes the first level's epsilon hold at this delta.")
        mus = tuple(float(clock) ** 0.5 for clock in clocks)
        # Once more, on the grid that the noise of the first level leaves room for.
        base = self._base(problem, mus[0])
        return self._walk(base, base.target(self, kind), plan, losses, mus, session)

    def cost_forecast(self, problem: Problem, accountant: Accountant) -> str:
        """Return what the run is expected to cost, from public facts."""
        if accountant.name in self.adaptive_accountants:
            return ""
        kind = kind_of(self)
        base = self._base(problem)
        target = base.target(self, kind)
        losses, plan = self._levels(base, target, pure_cap(accountant))
        costs = [test + loss for test, loss in zip(_tests(plan, target), losses, strict=True)]
        mus = [float(clock) ** 0.5 for clock in least_clocks(losses, self.delta)]
        return forecast(costs, mus, base, self._excess_of_minimiser)

    def _require_usual_path(self) -> None:
        """Raise InvalidInputError for options that a walk of single releases does not have."""
        usual = {each.name: each.default for each in fields(_BrownianOptions)}
        names = ("first_level", "first_test")
        if any(getattr(self, name) != usual[name] for name in names):
            raise InvalidInputError(
                "first-level and first-test are of the walk under --accountant pure: leave them "
                "out, or take that."
            )

    def _levels(
        self, base: Any, target: Target, cap: float
    ) -> tuple[tuple[float, ...], ReducedPlan]:
        """Return the levels' losses, and the tests: where a level costs more than the tests, they
        cost a share of it, so that a walk that was unlucky does not go on to levels that cost ever
        more."""
        facts = self.levels, self.failure_probability, self.beta
        rising = self.first_test, self.levels // 2
        plan = reduced_test(*facts, *rising)
        tests = _tests(plan, target)[-1]
        losses = self._losses(base, cap, tests)
        growth = tuple(loss / tests / _KNEE for loss in losses if loss > _KNEE * tests)
        if growth and len(growth) <= self.levels - rising[1]:
            plan = reduced_test(*facts, *rising, growth)
        return losses, plan

    def _losses(self, base: Any, cap: float, tests: float) -> tuple[float, ...]:
        last = min(cap - tests, cap * _KNEE / (_KNEE + 1)) * _BELOW
        if last <= 0:
            raise too_dear("To test for this target costs", tests, cap, self, base.problem)
        first = self.first_level
        if first is None:
            drowned = _LOSS_OF_MU * base.drowned
            first = min(max(drowned, tests / _TESTS_TO_FIRST), last / _LAST_TO_FIRST)
        return near_and_far_levels(first, last, self.levels, tests)

    def _walk(
        self,
        base: Any,
        target: Target,
        plan: ReducedPlan,
        losses: tuple[float, ...],
        mus: tuple[float, ...],
        session: PrivacySession,
    ) -> Solution:
        """Look at one level after the other; hypotheses of later ones are never computed."""
        tests = _tests(plan, target)
        mechanism = ReducedAboveThreshold(
            base=base.query,
            losses=losses,
            delta=self.delta,
            tests=tests,
            share=plan.share,
            thresholds=tuple(-share * target.alpha - target.goal for share in plan.passes),
            question=target.asked,
            reference=target.reference,
        )
        w, level, accepted = _walked(session.start(mechanism), base, target, mus)
        details = {
            "target": target.text,
            "target_met": accepted,
            "failure_probability": self.failure_probability,
            "levels_tested": level + 1,
            "test_epsilon": tests[level],
            "level_epsilon": losses[level],
        }
        if not accepted:
            return self.missed(w, details)
        status = f"The target was met at level {level + 1} of {len(losses)}: {target.text}."
        return Solution(w, status, details)


def _walked(
    exchange: Any, base: Any, target: Target, mus: tuple[float, ...]
) -> tuple[np.ndarray, int, bool]:
    """Return the hypothesis that the mechanism stopped at, its level, and whether it was accepted
    there."""
    value, level = exchange.value, 0
    while True:
        w = base.hypothesis(value, mus[level])
        reply = exchange.ask(target.question(w))
        if reply.value is None:
            return w, level, reply.accepted
        value, level = reply.value, level + 1


def _tests(plan: ReducedPlan, target: Target) -> tuple[float, ...]:
    """Return the tests' epsilons, rounded up."""
    unit = Fraction(target.distance) / Fraction(target.alpha)
    return tuple(float_up(Fraction(cost) * unit) for cost in plan.costs)


@dataclass(frozen=True, kw_only=True)
class OutputBnr(_BrownianOptions):
    """Takes normal noise off the exact minimiser, level by level, until the target is met.

    As output-nr, with an ex-post epsilon that holds but with delta, and (epsilon, delta)-DP for the
    cap that was agreed to. Noise grows with the root of the number of coefficients where that of
    output-nr grows with the number, and a test costs half as much or less.
    """

    name: ClassVar[str] = "output-bnr"
    multiclass: ClassVar[bool] = True

    def _base(self, problem: Problem, smallest: float | None = None) -> OutputBaseInL2:
        return OutputBaseInL2(problem, smallest, self.ball)


@dataclass(frozen=True, kw_only=True)
class CovBnr(_BrownianOptions):
    """Takes normal noise off X'X and X'y of ridge regression until the target is met.

    As output-bnr, with a hypothesis that minimises the noisy objective over a public ball.
    """

    name: ClassVar[str] = "cov-bnr"
    needs: ClassVar[tuple[str, ...]] = ("strong-convexity", "public-size", "squared-loss")

    def _base(self, problem: Problem, smallest: float | None = None) -> CovBaseInL2:
        return CovBaseInL2(problem, None, smallest, self.ball)

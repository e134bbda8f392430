"""The theory approach: epsilon from a utility theorem, one release, no test."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from dpcore.plugin import Geometric, InvalidInputError, Solution, option
from dpcore_accuracy_first.bisection import least
from dpcore_accuracy_first.feasible_targets import Loosest, advice
from dpcore_accuracy_first.objectives.base_releases import CovBase, OutputBase
from dpcore_accuracy_first.options import ExcessRiskOptions, PublishedOptions, positive
from dpcore_accuracy_first.paper import COVARIANCE, THEORY, sources_of
from dpcore_accuracy_first.published import PublishedCovBase, PublishedOutputBase, as_published

if TYPE_CHECKING:
    from dpcore.plugin import PrivacySession, Problem

__all__ = ["CovTheory", "OutputTheory"]


@dataclass(frozen=True, kw_only=True)
class _TheoryOptions(ExcessRiskOptions, PublishedOptions):
    checked_with: ClassVar[dict[str, Any]] = {"target_excess_risk": 1e5}

    departures: ClassVar[tuple[str, ...]] = (
        "the theorem is inverted with the sensitivities and the ball of this code (--preset paper: "
        "the paper's ball)",
    )
    presets: ClassVar[dict[str, dict[str, Any]]] = {"paper": THEORY}
    preset_sources: ClassVar[dict[str, dict[str, str]]] = sources_of(THEORY)
    published_is: ClassVar[str] = "whose constants no check here covers"

    def _base(self, problem: Problem, smallest: float | None = None) -> Any:
        raise TypeError("an algorithm says what its noise is added to")

    def needed_epsilon(self, problem: Problem) -> float:
        """Return the epsilon of the one release, a function of public facts: the filter is opened
        for it, so that it is the guarantee."""
        base, mechanism = self._release(problem)
        return mechanism.event(base.query.sensitivity(problem.relation)).epsilon

    def feasible_targets(self, problem: Problem, epsilon_max: float) -> str:
        """Return the excess risk that the theorem bounds at this worst case, and what else would
        do: the epsilon of a release falls with the number of rows."""
        loosest, base = Loosest.of(self, problem), self._base(problem)
        enough, least_of = loosest.limit, base.theory(loosest.limit)
        if least_of < epsilon_max and loosest.asked < enough:
            enough = least(lambda a: base.theory(a) <= epsilon_max, loosest.asked, enough, 1e-3)
        times = base.theory(loosest.asked) / epsilon_max
        return advice(loosest, problem, enough, least_of / epsilon_max, times, epsilon_max)

    def minimize(self, problem: Problem, session: PrivacySession) -> Solution:
        base, mechanism = self._release(problem)
        noisy = session.release(base.query, mechanism)
        w = base.hypothesis(noisy, 1 / mechanism.noise_multiplier)
        details = {
            "target": f"expected excess risk of at most {self.target_excess_risk:g}",
            "level_epsilon": 1 / mechanism.noise_multiplier,
        }
        status = f"One release: the {details['target']} by the theorem; nothing was tested."
        return Solution(w, status, details)

    def _release(self, problem: Problem) -> tuple[Any, Geometric]:
        if self.target_excess_risk is None:
            raise InvalidInputError("Expected --target-excess-risk: the theorem is about that.")
        run = replace(self, **as_published(self)) if self.as_published else self
        epsilon = run._base(problem).theory(self.target_excess_risk)
        # The grid's own share of the sensitivity is part of the scale.
        return run._base(problem, epsilon), Geometric(1 / epsilon)


@dataclass(frozen=True, kw_only=True)
class OutputTheory(_TheoryOptions):
    """Output perturbation at the epsilon of Theorem 3.3, whose bound is of the expected excess."""

    name: ClassVar[str] = "output-theory"
    multiclass: ClassVar[bool] = True
    theorem: ClassVar[str] = (
        "Theorem 3.3, E excess <= G E||b|| + l2/2 E||b||^2; squared loss: (R^2 + l2)/2 E||b||^2"
    )

    def _base(self, problem: Problem, smallest: float | None = None) -> OutputBase:
        kind = PublishedOutputBase if self.as_published else OutputBase
        return kind(problem, smallest, self.ball)


@dataclass(frozen=True, kw_only=True)
class CovTheory(_TheoryOptions):
    """Covariance perturbation (ridge) at the epsilon of Theorem 3.1, of the expected excess."""

    l1_norm: float | None = option(
        None,
        "rows are scaled down to this l1 norm in X'X and X'y",
        "norm of a row",
        "sqrt(n_features) row_norm, which scales none",
    )

    name: ClassVar[str] = "cov-theory"
    needs: ClassVar[tuple[str, ...]] = ("strong-convexity", "public-size", "squared-loss")
    presets: ClassVar[dict[str, dict[str, Any]]] = {"paper": {**THEORY, **COVARIANCE}}
    preset_sources: ClassVar[dict[str, dict[str, str]]] = sources_of({**THEORY, **COVARIANCE})
    theorem: ClassVar[str] = "Theorem 3.1: twice the largest the noise adds over the ball"

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("l1-norm", self.l1_norm)

    def _base(self, problem: Problem, smallest: float | None = None) -> CovBase:
        kind = PublishedCovBase if self.as_published else CovBase
        return kind(problem, self.l1_norm, smallest, self.ball)

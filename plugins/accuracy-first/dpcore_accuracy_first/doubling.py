"""The doubling method: fresh noise at epsilon, 2 epsilon, 4 epsilon, ... and a noisy test each."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.errors import BudgetExceededError
from dpcore.plugin import Geometric, Laplace, Solution, option
from dpcore_accuracy_first.feasible_targets import too_dear
from dpcore_accuracy_first.objectives.base_releases import CovBase, OutputBase
from dpcore_accuracy_first.options import SearchOptions, positive, pure_cap
from dpcore_accuracy_first.paper import COVARIANCE, SEARCH, paper_tries, sources_of
from dpcore_accuracy_first.published import PublishedCovBase, PublishedOutputBase, as_published

if TYPE_CHECKING:
    from dpcore.plugin import PrivacySession, Problem
    from dpcore_accuracy_first.target import Target

__all__ = ["CovDoubling", "OutputDoubling"]

_MOST_ROUNDS = 60
_BELOW = 1 - 2.0**-30


@dataclass(frozen=True)
class _Tries:
    """How many tries there are, the first one's epsilon, each test's, and what a test accepts."""

    rounds: int
    first: float
    tests: float
    limit: float


@dataclass(frozen=True, kw_only=True)
class _DoublingOptions(SearchOptions):
    first_level: float | None = option(
        None, "epsilon of the first try", "epsilon", "what its test costs"
    )

    theorem: ClassVar[str] = (
        "every try and every test is a release of its own (Theorem 2.5); with pure epsilons their "
        "sum along the way that was taken is the ex-post loss"
    )
    departures: ClassVar[tuple[str, ...]] = (
        "the test's noise is such that all tests together are right with the stated probability "
        "(--preset paper: the authors' code's)",
        "the first try costs what its test does (--preset paper: 1/n, as in the authors' code)",
        "where no try passes there is no model",
    )
    presets: ClassVar[dict[str, dict[str, Any]]] = {"paper": SEARCH}
    preset_sources: ClassVar[dict[str, dict[str, str]]] = sources_of(SEARCH)

    def __post_init__(self) -> None:
        super().__post_init__()
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
        plan = self._plan(base, base.target(self, kind), pure_cap(session.accountant))
        base = self._base(problem, plan.first)
        return self._search(base, base.target(self, kind), plan, session)

    def _plan(self, base: Any, target: Target, cap: float) -> _Tries:
        """Return the tries that fit into the cap."""
        found, planned = None, None
        if self.grid == "paper":
            planned = paper_tries(base.problem.n, base.theory(self.target_excess_risk))
        for rounds in range(1, (planned or _MOST_ROUNDS) + 1):
            tests, limit = self._tests(target, planned or rounds)
            first = 1 / base.problem.n if planned else self.first_level or tests
            if rounds * tests + (2.0**rounds - 1) * first > cap * _BELOW:
                break
            found = _Tries(rounds, first, tests, limit)
        if found is None:
            raise too_dear("One try and its test cost", first + tests, cap, self, base.problem)
        return found

    def _tests(self, target: Target, rounds: int) -> tuple[float, float]:
        """Return the epsilon of each of ``rounds`` tests, and what they accept, over alpha."""
        failure = self.failure_probability
        if self.threshold == "paper":
            return paper_epsilon(target, rounds, failure), 0.5
        return test_epsilon(target, rounds, failure, self.beta), _limit(rounds, failure, self.beta)

    def _search(self, base: Any, target: Target, plan: _Tries, session: PrivacySession) -> Solution:
        rounds, first, tests = plan.rounds, plan.first, plan.tests
        limit = target.alpha * plan.limit + target.goal
        epsilon, accepted, w = first, False, np.zeros(base.problem.w_shape)
        tried = 0
        while tried < rounds and not accepted:
            tried += 1
            try:
                epsilon = first * 2.0 ** (tried - 1)
                noisy = session.release(base.query, Geometric(1 / epsilon))
                w = base.hypothesis(noisy, epsilon)
                question = target.question(w)
                if target.reference is not None:
                    question = base.excess(question, target.reference)
                noisy = session.release(question, Laplace(1 / tests))
            except BudgetExceededError:
                # The cap was divided up in floating point: the last try may be a grain too dear.
                if not session.ledger:
                    raise
                break
            accepted = bool(noisy[0] <= limit)
        details = {
            "target": target.text,
            "target_met": accepted,
            "failure_probability": None if self.as_published else self.failure_probability,
            "levels_tested": tried,
            "test_epsilon": tests,
            "level_epsilon": epsilon,
        }
        if not accepted:
            return self.missed(w, details)
        return Solution(w, f"The target was met at try {tried}: {target.text}.", details)


def test_epsilon(target: Target, rounds: int, failure: float, beta: float) -> float:
    """Return the epsilon of each of ``rounds`` tests.

    With Laplace noise of scale b on the excess and acceptance at most at tau, a model above alpha
    passes one of the tests with probability at most R e^(-(alpha - tau)/b) / 2, and one of at most
    beta fails with at most e^(-(tau - beta)/b) / 2; with equal parts the sum is ``failure`` at
    b = (alpha - beta) / (2 ln(1/failure) + ln R).
    """
    width = target.alpha * (1 - beta)
    return target.distance * (2 * math.log(1 / failure) + math.log(rounds)) / width


def paper_epsilon(target: Target, rounds: int, failure: float) -> float:
    """Return the epsilon of each of ``rounds`` tests that accept at half of alpha. It follows from
    the union bound R e^(-alpha / 2b) / 2 = ``failure`` for a model above alpha, as in the authors'
    code."""
    return target.distance * 2 * math.log(rounds / (2 * failure)) / target.alpha


def _limit(rounds: int, failure: float, beta: float) -> float:
    """Return tau over alpha."""
    share = math.log(1 / failure) / (2 * math.log(1 / failure) + math.log(rounds))
    return beta + (1 - beta) * share


@dataclass(frozen=True, kw_only=True)
class OutputDoubling(_DoublingOptions):
    """Releases the exact minimiser with fresh noise at a doubled epsilon until a test passes."""

    name: ClassVar[str] = "output-doubling"
    multiclass: ClassVar[bool] = True

    def _base(self, problem: Problem, smallest: float | None = None) -> OutputBase:
        kind = PublishedOutputBase if self.as_published else OutputBase
        return kind(problem, smallest, self.ball)


@dataclass(frozen=True, kw_only=True)
class CovDoubling(_DoublingOptions):
    """Releases X'X and X'y with fresh noise at a doubled epsilon until a test passes."""

    l1_norm: float | None = option(
        None,
        "rows are scaled down to this l1 norm in X'X and X'y",
        "norm of a row",
        "sqrt(n_features) row_norm, which scales none",
    )

    name: ClassVar[str] = "cov-doubling"
    needs: ClassVar[tuple[str, ...]] = ("strong-convexity", "public-size", "squared-loss")
    presets: ClassVar[dict[str, dict[str, Any]]] = {"paper": {**SEARCH, **COVARIANCE}}
    preset_sources: ClassVar[dict[str, dict[str, str]]] = sources_of({**SEARCH, **COVARIANCE})

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("l1-norm", self.l1_norm)

    def _base(self, problem: Problem, smallest: float | None = None) -> CovBase:
        kind = PublishedCovBase if self.as_published else CovBase
        return kind(problem, self.l1_norm, smallest, self.ball)

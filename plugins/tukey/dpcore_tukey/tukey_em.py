"""TukeyEM (Amin, Joseph, Ribero & Vassilvitskii 2023): regression by Tukey depth."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.plugin import (
    InvalidInputError,
    Slot,
    Solution,
    check_ranges,
    option,
    round_parameters,
)
from dpcore_tukey.part_models import PartModels, entries_of, middle_of
from dpcore_tukey.propose_test_release import ProposeTestRelease

if TYPE_CHECKING:
    from dpcore.plugin import PrivacySession, Problem

__all__ = ["TukeyEm"]

_BELOW = 1 - 2.0**-30
"""Of delta: what is charged is rounded up."""
_USUAL = 1000
_PASSED = "The test was passed, and a point drawn."
_EMPTY = (
    "The test was passed, and the point drawn is 0, as where most parts have too few rows to fit. "
    "Fewer parts (--set models=) have more rows each, and pass the test less often."
)
_FAILED = (
    "The test failed: coefficients are 0. More parts pass it (--set models=), if there are rows "
    "enough for them."
)


@dataclass(frozen=True, kw_only=True)
class TukeyEm:
    """Fits a least squares model in each of many parts of the rows, and draws a point deep among
    them, after a test that such a point hides each of them.

    Privacy: one (epsilon, delta)-DP release (``ProposeTestRelease``), whatever the rows and targets
    are. No noise is scaled to a bound of theirs. Where the test fails the model is 0, and the
    budget is spent: the failure is a released value.
    """

    models: int | None = option(
        None,
        "parts of the rows, each with a model",
        "models",
        "(22 ln(1/delta) + 25 n_features + 120) / epsilon, from 100 to 65536",
        range=(3, 2**16),
    )
    depth: float = option(
        0.2, "of the models: least depth of the point that is drawn", "1", range=(0.001, 0.499)
    )
    test_share: float = option(0.4, "of epsilon, for the test", "1", range=(0.001, 0.999))
    use: Mapping[str, str] = field(default_factory=dict)

    name: ClassVar[str] = "tukey-em"
    accountant: ClassVar[str] = "single"
    slots: ClassVar[dict[str, Slot]] = {}
    relations: ClassVar[tuple[str, ...]] = ("add-or-remove-one", "replace-one")
    needs: ClassVar[tuple[str, ...]] = ("squared-loss",)
    theorem: ClassVar[str] = (
        "propose, test, release (Dwork & Lei 2009) before the exponential mechanism over points of "
        "at least some depth; proved in dpcore_tukey.boxes and .propose_test_release"
    )
    departures: ClassVar[tuple[str, ...]] = (
        "the paper's text was not at hand: constants are those of the proofs here",
        "delta is spent once, on the test or on the draw; what a shallow layer adds to the draw's "
        "normaliser counts in epsilon",
        "coefficients on a public grid; volumes, weights and draws in whole numbers",
        "rows go to parts by independent coins, not in parts of equal size",
        "in the intercept's place, the prediction at the columns' public middles",
        "less depth and a smaller share for the test, which passes with fewer parts then",
        "where the test fails the model is 0, and the budget is spent",
    )
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {"models": 1000, "depth": 0.25, "test_share": 0.5}
    }
    preset_sources: ClassVar[dict[str, dict[str, str]]] = {
        "paper": {
            "models": "Amin et al. 2023: m = 1000 in their experiments",
            "depth": "Amin et al. 2023, TukeyEM: a depth of m / 4 or more",
            "test_share": "Amin et al. 2023: half of epsilon for the test",
        }
    }

    def __post_init__(self) -> None:
        check_ranges(self)

    def memory(self, problem: Problem) -> float:
        """Return the bytes of the products of all parts."""
        return 8.0 * entries_of(problem, self.models or _USUAL)

    def minimize(self, problem: Problem, session: PrivacySession) -> Solution:
        accountant: Any = session.accountant
        if accountant.name != self.accountant:
            raise InvalidInputError(
                "tukey-em makes one (epsilon, delta) release, which takes the whole budget: "
                "--accountant single (accountant='single')."
            )
        epsilon, delta = accountant.epsilon, accountant.delta * _BELOW
        models = self.models or _models(problem, epsilon, delta)
        base = PartModels(problem, models)
        least = max(1, math.floor(self.depth * models))
        exchange = session.start(ProposeTestRelease(base, epsilon, delta, self.test_share, least))
        details: dict[str, Any] = {"models": models, "test_passed": bool(exchange.value)}
        if (problem.n_public or math.inf) < 2 * models * problem.n_features:
            details["warning"] = "parts have fewer than two rows for each column: expect little."
        if not exchange.value:
            return Solution(np.zeros(problem.n_features), _FAILED, details)
        w = exchange.ask(base)
        status = _PASSED if np.any(w) else _EMPTY
        if problem.intercept:
            w[-1] -= middle_of(problem, w)
        return Solution(round_parameters(w, problem.raw_norm_bound), status, details)


def _models(problem: Problem, epsilon: float, delta: float) -> int:
    """Return the number of parts: of normal or Student's t (3) coefficients, up to 40 columns, the
    test is then passed in 99 of 100 runs."""
    wanted = (22 * math.log(1 / delta) + 25 * problem.n_features + 120) / epsilon
    return math.ceil(min(2**16, max(100, wanted)))

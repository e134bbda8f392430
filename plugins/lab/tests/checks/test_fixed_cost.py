"""An optimizer with a release of fixed cost may refuse the least budget, with nothing asked."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore.plugin import (
    ClippedGradientSum,
    FixedSchedule,
    Gaussian,
    RowCount,
    Solution,
    round_parameters,
)
from dpcore_accounting.distributions import IntegerDistribution, TableNoise
from dpcore_lab.checks import check_never_overspends

DISTRIBUTION = IntegerDistribution.of([0.8 ** abs(z) for z in range(-60, 61)], first=-60, bits=60)
TABLE = TableNoise(DISTRIBUTION, 1)


@dataclass(frozen=True, kw_only=True)
class CountsByTable:
    """Gradient steps on a budget of pld, after a count by a table of weights."""

    steps: int = 4

    slots: ClassVar[dict] = {}
    relations: ClassVar[tuple] = ("add-or-remove-one",)
    needs: ClassVar[tuple] = ("classification", "fixed-schedule")
    accountant: ClassVar[str] = "pld"

    def schedule(self, problem, noise_multiplier):
        count = TABLE.event(RowCount().sensitivity(problem.relation))
        return {count: 1, Gaussian.nominal_event(noise_multiplier): self.steps}

    def minimize(self, problem, session):
        m = FixedSchedule.noise_multiplier(session.accountant, lambda m: self.schedule(problem, m))
        n = max(1.0, session.release(RowCount(), TABLE)[0])
        w = np.zeros(problem.n_features)
        for _ in range(self.steps):
            total = session.release(ClippedGradientSum(problem, w, 1.0, "l2", m), Gaussian(m))
            w = round_parameters(w - total / n, problem.raw_norm_bound)
        return Solution(w, "All planned steps were taken.")


class RefusesAll(CountsByTable):
    slots, relations, needs = CountsByTable.slots, CountsByTable.relations, CountsByTable.needs
    accountant = "pld"

    def minimize(self, problem, session):
        raise InvalidInputError("no budget will do")


class CountsFirst(CountsByTable):
    """Asks for the rows before it knows of noise for the rest."""

    slots, relations, needs = CountsByTable.slots, CountsByTable.relations, CountsByTable.needs
    accountant = "zcdp"

    def minimize(self, problem, session):
        session.release(RowCount(), Gaussian(10_000.0))
        if session.accountant.epsilon < 1:
            raise InvalidInputError("this budget is too small")
        return super().minimize(problem, session)


@pytest.mark.slow
def test_a_budget_below_a_fixed_cost_may_be_refused():
    assert "epsilon 0.05, which it refuses" in check_never_overspends(CountsByTable()).not_tested


@pytest.mark.parametrize(
    ("optimizer", "reason"),
    [(RefusesAll(), "no budget will do"), (CountsFirst(), "this budget is too small")],
    ids=lambda part: type(part).__name__,
)
def test_what_is_refused_at_every_budget_or_after_a_release_is_a_fault(optimizer, reason):
    with pytest.raises(InvalidInputError, match=reason):
        check_never_overspends(optimizer)

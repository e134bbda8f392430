"""Accountants that charge other shapes of events, or large budgets, too little are caught."""

from fractions import Fraction

import pytest

from dpcore.accountants.dominating_pairs import _log_ratios_up
from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.plugin.parts import (
    AdditiveAccountant,
    DominatingPairDpEvent,
    PoissonSampledDpEvent,
    PureAccountant,
    RenyiDpEvent,
)
from dpcore_accounting.rdp import RdpAccountant
from dpcore_lab.checks import check_accountant
from dpcore_lab.recount.other_events import check_other_events
from dpcore_lab.recount.planned import check_deltas


class OneOrder(PureAccountant):
    """A pair costs what one of its orders does."""

    def _leaf_cost(self, event):
        if isinstance(event, DominatingPairDpEvent):
            return _log_ratios_up(event)[0]
        return super()._leaf_cost(event)


class BeyondTheCurve(RdpAccountant):
    """Beyond the last order a curve has its last value."""

    def _leaf_cost(self, event):
        if isinstance(event, RenyiDpEvent) and self.order > event.orders[-1]:
            return Fraction(event.epsilons[-1])
        return super()._leaf_cost(event)


class HalfTheSample(RdpAccountant):
    """More than half of the rows cost what half of them do."""

    def _leaf_cost(self, event):
        if isinstance(event, PoissonSampledDpEvent) and event.sampling_probability > 0.5:
            event = PoissonSampledDpEvent(0.5, event.event, event.relation)
        return super()._leaf_cost(event)


class LargeBudgets(ZcdpAccountant):
    """Above epsilon = 10 rho is taken to be epsilon."""

    @classmethod
    def _open(cls, epsilon, delta, conversion):
        budget, public = super()._open(epsilon, delta, conversion)
        return (Fraction(epsilon), public) if epsilon > 10 else (budget, public)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (OneOrder, "pair of a rare outcome"),
        (BeyondTheCurve, "Renyi curve up to order 4"),
        pytest.param(HalfTheSample, "Poisson sample of 0.6", marks=pytest.mark.slow),
        pytest.param(LargeBudgets, "of a budget of 50", marks=pytest.mark.slow),
    ],
)
def test_another_shape_or_budget_is_caught(kind, reason):
    with pytest.raises(AssertionError, match=reason):
        check_other_events(kind, True)


class KeepsNoReserve(ZcdpAccountant):
    """Plans a reserve and never charges it."""

    def compose(self, event):
        return AdditiveAccountant.compose(self, event)


def test_a_reserve_that_is_not_charged_is_caught():
    with pytest.raises(AssertionError, match="one by one, that come to epsilon=inf"):
        check_deltas(KeepsNoReserve, 0.5, 1e-6)


@pytest.mark.slow
def test_what_was_planned_is_not_said_to_be_left_out():
    left = " ".join(check_accountant(ZcdpAccountant).not_tested)
    assert "(epsilon, delta)" not in left and "Skellam" in left and "other sizes" in left

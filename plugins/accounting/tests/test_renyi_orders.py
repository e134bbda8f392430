"""Orders of Renyi divergence for tiny budgets: where they are, and what ends the search."""

import pytest

from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.plugin import FixedSchedule, NeighboringRelation
from dpcore.plugin.parts import (
    GaussianDpEvent,
    GdpAccountant,
    LaplaceDpEvent,
    PoissonSampledDpEvent,
    PureDpEvent,
)
from dpcore_accounting import renyi_orders
from dpcore_accounting.rdp import RdpAccountant

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
KINDS = {
    "normal": GaussianDpEvent,
    "laplace": LaplaceDpEvent,
    "pure": lambda m: PureDpEvent(1 / m),
}


def least_noise(accountant, epsilon, make):
    def schedule(m):
        return {make(m): 400}

    planned = FixedSchedule.planned_accountant(accountant, epsilon, 1e-8, None, schedule)
    return FixedSchedule.noise_multiplier(planned, schedule)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [1e-4, 1e-8])
def test_a_tiny_budget_asks_for_no_more_noise_than_its_closed_form(kind, epsilon):
    """Concentrated costs are at the best of all orders, without a search. 400 normal releases at
    1e-4 took 1.82e6 times the sensitivity by orders up to 2^16, 6.77e5 by larger ones."""
    ours, closed = (least_noise(a, epsilon, KINDS[kind]) for a in (RdpAccountant, ZcdpAccountant))
    assert ours <= closed * (1 + 1e-5)
    if kind == "normal":  # There gdp is exact: below it no bound holds.
        assert least_noise(GdpAccountant, epsilon, KINDS[kind]) < ours


def test_orders_that_end_too_soon_are_seen(monkeypatch):
    monkeypatch.setattr(renyi_orders, "_LARGEST", 2**16)
    closed = least_noise(ZcdpAccountant, 1e-4, GaussianDpEvent)
    assert least_noise(RdpAccountant, 1e-4, GaussianDpEvent) > 2 * closed


@pytest.mark.slow
def test_sums_over_orders_end_sooner():
    def schedule(m):
        return {PoissonSampledDpEvent(0.1, GaussianDpEvent(m), ADD): 10}

    assert (
        FixedSchedule.planned_accountant(RdpAccountant, 1e-4, 1e-8, None, schedule).order <= 2**16
    )

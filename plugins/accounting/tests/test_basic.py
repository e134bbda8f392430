"""Basic composition: a filter over the sums of epsilons and of deltas."""

import math

import pytest

from dpcore.errors import BudgetExceededError, InvalidInputError, UnsupportedEventError
from dpcore.plugin.parts import (
    ApproximateDpEvent,
    ExponentialMechanismDpEvent,
    GaussianDpEvent,
    PureDpEvent,
)
from dpcore_accounting.filters.basic import BasicAccountant
from dpcore_lab.checks import check_accountant

HALF = 2.0**-21


def budget():
    return BasicAccountant.from_budget(1.0, 2 * HALF)


def test_both_sums_are_held_to_the_budget():
    first = budget().compose(ApproximateDpEvent(0.5, HALF))
    assert (first.remaining, first.remaining_delta) == (0.5, HALF)
    full = first.compose(PureDpEvent(0.25)).compose(ApproximateDpEvent(0.25, HALF))
    assert (full.remaining, full.remaining_delta) == (0.0, 0.0)
    for event in (PureDpEvent(1e-9), ApproximateDpEvent(1e-9, 1e-30)):
        with pytest.raises(BudgetExceededError):
            full.compose(event)


def test_a_release_whose_delta_is_too_large_is_refused_whatever_its_epsilon():
    left = budget().compose(ApproximateDpEvent(0.01, HALF))
    for delta in (HALF * (1 + 2.0**-50), 1e-3):
        with pytest.raises(BudgetExceededError, match="delta"):
            left.compose(ApproximateDpEvent(0.01, delta))
    assert left.remaining_delta == HALF


def test_sums_are_rounded_up_and_the_budget_down():
    third = 1 / 3
    held = BasicAccountant.from_budget(3 * third, 1e-6)
    for _ in range(3):
        held = held.compose(ApproximateDpEvent(third, 1e-7 / 3))
    assert held.remaining_delta <= 1e-6 - 1e-7 + 1e-22
    with pytest.raises(BudgetExceededError):
        BasicAccountant.from_budget(1.0, 3e-7).compose(ApproximateDpEvent(0.1, 3.0000001e-7))


def test_what_was_spent_holds_at_deltas_that_cover_what_was_reserved():
    spent = budget().compose(ApproximateDpEvent(0.5, HALF)).compose(PureDpEvent(0.125))
    assert spent.get_epsilon(HALF) == spent.get_epsilon(0.5) == 0.625
    assert spent.get_epsilon(HALF * (1 - 2.0**-50)) == math.inf
    assert budget().get_epsilon(1e-30) == 0.0


def test_a_bounded_range_costs_its_epsilon_and_normal_noise_has_no_rule():
    assert budget().cost(ExponentialMechanismDpEvent(0.25)) == 0.25
    with pytest.raises(UnsupportedEventError):
        budget().compose(GaussianDpEvent(100.0))


def test_equal_parts_are_within_both_sums():
    part = budget().split(2)
    assert (part.remaining, part.remaining_delta) == (0.5, HALF)


def test_a_schedule_has_all_of_delta():
    assert BasicAccountant.with_reserve(1.0, 2 * HALF, HALF) == budget()
    with pytest.raises(InvalidInputError, match="delta"):
        BasicAccountant.with_reserve(1.0, HALF, 2 * HALF)


class ForgetsDeltas(BasicAccountant):
    """Broken: deltas are not added up."""

    def compose(self, event):
        return super().compose(event)._forgetting()

    def _forgetting(self):
        from dataclasses import replace

        return replace(self, reserved_ticks=0)


@pytest.mark.slow
def test_it_passes_the_checks_and_one_that_forgets_deltas_does_not():
    check_accountant(BasicAccountant)
    with pytest.raises(AssertionError):
        check_accountant(ForgetsDeltas)

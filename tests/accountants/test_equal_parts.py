"""Budgets in equal parts: together they hold no more than the whole."""

from dataclasses import replace
from fractions import Fraction

import pytest

from dpcore.accountants import GdpAccountant, ZcdpAccountant
from dpcore.accountants.equal_parts import equal_part
from dpcore.errors import BudgetExceededError, InvalidInputError
from dpcore.plugin import noise_multiplier
from dpcore.plugin.parts import (
    ApproximateDpEvent,
    GaussianDpEvent,
    PureAccountant,
    PureDpEvent,
    Registry,
)
from dpcore_accounting.advanced_composition import AdvancedCompositionAccountant
from dpcore_accounting.rdp import RdpAccountant
from dpcore_accounting.single import SingleReleaseAccountant
from dpcore_lab.checks import check_accountant

SPLIT = [GdpAccountant, ZcdpAccountant, RdpAccountant, PureAccountant]


def used_up(part, event_of):
    """Return a part after one release of all of it, and that release."""
    event = event_of(noise_multiplier(part, event_of, Fraction(part.remaining)))
    return part.compose(event), event


def pure(m):
    return PureDpEvent(1 / m)


def event_kind_of(accountant):
    return pure if accountant is PureAccountant else GaussianDpEvent


@pytest.mark.parametrize("parts", [2, 3, 7, 1000])
@pytest.mark.parametrize("accountant", SPLIT)
def test_the_whole_holds_the_releases_of_all_parts(accountant, parts):
    whole = accountant.from_budget(0.7, 1e-7)
    part = equal_part(whole, parts)
    after, event = used_up(part, event_kind_of(accountant))
    assert whole.holds({event: parts}) and part.delta == whole.delta
    assert whole.split(parts) == part and Registry.facts_of("accountant", whole).splits
    assert after.get_epsilon(1e-7) <= part.epsilon < whole.epsilon
    # Nothing but the rounding is lost.
    assert part.budget * parts == pytest.approx(whole.budget, rel=1e-9)


@pytest.mark.parametrize("accountant", SPLIT)
def test_parts_that_are_too_large_are_caught(accountant):
    class Twin(accountant):
        """The broken twin: a part of one less."""

        def split(self, parts):
            return super().split(parts - 1)

    whole = Twin.from_budget(0.7, 1e-7)
    _, event = used_up(whole.split(3), event_kind_of(accountant))
    assert not whole.holds({event: 3})
    with pytest.raises(InvalidInputError, match="together more"):
        equal_part(whole, 3)


@pytest.mark.parametrize("accountant", SPLIT)
def test_what_was_spent_is_not_shared_out(accountant):
    whole = accountant.from_budget(0.7, 1e-7)
    spent, _ = used_up(equal_part(whole, 4), event_kind_of(accountant))
    after = replace(whole, spent_ticks=spent.spent_ticks)
    _, event = used_up(equal_part(after, 2), event_kind_of(accountant))
    assert after.holds({event: 2}) and not after.holds({event: 3})
    assert equal_part(after, 3).spent == 0.0


@pytest.mark.parametrize("accountant", [ZcdpAccountant, RdpAccountant, PureAccountant])
def test_the_reserve_is_split_too(accountant):
    whole = accountant.with_reserve(0.7, 1e-6, 3e-7)
    part = equal_part(whole, 3)
    event = ApproximateDpEvent(1e-9, 1e-7)
    assert whole.holds({event: 3})
    part = part.compose(ApproximateDpEvent(1e-9, 0.9e-7))
    with pytest.raises(BudgetExceededError, match="of the delta that is kept"):
        part.compose(ApproximateDpEvent(1e-9, 0.2e-7))


def test_rho_and_mu_are_split_in_their_own_unit():
    assert ZcdpAccountant.of_native_budget(0.3, 1e-6).split(3).budget == pytest.approx(0.1)
    assert GdpAccountant.of_native_budget(0.6, 1e-6).split(4).budget == pytest.approx(0.09)


@pytest.mark.parametrize("accountant", [SingleReleaseAccountant, AdvancedCompositionAccountant])
def test_others_have_basic_composition(accountant):
    whole = accountant.from_budget(0.9, 3e-6)
    part = equal_part(whole, 3)
    assert not Registry.facts_of("accountant", whole).splits
    assert 3 * Fraction(part.epsilon) <= Fraction(0.9) and part.epsilon == pytest.approx(0.3)
    assert 3 * Fraction(part.delta) <= Fraction(3e-6) and part.delta == pytest.approx(1e-6)
    assert (part.conversion, part.spent) == (whole.conversion, 0.0)
    # A part's own curve at the whole's epsilon would say less than it costs.
    spent = whole.compose(GaussianDpEvent(20.0))
    with pytest.raises(InvalidInputError, match="does not say how what remains of it is split"):
        equal_part(spent, 3)


def test_a_part_that_is_nothing_is_refused():
    small = ZcdpAccountant.of_native_budget(2.0**-119, 1e-6)
    assert small.split(2).budget == 2.0**-120
    with pytest.raises(InvalidInputError, match="too small for 3 parts"):
        equal_part(small, 3)


class Greedy(ZcdpAccountant):
    """The broken twin: each part is the whole."""

    def split(self, parts):
        return self


def test_parts_that_are_more_than_the_whole_are_refused():
    with pytest.raises(InvalidInputError, match="together more"):
        equal_part(Greedy.from_budget(1.0, 1e-8), 3)


def test_the_check_of_accountants_splits_them():
    with pytest.raises((AssertionError, InvalidInputError)):
        check_accountant(Greedy)

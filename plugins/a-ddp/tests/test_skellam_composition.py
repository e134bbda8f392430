"""Rounds of sampled Skellam releases: against sums from the formula, and against Gaussian ones."""

from fractions import Fraction
from math import comb

import pytest

from dpcore.errors import BudgetExceededError, UnsupportedEventError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import (
    ComposedDpEvent,
    GaussianDpEvent,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
    SkellamDpEvent,
    load_registry,
)
from dpcore_a_ddp.sampling_composition import SamplingCompositionAccountant
from dpcore_a_ddp.skellam_noise.composition import (
    SkellamAdvancedAccountant,
    SkellamCompositionAccountant,
)
from dpcore_accounting.advanced_composition import AdvancedCompositionAccountant
from dpcore_accounting.skellam import skellam_delta_up

EVENT = SkellamDpEvent(2.0**24, 1000.0, 1024.0)  # a noise multiplier of 4
REPLACE = NeighboringRelation.REPLACE_ONE
SPECIAL = NeighboringRelation.REPLACE_SPECIAL
SAMPLED = SampledWithoutReplacementDpEvent(20, 1, EVENT, REPLACE)


@pytest.mark.parametrize("rounds", [1, 7, 40])
def test_delta_is_the_mean_over_the_hits(rounds):
    accountant = SkellamCompositionAccountant.from_budget(1.0, 0.5)
    for _ in range(rounds):
        accountant = accountant.compose(SAMPLED)
    values = (Fraction(EVENT.variance), Fraction(EVENT.l1_bound), Fraction(EVENT.l2_bound))
    p = Fraction(1, 20)
    exact = sum(
        comb(rounds, i) * p**i * (1 - p) ** (rounds - i) * skellam_delta_up(i, *values, Fraction(1))
        for i in range(1, rounds + 1)
    )
    assert exact <= accountant.spent <= float(exact) * (1 + 1e-6) + 1e-30


@pytest.mark.parametrize(
    ("ours", "gaussian"),
    [
        (SkellamCompositionAccountant, SamplingCompositionAccountant),
        (SkellamAdvancedAccountant, AdvancedCompositionAccountant),
    ],
)
def test_it_costs_more_than_gaussian_noise_of_the_same_size_and_not_much_more(ours, gaussian):
    normal = SampledWithoutReplacementDpEvent(20, 1, GaussianDpEvent(4.0), REPLACE)
    skellam, reference = ours.from_budget(50.0, 1e-6), gaussian.from_budget(50.0, 1e-6)
    for _ in range(10):
        skellam, reference = skellam.compose(SAMPLED), reference.compose(normal)
    assert reference.get_epsilon(1e-6) <= skellam.get_epsilon(1e-6)
    assert skellam.get_epsilon(1e-6) <= 1.4 * reference.get_epsilon(1e-6)


@pytest.mark.parametrize("accountant", [SkellamCompositionAccountant, SkellamAdvancedAccountant])
def test_it_is_a_filter(accountant):
    empty = accountant.from_budget(2.0, 1e-6)
    assert (empty.spent, empty.fully_adaptive) == (0.0, False)
    used, spent = empty, [0.0]
    with pytest.raises(BudgetExceededError):
        while len(spent) < 10_000:
            used = used.compose(SAMPLED)
            spent.append(used.spent)
            assert used.spent <= used.budget
    assert sorted(spent) == spent
    rounds = len(spent) - 1
    assert empty.holds({SAMPLED: rounds}) and not empty.holds({SAMPLED: rounds + 1})


def test_sampling_costs_less_and_every_kind_of_sample_is_held():
    budget = SkellamCompositionAccountant.from_budget(1.0, 0.5)
    spent = [
        budget.compose(event).spent
        for event in (EVENT, PoissonSampledDpEvent(0.05, EVENT, SPECIAL), SAMPLED)
    ]
    assert spent[0] > spent[1] == pytest.approx(spent[2])
    assert budget.compose(ComposedDpEvent((SAMPLED, SAMPLED))).spent > spent[2]


@pytest.mark.parametrize("accountant", [SkellamCompositionAccountant, SkellamAdvancedAccountant])
def test_other_events_and_mixed_schedules_are_refused(accountant):
    budget = accountant.from_budget(8.0, 1e-3)
    with pytest.raises(UnsupportedEventError, match="sampling-composition holds Gaussian ones"):
        budget.compose(GaussianDpEvent(4.0))
    with pytest.raises(UnsupportedEventError, match="one kind"):
        budget.compose(SAMPLED).compose(EVENT)
    with pytest.raises(UnsupportedEventError, match="one kind"):
        budget.compose(ComposedDpEvent((SAMPLED, EVENT)))


def test_amplification_of_a_fixed_size_is_for_replace_one():
    # Without the row the sample holds another in its place, which noise for a row that is swapped
    # for nothing does not cover. Conditioning on the hits compares nothing of the kind.
    special = SampledWithoutReplacementDpEvent(20, 1, EVENT, SPECIAL)
    with pytest.raises(UnsupportedEventError, match="skellam-advanced"):
        SkellamAdvancedAccountant.from_budget(8.0, 1e-3).compose(special)
    assert SkellamCompositionAccountant.from_budget(8.0, 1e-3).compose(special).spent > 0


@pytest.mark.parametrize("event", [EVENT, SAMPLED, PoissonSampledDpEvent(0.1, EVENT, SPECIAL)])
def test_pld_has_no_dominating_pair_of_skellam_noise(event):
    pld = load_registry().load("accountant", "pld")
    with pytest.raises(UnsupportedEventError, match="cannot bound the cost"):
        pld.from_budget(1.0, 1e-6).compose(event)

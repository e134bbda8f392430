"""Advanced composition of sampled Gaussian releases: the theorem in numbers, and a filter."""

import math

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.errors import BudgetExceededError, InvalidInputError, UnsupportedEventError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import (
    GaussianDpEvent,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
)
from dpcore_a_ddp.sampling_composition import SamplingCompositionAccountant
from dpcore_accounting.advanced_composition import (
    AdvancedCompositionAccountant,
    amplified_epsilon,
    epsilon_after,
    noise_multiplier_for,
)
from dpcore_accounting.joint_composition import Round
from dpcore_accounting.pld import PldAccountant
from dpcore_lab.recount.sampled import epsilon_composed

REPLACE = NeighboringRelation.REPLACE_ONE


def sampled(m, p):
    return PoissonSampledDpEvent(p, GaussianDpEvent(m), REPLACE)


@settings(max_examples=100, deadline=None)
@given(st.floats(1e-9, 600.0), st.floats(1e-12, 1.0))
def test_amplification_is_rounded_up(epsilon, p):
    with mp.workdps(60):
        exact = mp.log1p(mp.mpf(p) * mp.expm1(mp.mpf(epsilon)))
        assert exact * (1 - mp.mpf(10) ** -30) <= amplified_epsilon(epsilon, p)
        assert amplified_epsilon(epsilon, p) <= exact * (1 + 1e-8) + 1e-12 * epsilon


def test_p_times_epsilon_is_no_bound():
    # A release that says 1 with probability a on a table without the row and e^eps a with it.
    p, epsilon, a = 0.1, 2.0, 0.1
    assert (1 - math.exp(epsilon) * a) / (1 - a) > math.exp(-epsilon)  # it is eps-DP
    loss = math.log(((1 - p) * a + p * math.exp(epsilon) * a) / a)
    assert loss > 2 * p * epsilon
    assert amplified_epsilon(epsilon, p) >= loss


def test_the_value_is_the_theorem():
    for rounds, m, p, delta in (
        (10, 30.0, 0.1, 1e-5),
        (1000, 8.0, 0.01, 1e-6),
        (1, 2.0, 1.0, 1e-5),
    ):
        found = epsilon_after(((Round(m, p), rounds),), delta)
        again = epsilon_composed([sampled(m, p)] * rounds, delta)
        assert again * (1 - 1e-9) <= found <= again * (1 + 1e-7)
    mixed = ((Round(10.0, 0.1), 5), (Round(20.0, 1.0), 3))
    events = [sampled(10.0, 0.1)] * 5 + [sampled(20.0, 1.0)] * 3
    assert epsilon_after(mixed, 1e-6) == pytest.approx(epsilon_composed(events, 1e-6), rel=1e-7)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.integers(1, 5000), st.floats(1e-3, 1.0), st.floats(0.05, 8.0))
def test_calibrated_noise_keeps_the_budget_and_wastes_none(rounds, p, epsilon):
    m = noise_multiplier_for(rounds, p, epsilon, 1e-6)
    assert epsilon_after(((Round(m, p), rounds),), 1e-6) <= epsilon
    assert epsilon_after(((Round(m * (1 - 1e-6), p), rounds),), 1e-6) > epsilon


def test_it_grows_with_rounds_and_odds_and_falls_with_noise_and_delta():
    base = epsilon_after(((Round(5.0, 0.1), 50),), 1e-6)
    assert epsilon_after(((Round(5.0, 0.1), 51),), 1e-6) > base
    assert epsilon_after(((Round(5.0, 0.11), 50),), 1e-6) > base
    assert epsilon_after(((Round(5.1, 0.1), 50),), 1e-6) < base
    assert epsilon_after(((Round(5.0, 0.1), 50),), 1.1e-6) < base


def test_the_filter_holds_what_was_planned_and_no_more():
    m = noise_multiplier_for(20, 0.1, 1.0, 1e-6)
    accountant = AdvancedCompositionAccountant.from_budget(1.0, 1e-6)
    for _ in range(20):
        accountant = accountant.compose(sampled(m, 0.1))
    assert 0.999 < accountant.spent <= accountant.budget == 1.0
    assert accountant.get_epsilon(1e-6) == accountant.spent
    with pytest.raises(BudgetExceededError, match="With one release more"):
        accountant.compose(sampled(m, 0.1))
    assert not accountant.fully_adaptive


def test_bad_values_are_refused():
    for rounds, p in ((0, 0.5), (3, 0.0), (3, 1.5)):
        with pytest.raises(InvalidInputError, match="Expected rounds"):
            noise_multiplier_for(rounds, p, 1.0, 1e-6)


def test_a_fixed_size_is_amplified_only_where_the_noise_covers_another_row_in_its_place():
    # One row of ten, clip C, noise C, the others all at -C: against a row of nothing, a row at C
    # moves the mixture by more than amplification of noise C over H = C says.
    p, m, epsilon = 0.1, 1.0, 1.0
    alpha = 1 + p * math.expm1(epsilon)

    def tail(mean, x):
        return mp.ncdf(mean - x)

    claimed = p * (tail(1, 1.5) - math.exp(epsilon) * tail(0, 1.5))  # p delta_Gauss(C / sigma)
    true = max(
        p * tail(1, x) + (1 - p) * tail(-1, x) - alpha * (p * tail(0, x) + (1 - p) * tail(-1, x))
        for x in (0.0, 0.5, 1.0, 1.5, 2.0)
    )
    assert true > 1.01 * claimed
    special = SampledWithoutReplacementDpEvent(
        10, 1, GaussianDpEvent(m), NeighboringRelation.REPLACE_SPECIAL
    )
    with pytest.raises(UnsupportedEventError, match="sampling-composition .* holds samples"):
        AdvancedCompositionAccountant.from_budget(1.0, 1e-6).compose(special)
    assert SamplingCompositionAccountant.supports(special)
    replaced = SampledWithoutReplacementDpEvent(
        10, 1, GaussianDpEvent(m), NeighboringRelation.REPLACE_ONE
    )
    assert AdvancedCompositionAccountant.supports(replaced)


def test_the_advanced_composition_amplifies_each_release_correctly():
    # ln(1 + p (e^eps - 1)), by hand, and not p eps, which is too small.
    assert amplified_epsilon(1.0, 0.1) == pytest.approx(math.log(1 + 0.1 * (math.e - 1)))
    assert amplified_epsilon(1.0, 0.1) > 0.1


def exact_delta(mu, epsilon):
    a = mp.mpf(epsilon) / mu - mp.mpf(mu) / 2
    return mp.ncdf(-a) - mp.exp(epsilon) * mp.ncdf(-a - mu)


def test_dwork_and_roths_theorem_is_offered_by_its_name():
    # Theorem 3.20 written out again, in one release's epsilon.
    m, rounds, delta = 8.0, 31, 1e-6
    accountant = AdvancedCompositionAccountant.from_budget(50.0, delta, "dwork-roth")
    for _ in range(rounds):
        accountant = accountant.compose(GaussianDpEvent(m))
    with mp.workdps(30):
        share = mp.mpf(delta) / (2 * rounds)
        each = mp.findroot(lambda e: mp.log(exact_delta(1 / mp.mpf(m), e) / share), 0.5)
        total = mp.sqrt(2 * rounds * mp.log(2 / mp.mpf(delta))) * each
        total += rounds * each * mp.expm1(each)
    assert total <= accountant.spent <= total * (1 + 1e-7)
    usual = AdvancedCompositionAccountant.from_budget(50.0, delta)
    for _ in range(rounds):
        usual = usual.compose(GaussianDpEvent(m))
    assert usual.spent < accountant.spent


@pytest.mark.parametrize("base", [AdvancedCompositionAccountant, PldAccountant])
def test_rounds_charged_by_a_method_of_the_old_name_are_refused(base):
    twice = {"_figure": lambda self, rounds: 2 * self._composed(rounds)}
    for bases, names in (((base,), twice), ((type("Twice", (), twice), base), {})):
        with pytest.raises(TypeError, match="Mine._figure is _composed now"):
            type("Mine", bases, names)

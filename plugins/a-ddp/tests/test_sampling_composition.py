"""Composition by the number of rounds in which a row is drawn: exact where it is exact, never below
a distribution worked out by hand elsewhere, and a filter for schedules fixed beforehand."""

import itertools
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.errors import BudgetExceededError, InvalidInputError, UnsupportedEventError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import (
    ComposedDpEvent,
    GaussianDpEvent,
    GdpAccountant,
    LaplaceDpEvent,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
)
from dpcore_a_ddp.draw_distribution import NO_DRAWS, hits_of
from dpcore_a_ddp.sampling_composition import (
    SamplingCompositionAccountant,
    delta_after,
    noise_multiplier_for,
    rounds_within,
)
from dpcore_accounting.advanced_composition import epsilon_of_shift_up
from dpcore_accounting.gaussian_floats import gaussian_deltas_up

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE


def sampled(m, p, relation=REPLACE):
    return PoissonSampledDpEvent(p, GaussianDpEvent(m), relation)


def exact_gaussian(mu, epsilon):
    """Balle & Wang 2018, Theorem 8, with 60 digits."""
    if mu == 0:
        return mp.mpf(0)
    with mp.workdps(60):
        a = mp.mpf(epsilon) / mu - mp.mpf(mu) / 2
        return mp.ncdf(-a) - mp.exp(epsilon) * mp.ncdf(-a - mu)


def by_every_pattern(schedule, epsilon):
    """The mean over all 2^k patterns of rounds drawn."""
    total = mp.mpf(0)
    with mp.workdps(60):
        for drawn in itertools.product((0, 1), repeat=len(schedule)):
            weight, square = mp.mpf(1), mp.mpf(0)
            for hit, (m, p) in zip(drawn, schedule, strict=True):
                weight *= mp.mpf(p) if hit else 1 - mp.mpf(p)
                square += hit / mp.mpf(m) ** 2
            total += weight * exact_gaussian(mp.sqrt(square), epsilon)
        return total


def distribution_of(schedule):
    distribution = NO_DRAWS
    for m, p in schedule:
        distribution = distribution.after(1, math.nextafter(1 / m / m, math.inf), p)
    return distribution


@settings(max_examples=150, deadline=None)
@given(st.floats(-4, 1.4), st.floats(-3, 2))
def test_the_fast_curve_is_above_the_certified_one_by_a_hair(log_mu, log_epsilon):
    mu, epsilon = 10**log_mu, 10**log_epsilon
    fast = gaussian_deltas_up(np.array([mu]), epsilon)[0]
    certified = GdpAccountant.delta_up(Fraction(mu), Fraction(epsilon))
    assert fast >= certified * (1 - Fraction(1, 10**30)) or fast == 1.0
    assert fast <= float(certified) * (1 + 1e-6) + 2e-290


def test_the_fast_curve_at_its_ends():
    assert gaussian_deltas_up(np.array([0.0, 1e-9, 1e9]), 1.0).tolist() == [0.0, 1e-290, 1.0]
    at_zero = gaussian_deltas_up(np.array([1.0]), 0.0)[0]
    assert at_zero == pytest.approx(0.3829249225480262, rel=1e-8)  # 2 Phi(1/2) - 1
    assert epsilon_of_shift_up(1.0, 0.5) == 0.0
    epsilon = epsilon_of_shift_up(1.0, 1e-5)
    assert exact_gaussian(1.0, epsilon) <= 1e-5 <= exact_gaussian(1.0, epsilon * (1 - 1e-6))


@pytest.mark.parametrize("epsilon", [0.0, 1e-300, 1.0, 1e300])
def test_the_fast_curve_warns_of_nothing_at_any_scale(epsilon):
    # epsilon / mu overflowed, with NumPy's warning (an error here); no value came of it.
    shifts = [0.0, 5e-324, 1e-300, 1e-9, 1.0, 1e9, 1e300]
    deltas = gaussian_deltas_up(np.array(shifts), epsilon)
    assert deltas[0] == 0.0 and (deltas[1:] >= 1e-290).all() and (deltas <= 1.0).all()
    for shift in (1e-9, 1.0, 1e9):
        if epsilon <= 1:  # beyond it only the shift of 1e300 has a delta above 1e-290
            assert deltas[shifts.index(shift)] >= min(exact_gaussian(shift, epsilon), 1)


@pytest.mark.parametrize("p", [1e-6, 0.01, 0.3, 0.5, 0.99, 1.0])
@pytest.mark.parametrize("rounds", [1, 7, 500])
def test_the_distribution_of_the_hits_is_the_binomial_from_above(rounds, p):
    first, mass, lost, slack = hits_of(rounds, p)
    assert slack < 1e-9
    with mp.workdps(60):
        for i, weight in enumerate(mass, start=first):
            exact = mp.binomial(rounds, i) * mp.mpf(p) ** i * (1 - mp.mpf(p)) ** (rounds - i)
            assert weight * (1 + slack) >= exact
            # The first one holds what is cut off below.
            assert weight <= exact * (1 + 1e-9) + (1e-30 if i == first else 0)
    assert lost <= 1e-30


def test_thousands_of_rounds_are_cut_off_on_both_sides_at_no_cost():
    first, mass, lost, _ = hits_of(10**6, 0.3)
    assert 0 < first and mass.size < 20_000 and lost < 1e-40
    assert mass.sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_constant_noise_is_the_theorem_itself(epsilon):
    for rounds, m, p in ((1, 1.0, 0.1), (5, 2.0, 0.3), (9, 0.7, 0.01)):
        exact = by_every_pattern([(m, p)] * rounds, epsilon)
        found = delta_after(rounds, m, p, epsilon)
        assert exact <= found <= exact * (1 + 1e-7)


def test_every_row_every_round_is_gaussian_composition():
    found = delta_after(25, 10.0, 1.0, 1.0)
    assert found == pytest.approx(
        float(GdpAccountant.delta_up(Fraction(1, 2), Fraction(1))), rel=1e-8
    )


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.5, 4.0), st.floats(0.01, 1.0)), min_size=1, max_size=6),
    st.floats(0.05, 3.0),
)
def test_any_fixed_schedule_is_bounded_from_above_and_not_by_much(schedule, epsilon):
    exact = by_every_pattern(schedule, epsilon)
    found = distribution_of(schedule).delta_up(epsilon)
    assert found >= exact
    # Steps on the lattice are at most 1/64 too long.
    longer = by_every_pattern([(m / math.sqrt(65 / 64), p) for m, p in schedule], epsilon)
    assert found <= longer * (1 + 1e-6) + 1e-30


def test_only_the_probability_changes_is_exact():
    schedule = [(1.5, 0.1), (1.5, 0.4), (1.5, 0.02), (1.5, 1.0)]
    exact = by_every_pattern(schedule, 0.7)
    assert exact <= distribution_of(schedule).delta_up(0.7) <= exact * (1 + 1e-7)


def test_a_long_schedule_of_changing_noise_stays_small_and_above():
    distribution = NO_DRAWS
    for k in range(400):
        distribution = distribution.after(1, (3 + k / 100) ** -2, 0.5)
    assert distribution.mass.size <= 2**15
    squares = sum((3 + k / 100) ** -2 for k in range(400)) / 2
    # Nearly normal around its mean: above the curve there, and not far.
    assert distribution.delta_up(2.0) >= float(exact_gaussian(math.sqrt(squares), 2.0))
    assert distribution.delta_up(2.0) <= float(exact_gaussian(math.sqrt(squares * 1.1), 2.0))


def test_noise_of_other_orders_of_magnitude_stays_small_and_above():
    schedule = [(0.1, 0.5), (1000.0, 0.5), (1e5, 1.0), (0.3, 0.2)] * 2
    distribution = distribution_of(schedule)
    assert distribution.mass.size <= 2**15
    for epsilon in (1.0, 30.0):
        exact = by_every_pattern(schedule, epsilon)
        assert exact <= distribution.delta_up(epsilon) <= exact * 1.01
    many = NO_DRAWS.after(5000, 1e-6, 0.5).after(3, 100.0, 0.5).after(5000, 1e-6, 0.5)
    assert many.mass.size <= 2**15


def test_the_sensitivity_of_a_replaced_row_is_twice_the_clip():
    # One round, every row drawn, sigma = C, eps = 1: two opposite clipped gradients are 2 C apart.
    # What follows from H = C, right where a row is swapped for one that contributes nothing, is a
    # quarter of the truth.
    true = float(exact_gaussian(2.0, 1.0))
    claimed = delta_after(1, 1.0, 1.0, 1.0)  # sigma / H with H = C
    sound = delta_after(1, 0.5, 1.0, 1.0)  # sigma / H with H = 2 C
    assert true == pytest.approx(0.51, abs=0.005) and claimed == pytest.approx(0.13, abs=0.005)
    assert claimed < true <= sound


def test_a_round_is_judged_before_it_is_joined():
    # Algorithm 1 of Cheng et al. 2020 tests delta after the round, and stops when it is too late.
    m, p, epsilon, delta = 6.0, 0.05, 0.5, 1e-5
    sound = rounds_within(m, p, epsilon, delta)
    late = next(k for k in itertools.count(1) if delta_after(k, m, p, epsilon) > delta)
    assert late == sound + 1
    assert delta_after(sound, m, p, epsilon) <= delta < delta_after(late, m, p, epsilon)


def test_rounds_within_at_its_ends():
    assert rounds_within(0.1, 0.5, 0.1, 1e-8) == 0
    assert rounds_within(1e9, 0.5, 0.1, 1e-8) == 10**9
    with pytest.raises(InvalidInputError, match="Expected p="):
        rounds_within(1.0, 0.0, 0.1, 1e-8)
    for m in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(InvalidInputError, match="Expected noise_multiplier="):
            delta_after(3, m, 0.5, 1.0)


@pytest.mark.parametrize("m", [5e-324, 1e-200, 1e-155, 1e-150])
@pytest.mark.parametrize("before", [{}, {GaussianDpEvent(1e3): 5}])
def test_noise_whose_squared_inverse_leaves_the_floats_is_refused(m, before):
    # It ended in an OverflowError where 1 / m^2 is infinite.
    accountant = SamplingCompositionAccountant.from_budget(1e100, 0.5)
    for event in before:
        accountant = accountant.compose(event)
    for event in (
        GaussianDpEvent(m),
        sampled(m, 1e-3),
    ):
        with pytest.raises(BudgetExceededError, match="sampling-composition accountant"):
            accountant.compose(event)
        assert not accountant.holds(before | {event: 1})
    assert delta_after(3, m, 0.5, 1.0) == 1.0
    assert rounds_within(m, 0.5, 1.0, 1e-5) == 0


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 3000), st.floats(1e-4, 1.0), st.floats(0.02, 6.0), st.sampled_from([1e-9, 1e-5])
)
def test_calibrated_noise_keeps_the_budget_and_wastes_none(rounds, p, epsilon, delta):
    m = noise_multiplier_for(rounds, p, epsilon, delta)
    assert delta_after(rounds, m, p, epsilon) <= delta
    assert delta_after(rounds, m * (1 - 1e-6), p, epsilon) > delta
    assert rounds_within(m, p, epsilon, delta) >= rounds


@pytest.mark.parametrize("bad", [(0, 0.5, 1.0, 1e-5), (1, 0.0, 1.0, 1e-5), (1, 1.1, 1.0, 1e-5)])
def test_bad_values_are_refused(bad):
    with pytest.raises(InvalidInputError, match="Expected"):
        noise_multiplier_for(*bad)


@pytest.mark.parametrize("epsilon", [0.05, 1.0])
def test_delta_grows_with_rounds_and_odds_and_falls_with_noise_and_epsilon(epsilon):
    base = delta_after(50, 2.0, 0.1, epsilon)
    assert delta_after(51, 2.0, 0.1, epsilon) > base
    assert delta_after(50, 2.0, 0.11, epsilon) > base
    assert delta_after(50, 2.1, 0.1, epsilon) < base
    assert delta_after(50, 2.0, 0.1, epsilon * 1.1) < base
    assert delta_after(0, 2.0, 0.1, epsilon) == 0.0


def test_the_filter_stops_before_the_round_too_many():
    m, p, epsilon, delta = 8.0, 0.1, 1.0, 1e-5
    accountant = SamplingCompositionAccountant.from_budget(epsilon, delta)
    allowed = rounds_within(m, p, epsilon, delta)
    assert allowed > 3
    costs = []
    for _ in range(allowed):
        costs.append(accountant.cost(sampled(m, p)))
        accountant = accountant.compose(sampled(m, p))
    with pytest.raises(BudgetExceededError, match="With one release more"):
        accountant.compose(sampled(m, p))
    assert accountant.spent == delta_after(allowed, m, p, epsilon) <= accountant.budget == delta
    assert float(sum(costs)) == pytest.approx(accountant.spent, rel=1e-9)
    assert accountant.get_epsilon(delta) <= epsilon
    empty = SamplingCompositionAccountant.from_budget(epsilon, delta)
    assert empty.spent == empty.get_epsilon(delta) == 0.0
    with pytest.raises(BudgetExceededError, match="too small for one release"):
        empty.compose(GaussianDpEvent(0.1))
    assert empty.holds({sampled(m, p): allowed})
    assert not empty.holds({sampled(m, p): allowed + 1})


def test_samples_of_a_fixed_size_and_full_passes_count_with_their_odds():
    accountant = SamplingCompositionAccountant.from_budget(1.0, 1e-5)
    one = SampledWithoutReplacementDpEvent(100, 1, GaussianDpEvent(3.0), REPLACE)
    fixed = accountant.compose(one).compose(one)
    assert fixed.spent == pytest.approx(delta_after(2, 3.0, 0.01, 1.0), rel=1e-12)
    both = accountant.compose(ComposedDpEvent((GaussianDpEvent(9.0), sampled(9.0, 0.25))))
    assert both.spent == pytest.approx(float(by_every_pattern([(9, 1), (9, 0.25)], 1.0)), rel=1e-7)


def test_it_is_for_gaussian_noise_on_a_schedule():
    accountant = SamplingCompositionAccountant.from_budget(1.0, 1e-5)
    assert not accountant.fully_adaptive
    for event in (
        LaplaceDpEvent(1.0),
        PoissonSampledDpEvent(0.1, LaplaceDpEvent(1.0), ADD),
        ComposedDpEvent((GaussianDpEvent(3.0), LaplaceDpEvent(1.0))),
    ):
        assert not accountant.supports(event)
        with pytest.raises(UnsupportedEventError, match="sampling-composition"):
            accountant.compose(event)
    with pytest.raises(InvalidInputError, match="joint-convexity"):
        SamplingCompositionAccountant.from_budget(1.0, 1e-5, "loose")
    with pytest.raises(InvalidInputError, match="delta"):
        SamplingCompositionAccountant.from_budget(1.0, 0.0)

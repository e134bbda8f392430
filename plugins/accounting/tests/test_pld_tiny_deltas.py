"""Privacy losses at deltas far below what a float adds up to: no floor under a value."""

import itertools

import mpmath as mp
import numpy as np
import pytest

from dpcore.plugin import FixedSchedule, NeighboringRelation
from dpcore.plugin.parts import DominatingPairDpEvent, GaussianDpEvent, PoissonSampledDpEvent
from dpcore_accounting import privacy_loss_curves
from dpcore_accounting.gaussian_curve import gaussian_bounds
from dpcore_accounting.pld import PldAccountant
from dpcore_accounting.privacy_loss_composition import _one_order, composed_delta_up
from dpcore_accounting.rdp import RdpAccountant

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE


def sampled(m, p, relation=ADD):
    return PoissonSampledDpEvent(p, GaussianDpEvent(m), relation)


def schedule(m):
    return {sampled(m, 0.01): 1000}


def renyi_epsilon(events, delta):
    """Return the epsilon of the rdp accountant at the order that is best for these releases."""
    accountant = RdpAccountant.for_schedule(1e4, delta, events)
    for event, count in events.items():
        for _ in range(count):
            accountant = accountant.compose(event)
    return accountant.get_epsilon(delta)


@pytest.mark.slow
def test_a_plan_for_one_delta_has_an_epsilon_at_another():
    """It raised "zero-size array to reduction operation maximum which has no identity"."""
    accountant = FixedSchedule.planned_accountant(PldAccountant, 8.0, 1e-5, None, schedule)
    events = schedule(FixedSchedule.noise_multiplier(accountant, schedule))
    accountant = accountant.compose(*events)
    found = [accountant.get_epsilon(delta) for delta in (1e-5, 1e-15, 1e-100)]
    assert found == sorted(found) and found[0] == 8.0
    assert found[1] <= renyi_epsilon(events, 1e-15) and found[2] <= renyi_epsilon(events, 1e-100)


def test_a_plan_at_a_tiny_delta_takes_no_more_noise_than_one_renyi_order():
    """It took 1.94 where rdp takes .85: each release kept 2^-50 of its sampling probability."""
    found = []
    for accountant_class in (PldAccountant, RdpAccountant):
        accountant = FixedSchedule.planned_accountant(accountant_class, 8.0, 1e-15, None, schedule)
        found.append(FixedSchedule.noise_multiplier(accountant, schedule))
    assert 0.8 < found[0] <= found[1] < 0.86


@pytest.mark.slow
@pytest.mark.parametrize("m", [0.3, 0.8, 2.0, 30.0])
def test_it_is_below_one_renyi_order_from_few_releases_to_many(m):
    for p, count in itertools.product((1e-6, 0.01, 0.5, 1.0), (1, 2, 30, 1000)):
        for delta in (1e-3, 1e-10, 1e-15, 1e-30, 1e-100):
            events = {sampled(m, p): count}
            epsilon = renyi_epsilon(events, delta)
            if epsilon < 200:
                assert composed_delta_up(tuple(events.items()), epsilon, delta) <= delta


def exact_back(m, p, x):
    """The curve of the distribution without a row against that with it, at x > 0, with 60 digits:
    where the density is e^-x times the other's at most, that is up to one threshold."""
    with mp.workdps(60):
        m, p, x = mp.mpf(m), mp.mpf(p), mp.mpf(x)
        rest = mp.exp(-x) - (1 - p)
        if rest <= 0:
            return mp.mpf(0)
        threshold = m * m * mp.log(rest / p) + mp.mpf(1) / 2
        without, drawn = mp.ncdf(threshold / m), mp.ncdf((threshold - 1) / m)
        return without - mp.exp(x) * ((1 - p) * without + p * drawn)


def clipped_before_its_error_is_added(mu, p, x):
    """Broken on purpose, as it was: beyond its largest loss a release kept p 2^-50."""
    rest = np.clip(1 + np.expm1(-x) / p, 0.0, 1.0)
    some = np.maximum(rest, 2.0**-40)
    low, high = gaussian_bounds(mu, -np.log(some), 2.0**-50 / some)
    return low * 0, p * (rest + 2.0**-50) * np.where(rest > 2.0**-40, high, 1.0)


@pytest.mark.parametrize(("m", "p"), [(1.0, 0.01), (0.4, 0.3), (5.0, 1e-4), (0.7, 0.999)])
def test_the_curve_without_the_row_ends_where_its_losses_do(m, p, monkeypatch):
    end = float(-mp.log1p(-mp.mpf(p)))
    shares = [1e-6, 0.1, 0.5, 0.9, 0.99, 1 - 1e-6, 1 - 1e-10, 1 - 1e-13, 1 + 1e-10, 2.0]
    x = np.array(shares) * end

    def back():
        return privacy_loss_curves.curves_of(sampled(m, p))[1].bounds(x)

    low, high = back()
    exact = [exact_back(m, p, each) for each in x]
    # Below 2^-1022 rounding is no share of a number: the sum of all releases counts for it.
    assert all(a <= e <= b + 2.0**-1000 for a, e, b in zip(low, exact, high, strict=True))
    assert (high[-2:] == 0).all()
    near = [float(b / e) for e, b in zip(exact[1:5], high[1:5], strict=True)]
    assert max(near) < 1 + 1e-9
    monkeypatch.setattr(privacy_loss_curves, "_sampled_down", clipped_before_its_error_is_added)
    assert back()[1][-1] >= p * 2.0**-51


def exact_of_two(m, p, epsilon):
    """Delta of two sampled releases without the row against with it, by the distribution of one
    loss and the exact curve of the other, integrated with 40 digits."""

    def loss(y):
        return -mp.log(1 - p + p * mp.exp((2 * y - 1) / (2 * mp.mpf(m) ** 2)))

    def integrand(y):
        return mp.npdf(y, 0, m) * exact_back(m, p, mp.mpf(epsilon) - loss(y))

    with mp.workdps(40):  # Of the two losses one is above the other's share of epsilon.
        top = mp.findroot(lambda y: loss(y) - (epsilon + mp.log1p(-p)), -m)
        return mp.quad(integrand, mp.linspace(top - 12 * m, top, 30))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("m", "p", "epsilon"), [(1.0, 0.5, 1.2), (1.0, 0.5, 1.36), (3.0, 0.5, 1.0)]
)
def test_two_releases_without_the_row_are_just_above_the_exact_value(m, p, epsilon):
    exact = exact_of_two(m, p, epsilon)
    assert 1e-13 < exact < 1e-4
    back = [(privacy_loss_curves.curves_of(sampled(m, p))[1], 2)]
    beside = _one_order(back, epsilon * 1.03, float(exact))
    assert beside <= exact <= _one_order(back, epsilon, float(exact))


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_noise_that_hides_nothing_costs_what_the_coins_do(relation):
    """Its value was 1, as the curve's lower bound was 0 for mu above 50."""
    m, p, rounds = 0.001, 1e-9, 10**6
    found = composed_delta_up(((sampled(m, p, relation), rounds),), 1.0, 1e-5)
    drawn = 1 - (1 - mp.mpf(p)) ** rounds
    assert drawn * (1 - 1e-9) <= found <= drawn * (1 + 1e-6) < 1e-3


@pytest.mark.parametrize("mu", [50.5, 60.0, 1e3, 1e150])
def test_a_curve_of_more_than_fifty_deviations_is_that_of_fifty_or_above(mu):
    z = np.array([0.0, 1.0, 100.0, 600.0])
    low, high = gaussian_bounds(mu, z, np.zeros(4))
    assert (low >= gaussian_bounds(50.0, z, np.zeros(4))[0]).all() and (high == 1.0).all()
    with mp.workdps(50):
        for each, bound in zip(z.tolist(), low.tolist(), strict=True):
            a = each / mp.mpf(mu) - mp.mpf(mu) / 2
            assert bound <= mp.ncdf(-a) - mp.exp(each) * mp.ncdf(-a - mu)


def test_a_pair_of_two_distributions_ends_where_its_ratios_do():
    """Its bound was 2^-44 and more at every epsilon: no value was below 5e-14 for each release."""
    pair = DominatingPairDpEvent((9, 1), (1, 1))
    assert composed_delta_up(((pair, 20),), 20 * np.log(5) * 1.05, 1e-30) <= 1e-200
    for epsilon in (20.0, 30.0, 31.5):
        # ln(1/5) or ln(9/5), by how often each came: the other way round is the larger one.
        exact = mp.mpf(0)
        for k in range(21):
            here = mp.binomial(20, k) * mp.mpf("0.5") ** 20
            there = mp.binomial(20, k) * mp.mpf("0.9") ** k * mp.mpf("0.1") ** (20 - k)
            exact += max(mp.mpf(0), here - mp.exp(epsilon) * there)
        assert exact <= composed_delta_up(((pair, 20),), epsilon, max(float(exact), 1e-40))


def test_pairs_of_many_outcomes_enclose_the_exact_curve():
    rng = np.random.default_rng(7)
    p, q = (tuple(int(w) for w in rng.integers(1, 10**9, 600)) for _ in range(2))
    curve = privacy_loss_curves.curves_of(DominatingPairDpEvent(p, q))[0]
    x = np.array([0.0, 0.5, 2.0, 8.0])
    low, high = curve.bounds(x)
    for a, b, each in zip(low, high, x.tolist(), strict=True):
        with mp.workdps(40):
            distributions = [
                [mp.mpf(w) / sum(distribution) for w in distribution] for distribution in (p, q)
            ]
            exact = max(
                mp.fsum(max(mp.mpf(0), s - mp.exp(each) * t) for s, t in zip(*pair, strict=True))
                for pair in (distributions, distributions[::-1])
            )
        assert a <= exact <= b <= a * (1 + 1e-9)

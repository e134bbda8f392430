"""The cost of Skellam noise against its exact Renyi divergence and its exact delta."""

from fractions import Fraction

import mpmath
import pytest

from dpcore.accountants import ZcdpAccountant
from dpcore.errors import InvalidInputError, UnsupportedEventError
from dpcore.plugin.parts import GdpAccountant, RenyiDpEvent, SkellamDpEvent
from dpcore_accounting.rdp import RdpAccountant
from dpcore_accounting.skellam import skellam_delta_up, skellam_renyi_up
from dpcore_lab.recount.ledger import renyi_divergence

ORDERS = [
    Fraction(1001, 1000),
    Fraction(3, 2),
    Fraction(2),
    Fraction(5, 2),
    Fraction(7),
    Fraction(31),
]


def log_masses(mu, reach):
    logs = [mpmath.log(mpmath.besseli(k, mu)) - mu for k in range(reach + 1)]
    return lambda k: logs[abs(k)]


def exact_divergence(log_mass, shift, alpha, reach):
    terms = (
        mpmath.exp(alpha * log_mass(k - shift) + (1 - alpha) * log_mass(k))
        for k in range(shift - reach, reach + 1)
    )
    return mpmath.log(mpmath.fsum(terms)) / (alpha - 1)


def event(mu, *change):
    return SkellamDpEvent(
        float(mu), float(sum(map(abs, change))), sum(x * x for x in change) ** 0.5 * (1 + 1e-15)
    )


def as_mpf(x):
    return mpmath.mpf(x.numerator) / x.denominator


@pytest.mark.slow
@pytest.mark.parametrize("mu", [0.25, 1.0, 6.0, 150.0])
def test_the_bound_holds_for_the_exact_distribution_in_one_and_more_dimensions(mu):
    reach = int(31 * 8 + 14 * mu**0.5 + 60)
    with mpmath.workdps(30):
        log_mass = log_masses(mpmath.mpf(mu), reach + 8)
        for alpha in ORDERS:
            divergence = {x: exact_divergence(log_mass, x, as_mpf(alpha), reach) for x in (1, 3, 8)}
            # Divergences of independent coordinates add up.
            for change in ((1,), (3,), (8,), (1, 1, 1), (1, 3, 8)):
                bound = as_mpf(skellam_renyi_up(event(mu, *change), alpha))
                exact = mpmath.fsum(divergence[x] for x in change)
                assert exact <= bound
                if alpha == 2 and mu == 150:
                    assert bound <= 1.2 * exact


def test_the_cost_of_a_gaussian_would_be_too_low():
    # Positive control, near order 1: of all noise of one variance the normal has the least Fisher
    # information.
    with mpmath.workdps(30):
        alpha = mpmath.mpf("1.001")
        exact = exact_divergence(log_masses(mpmath.mpf(1), 120), 1, alpha, 100)
        assert exact > 1.05 * alpha / 2
        assert exact <= as_mpf(skellam_renyi_up(event(1, 1), Fraction(1001, 1000)))


def exact_delta(mu, shift, epsilon, reach=200):
    log_mass = log_masses(mpmath.mpf(mu), reach + shift)
    terms = (
        mpmath.exp(log_mass(k - shift)) - mpmath.exp(epsilon + log_mass(k))
        for k in range(-reach, reach + 1)
    )
    return mpmath.fsum(max(mpmath.mpf(0), x) for x in terms)


@pytest.mark.parametrize("mu, shift", [(2, 1), (20, 3), (100, 10)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_delta_is_above_the_exact_one(mu, shift, epsilon):
    values = Fraction(mu), Fraction(shift), Fraction(shift), Fraction(epsilon)
    bound = skellam_delta_up(1, *values)
    with mpmath.workdps(30):
        exact = exact_delta(mu, shift, epsilon)
        assert exact <= as_mpf(bound)


def test_delta_moves_the_right_way():
    def delta(hits=3, mu=400, d1=30, d2=10, epsilon=1.0):
        return skellam_delta_up(hits, Fraction(mu), Fraction(d1), Fraction(d2), Fraction(epsilon))

    assert delta(hits=0) == 0
    assert delta(hits=3) < delta(hits=4) < delta(hits=400) == 1
    assert delta(mu=800) < delta() < delta(d2=12) and delta() < delta(d1=40)
    assert delta(epsilon=2.0) < delta() < delta(epsilon=0.5)


def test_on_a_fine_grid_the_cost_is_that_of_a_gaussian():
    # 10 releases of noise multiplier 4: what the Renyi bound of a Gaussian gives at its best order.
    d2 = Fraction(1 << 20)
    rho = Fraction(10, 32)
    epsilon = RenyiDpEvent.epsilon_up(
        rho * (1 + RenyiDpEvent.best_order_for_report(rho, 1e-6)),
        1e-6,
        RenyiDpEvent.best_order_for_report(rho, 1e-6),
    )
    delta = skellam_delta_up(10, 16 * d2 * d2, 11 * d2, d2, epsilon)
    # Whole orders only: a little more.
    assert 1e-6 <= delta < 1.02e-6


def test_the_rdp_accountant_holds_it_and_others_refuse():
    released = event(10**6, 100, 100)
    rdp = RdpAccountant.from_budget(1.0, 1e-6)
    cost = rdp.cost(released)
    assert cost == pytest.approx(renyi_divergence(released, float(rdp.order)), rel=1e-9)
    assert cost >= rdp.order * Fraction(released.l2_bound) ** 2 / (2 * 10**6)
    spent = rdp.compose(released).compose(released)
    assert 0 < spent.get_epsilon(1e-6) <= 1.0
    for accountant in (ZcdpAccountant, GdpAccountant):
        with pytest.raises(UnsupportedEventError, match="rdp"):
            accountant.from_budget(1.0, 1e-6).cost(released)


@pytest.mark.parametrize("values", [(0.0, 1.0, 1.0), (1.0, -1.0, 1.0), (1.0, 1.0, float("inf"))])
def test_an_event_has_finite_positive_values(values):
    with pytest.raises(InvalidInputError, match="finite float > 0"):
        SkellamDpEvent(*values)

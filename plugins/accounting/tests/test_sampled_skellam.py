"""The Renyi bound of Skellam noise on a Poisson sample against the exact mixtures, both ways."""

from fractions import Fraction

import mpmath
import pytest

from dpcore.errors import UnsupportedEventError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import GaussianDpEvent, PoissonSampledDpEvent, SkellamDpEvent
from dpcore_accounting.rdp import RdpAccountant
from dpcore_accounting.sampled_gaussian import sampled_gaussian_renyi_up
from dpcore_accounting.skellam import sampled_skellam_renyi_up, skellam_renyi_up

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
SPECIAL = NeighboringRelation.REPLACE_SPECIAL
REPLACE = NeighboringRelation.REPLACE_ONE


def sampled(mu, p, d1=1.0, d2=1.0, relation=SPECIAL):
    return PoissonSampledDpEvent(p, SkellamDpEvent(float(mu), d1, d2), relation)


def skellam(mu, reach):
    return {k: mpmath.besseli(abs(k), mu) * mpmath.exp(-mu) for k in range(-reach, reach + 1)}


def one_sided(mu, reach):
    """Noise that is not symmetric: geometric, of mean mu."""
    share = mpmath.mpf(mu) / (mu + 1)
    return {k: (1 - share) * share**k for k in range(2 * reach)}


def divergences(distribution, shift, p, order):
    """Return the exact Renyi divergences of the mixture from the distribution, and of the
    distribution from it."""
    mixed = {k: (1 - p) * x + p * distribution.get(k - shift, 0) for k, x in distribution.items()}
    there = mpmath.fsum(mixed[k] ** order * distribution[k] ** (1 - order) for k in distribution)
    back = mpmath.fsum(distribution[k] ** order * mixed[k] ** (1 - order) for k in distribution)
    return mpmath.log(there) / (order - 1), mpmath.log(back) / (order - 1)


CASES = [(1.0, 0.3), (6.0, 0.05), (40.0, 0.9)]


@pytest.mark.parametrize(("mu", "p"), CASES)
def test_no_order_is_below_the_exact_divergence_either_way(mu, p):
    with mpmath.workdps(60):
        distribution = skellam(mpmath.mpf(mu), 150)
        for order in (Fraction(3, 2), Fraction(2), Fraction(5, 2), Fraction(5), Fraction(12)):
            bound = sampled_skellam_renyi_up(sampled(mu, p), order)
            there, back = divergences(distribution, 1, mpmath.mpf(p), mpmath.mpf(float(order)))
            assert 0 < back <= there <= float(bound)
            # As loose as the theorem of all rows is: (2 alpha + 5) / (4 mu^2) beside alpha / 2 mu.
            assert float(bound) <= there * (1 + 12 / mu) * (1.5 if order < 2 else 1)


def test_the_bound_of_a_smaller_sample_would_be_found():
    with mpmath.workdps(60):
        there, _ = divergences(skellam(mpmath.mpf(40), 150), 1, mpmath.mpf("0.5"), mpmath.mpf(5))
    assert sampled_skellam_renyi_up(sampled(40.0, 0.5), Fraction(5)) >= there
    assert sampled_skellam_renyi_up(sampled(40.0, 0.48), Fraction(5)) < there


def test_noise_that_is_not_symmetric_may_lose_more_the_other_way():
    with mpmath.workdps(60):
        there, back = divergences(one_sided(3, 400), 1, mpmath.mpf("0.5"), mpmath.mpf(8))
        assert back > there
        there, back = divergences(skellam(mpmath.mpf(3), 200), 1, mpmath.mpf("0.5"), mpmath.mpf(8))
        assert back <= there


@pytest.mark.parametrize("order", [Fraction(2), Fraction(7, 2), Fraction(40), Fraction(1000)])
@pytest.mark.parametrize("relation", [ADD, SPECIAL])
def test_wide_noise_costs_what_normal_noise_does(order, relation):
    wide = sampled(2.0**60, 0.01, d1=2.0**30, d2=2.0**30, relation=relation)
    normal = PoissonSampledDpEvent(0.01, GaussianDpEvent(1.0), relation)
    # Between whole orders there is a chord here alone.
    ratio = sampled_skellam_renyi_up(wide, order) / sampled_gaussian_renyi_up(normal, order)
    assert 1 - 1e-9 < ratio < (1 + 1e-6 if order.denominator == 1 else 1.05)


@pytest.mark.parametrize("event", [sampled(1e300, 0.5, 1e160, 1e10), sampled(1e-3, 2.0**-60)])
@pytest.mark.parametrize("order", [1 + 2.0**-30, 2.0, 77.5, 2.0**16, 2.0**17])
def test_it_costs_something_and_no_more_than_every_row(event, order):
    cost = sampled_skellam_renyi_up(event, Fraction(order))
    assert 0 < cost <= skellam_renyi_up(event.event, Fraction(order))


def test_all_rows_cost_as_all_rows_and_fewer_less():
    order, costs = Fraction(9, 2), []
    for p in (1.0, 0.5, 0.1, 0.01):
        costs.append(sampled_skellam_renyi_up(sampled(50.0, p), order))
    assert costs[0] == skellam_renyi_up(sampled(50.0, 1.0).event, order)
    assert costs == sorted(costs, reverse=True)


def test_under_replace_one_it_is_no_bound():
    event = sampled(50.0, 0.1, relation=REPLACE)
    with pytest.raises(UnsupportedEventError, match="use skellam-composition"):
        sampled_skellam_renyi_up(event, Fraction(3))
    assert not RdpAccountant.supports(event)
    assert RdpAccountant.supports(sampled(50.0, 0.1))


def test_a_schedule_of_samples_costs_a_small_part_of_that_of_all_rows():
    def epsilon(p):
        event = sampled(2.0**40, p, d1=2.0**19, d2=2.0**18)
        filled = RdpAccountant.for_schedule(60.0, 1e-6, {event: 100})
        for _ in range(100):
            filled = filled.compose(event)
        return filled.get_epsilon(1e-6)

    assert epsilon(0.01) < epsilon(1.0) / 20

"""The second count, and the audit, of releases that state a bound."""

import math

import numpy as np
import pytest

from dpcore.plugin.parts import (
    ApproximateDpEvent,
    ComposedDpEvent,
    DominatingPairDpEvent,
    ExponentialMechanismDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    PureDpEvent,
    RenyiDpEvent,
    ZcdpDpEvent,
)
from dpcore_lab.outcomes.frequencies import largest_probability
from dpcore_lab.recount.ledger import recounted_epsilon, renyi_divergence

RESPONSE = DominatingPairDpEvent((3, 1), (1, 3))
PURE = PureDpEvent(math.log(3))
P = [0.0, 1e-6, 0.1, 0.25, 0.5, 0.75, 0.99, 1.0]


def test_a_randomised_response_is_counted_as_the_pure_release_that_it_is():
    for order in (1.1, 2.0, 30.0):
        assert renyi_divergence(RESPONSE, order) == pytest.approx(renyi_divergence(PURE, order))
    assert recounted_epsilon([RESPONSE], 0.0) == pytest.approx(math.log(3))
    # delta = (e^epsilon - e^e) / (1 + e^epsilon), Kairouz, Oh & Viswanath 2015.
    assert recounted_epsilon([RESPONSE], 0.25) == pytest.approx(math.log(2))
    for p in P:
        assert largest_probability(RESPONSE, p) == pytest.approx(largest_probability(PURE, p))


def test_pure_releases_are_never_more_than_their_sum():
    events = [PureDpEvent(0.5), LaplaceDpEvent(2.0), ApproximateDpEvent(0.25, 1e-9), RESPONSE]
    assert recounted_epsilon(events, 1e-9) == pytest.approx(1.25 + math.log(3))
    assert recounted_epsilon([ComposedDpEvent(tuple(events))], 1e-9) <= 1.25 + math.log(3) + 1e-9
    assert recounted_epsilon(events, 0.9e-9) == math.inf


def test_every_trough_of_the_orders_is_searched():
    # At delta 1e-6 the orders about 4.4 come to less than the last ones, which the grid alone has.
    events = [ExponentialMechanismDpEvent(1.025845019754804)] * 8
    assert recounted_epsilon(events, 1e-6) <= 8 < 8 * 1.0258


def test_deltas_that_a_release_has_are_taken_off():
    events = [ZcdpDpEvent(0.02), ApproximateDpEvent(0.01, 6e-7)]
    twin = [ZcdpDpEvent(0.02), PureDpEvent(0.01)]  # which forgets them
    assert recounted_epsilon(events, 1e-6) == pytest.approx(recounted_epsilon(twin, 4e-7))
    assert recounted_epsilon(events, 1e-6) > recounted_epsilon(twin, 1e-6) * 1.02


def test_a_stated_curve_ends_at_its_last_order():
    curve = RenyiDpEvent((2.0, 5.0), (0.02, 0.05))
    assert renyi_divergence(curve, 5.1) == math.inf
    ended = recounted_epsilon([curve, GaussianDpEvent(9.0)], 1e-6)
    rest = math.log(1e6) + 4 * math.log1p(-1 / 5) - math.log(5)
    assert ended == pytest.approx(0.05 + 5 / (2 * 81) + rest / 4)


@pytest.mark.parametrize("p", P)
def test_the_audit_allows_what_the_worst_release_does(p):
    # The distributions that every (epsilon, delta) release is post-processing of, in hundredths.
    worst = DominatingPairDpEvent((10, 60, 30, 0), (0, 30, 60, 10))
    event = ApproximateDpEvent(math.log(2) + 1e-12, 0.1)
    assert largest_probability(worst, p) <= largest_probability(event, p) + 1e-9
    if p in (0.0, 0.25, 0.75):
        assert largest_probability(worst, p) == pytest.approx(min(1, 2 * p + 0.1, (1.1 + p) / 2))


@pytest.mark.parametrize("p", P[1:-1])
def test_the_audit_of_a_rho_and_of_a_curve_allows_what_normal_noise_does(p):
    gaussian, rho = GaussianDpEvent(2.0), 1 / 8
    orders = tuple(float(a) for a in range(2, 40))
    curve = RenyiDpEvent(orders, tuple(a * rho for a in orders))
    allowed = largest_probability(ZcdpDpEvent(rho), p)
    assert largest_probability(gaussian, p) < allowed < 1
    assert largest_probability(curve, p) == pytest.approx(allowed)
    assert 0 < np.log(allowed / p) < 3.5


def test_a_pair_is_audited_either_way_round():
    # Ratios of 5 are allowed where an outcome is rare on the table of the second distribution, and
    # where it is on that of the first: one direction alone would call an honest mechanism a leak.
    one_sided = DominatingPairDpEvent((9, 1), (1, 1))
    assert largest_probability(one_sided, 0.1) == pytest.approx(0.5)
    assert largest_probability(one_sided, 0.5) == pytest.approx(0.9)

"""The cost table: each rule bounds the Renyi divergence of the exact distributions at many
orders."""

import itertools
import math
from fractions import Fraction

import mpmath
import pytest

from dpcore.accountants import ZcdpAccountant
from dpcore.plugin.parts import (
    ExponentialMechanismDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    PureAccountant,
    PureDpEvent,
)
from dpcore_accounting.rdp import RdpAccountant
from dpcore_accounting.rdp import _cost as renyi_cost

ORDERS = ["1.00000001", "1.001", "1.5", "2", "3", "10", "100", "10000"]
EPSILONS = [1e-3, 0.1, 0.5, 1.0, 2.0, 5.0, 9.0, 30.0]
ZCDP = ZcdpAccountant.from_budget(1.0, 1e-6)


def rho(event):
    cost = ZCDP.cost(event)
    return mpmath.mpf(cost.numerator) / cost.denominator


def renyi(p, q, alpha):
    """Renyi divergence of order alpha between two finite distributions."""
    total = mpmath.fsum(a * (a / b) ** (alpha - 1) for a, b in zip(p, q, strict=True))
    return mpmath.log(total) / (alpha - 1)


def randomised_response(epsilon):
    p = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon)))
    return [p, 1 - p], [1 - p, p]


def exponential_mechanism(scores):
    weights = [mpmath.exp(score) for score in scores]
    return [weight / mpmath.fsum(weights) for weight in weights]


def permute_and_flip(scores):
    """McKenna & Sheldon 2020: shuffle, accept each with probability exp(score - best)."""
    best = max(scores)
    distribution = [mpmath.mpf(0)] * len(scores)
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        missed = mpmath.mpf(1) / len(orders)
        for i in order:
            accept = mpmath.exp(scores[i] - best)
            distribution[i] += missed * accept
            missed *= 1 - accept
    return distribution


def laplace_renyi(epsilon, alpha):
    """By quadrature, not by the closed form: distributions of scale 1/epsilon, 1 apart."""
    epsilon = mpmath.mpf(epsilon)

    def integrand(x):
        return mpmath.exp(-epsilon * (alpha * abs(x) + (1 - alpha) * abs(x - 1))) * epsilon / 2

    ends = [-40 / epsilon, -2 / epsilon, 0, 1, 1 + 2 / epsilon, 1 + 40 / epsilon]
    return mpmath.log(mpmath.quad(integrand, ends)) / (alpha - 1)


@pytest.mark.parametrize("alpha", ORDERS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_pure_bounds_randomised_response(epsilon, alpha):
    with mpmath.workdps(60):
        alpha = mpmath.mpf(alpha)
        exact = renyi(*randomised_response(epsilon), alpha)
        assert exact <= alpha * rho(PureDpEvent(epsilon)) * (1 + 1e-15)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_pure_is_the_kullback_leibler_divergence(epsilon):
    with mpmath.workdps(60):
        exact = epsilon * mpmath.tanh(mpmath.mpf(epsilon) / 2)
        assert exact <= rho(PureDpEvent(epsilon)) <= exact * (1 + 1e-15)
        assert rho(PureDpEvent(epsilon)) <= mpmath.mpf(epsilon) ** 2 / 2


@pytest.mark.some_fast
@pytest.mark.parametrize("alpha", ["1.01", "1.5", "2", "5", "20"])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 3.0])
def test_laplace_bounds_its_distribution(epsilon, alpha):
    with mpmath.workdps(30):
        alpha = mpmath.mpf(alpha)
        event = LaplaceDpEvent(1 / epsilon)
        exact = laplace_renyi(1 / mpmath.mpf(event.noise_multiplier), alpha)
        assert exact <= alpha * rho(event) * (1 + 1e-12)
        closed = float(renyi_cost(event, Fraction(float(alpha))))
        assert closed == pytest.approx(float(exact), rel=1e-9)


def test_laplace_costs_less_than_any_pure_release_and_less_when_spread():
    for epsilon in EPSILONS:
        whole = ZCDP.cost(LaplaceDpEvent(1 / epsilon))
        assert whole < ZCDP.cost(PureDpEvent(epsilon))
        assert 2 * ZCDP.cost(LaplaceDpEvent(2 / epsilon)) < whole  # half the shift in each of two
        assert whole == pytest.approx(epsilon + math.expm1(-epsilon), rel=1e-9)


@pytest.mark.parametrize("alpha", ORDERS)
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 4.0, 12.0])
def test_bounded_range_bounds_the_exponential_mechanism(epsilon, alpha):
    # Two outcomes, scores that differ by the range: the worst starting point on a grid.
    with mpmath.workdps(60):
        alpha = mpmath.mpf(alpha)
        worst = max(
            renyi(exponential_mechanism([0, s]), exponential_mechanism([0, s + epsilon]), alpha)
            for s in (mpmath.mpf(i) / 4 for i in range(-60, 41))
        )
        assert worst <= alpha * rho(ExponentialMechanismDpEvent(epsilon)) * (1 + 1e-15)


def test_permute_and_flip_has_no_bounded_range_rate():
    # opendp#2911. Scores (0, ..., 0) against (-1, 0, ..., 0), all the same way: epsilon-DP, but the
    # exponential mechanism's epsilon**2 / 8 is too low, so an event of it must be a PureDpEvent.
    epsilon, alpha = 0.5, mpmath.mpf(2)
    with mpmath.workdps(40):
        worst = max(
            max(renyi(p, q, alpha), renyi(q, p, alpha))
            for s in (mpmath.mpf(i) / 8 for i in range(-24, 1))
            for p, q in [
                (permute_and_flip([0, 0, s]), permute_and_flip([-epsilon, 0, s])),
                (permute_and_flip([0, s, s]), permute_and_flip([-epsilon, s, s])),
            ]
        )
        assert worst <= alpha * rho(PureDpEvent(epsilon))
        assert worst > alpha * rho(ExponentialMechanismDpEvent(epsilon))


@pytest.mark.parametrize("order", ["1.00000001", "1.5", "7", "10000"])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_renyi_costs_are_rounded_up_and_no_further(epsilon, order):
    with mpmath.workdps(80):
        exact = renyi(*randomised_response(epsilon), mpmath.mpf(order))
        found = renyi_cost(PureDpEvent(epsilon), Fraction(order))
        shown = mpmath.mpf(found.numerator) / found.denominator
        assert exact <= shown + mpmath.mpf(10) ** -60
        assert shown <= exact + mpmath.mpf(10) ** -50


@pytest.mark.parametrize("event_class", [PureDpEvent, ExponentialMechanismDpEvent])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_renyi_is_never_more_than_order_times_concentrated(event_class, epsilon):
    accountant = RdpAccountant.from_budget(1.0, 1e-6)
    event = event_class(epsilon)
    tick = Fraction(1, 2**119)
    assert accountant.cost(event) <= accountant.order * ZCDP.cost(event) + tick
    assert accountant.cost(event) <= PureAccountant.from_budget(1.0, 0.0).cost(event) + tick


def test_the_table():
    assert ZCDP.cost(GaussianDpEvent(2.0)) == Fraction(1, 8)
    assert ZCDP.cost(ExponentialMechanismDpEvent(0.5)) == Fraction(1, 32)
    assert ZCDP.cost(PureDpEvent(0.5)) == pytest.approx(0.5 * math.tanh(0.25), rel=1e-15)
    assert ZCDP.cost(LaplaceDpEvent(2.0)) == pytest.approx(math.exp(-0.5) - 0.5, rel=1e-14)
    # Two-sided geometric noise at one grid step costs about 1.3 times the floored Laplace.
    assert ZCDP.cost(PureDpEvent(1.0)) / ZCDP.cost(LaplaceDpEvent(1.0)) == pytest.approx(
        1.256, abs=1e-3
    )


@pytest.mark.parametrize("value", [5e-324, 1e-200, 1e-30, 1e30, 1e200, 1.7e308])
def test_extreme_events_cost_something(value):
    rdp, pure = RdpAccountant.from_budget(1.0, 1e-6), PureAccountant.from_budget(1.0, 0.0)
    for accountant in (ZCDP, rdp, pure):
        for make in (PureDpEvent, ExponentialMechanismDpEvent, LaplaceDpEvent):
            assert accountant.cost(make(value)) > 0
    assert ZCDP.cost(GaussianDpEvent(value)) > 0

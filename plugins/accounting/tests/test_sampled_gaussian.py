"""The Renyi bound of Gaussian noise on a Poisson sample, and orders planned for a schedule."""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.errors import BudgetExceededError, UnsupportedEventError
from dpcore.plugin import FixedSchedule, NeighboringRelation
from dpcore.plugin.parts import (
    ComposedDpEvent,
    GaussianDpEvent,
    GdpAccountant,
    LaplaceDpEvent,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
)
from dpcore_accounting.rdp import RdpAccountant
from dpcore_accounting.renyi_orders import best_order
from dpcore_accounting.sampled_gaussian import sampled_gaussian_renyi_up
from dpcore_accounting.sampled_moments import array_log1p

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
SPECIAL = NeighboringRelation.REPLACE_SPECIAL
REPLACE = NeighboringRelation.REPLACE_ONE

EXACT = [  # (noise multiplier, p, steps, the exact epsilon at delta 1e-5, from a numerical PLD)
    (1.5, 0.04, 2249, 6.767),
    (1.0, 0.01, 1000, 1.828),
    (0.8, 0.001, 20000, 1.100),
    (3.0, 0.2, 50, 2.061),
]


def sampled(m, p, relation=ADD):
    return PoissonSampledDpEvent(p, GaussianDpEvent(m), relation)


def quadrature(m, p, order, integrand):
    with mp.workdps(20):
        m, p, a = mp.mpf(m), mp.mpf(p), mp.mpf(order.numerator) / order.denominator
        points = {x * m for x in range(-14, 15, 2)} | {a + x * m for x in range(-12, 15, 2)}
        value = mp.quad(
            lambda z: integrand(z, m, p, a), sorted(points), method="gauss-legendre", maxdegree=4
        )
        return mp.log1p(value) / (a - 1)


def forward(z, m, p, a):
    """E f^a - 1 under the table without the row, f the ratio of the densities."""
    y = p * mp.expm1((2 * z - 1) / (2 * m * m))
    small = abs(y) < mp.mpf(10) ** -8
    above = a * (a - 1) / 2 * y * y * (1 + (a - 2) / 3 * y) if small else (1 + y) ** a - 1 - a * y
    return above * mp.npdf(z, 0, m)


def backward(z, m, p, a):
    """The other direction, by the ratio 1 / f under f: E f^(1 - a) - 1."""
    y = p * mp.expm1((2 * z - 1) / (2 * m * m))
    b = 1 - a
    small = abs(y) < mp.mpf(10) ** -8
    above = b * (b - 1) / 2 * y * y * (1 + (b - 2) / 3 * y) if small else (1 + y) ** b - 1 - b * y
    return above * mp.npdf(z, 0, m)


ORDERS = [Fraction(x) for x in (1 + 1e-8, 1.25, 1.9, 2.0, 2.5, 7.3, 31.9, 33.3, 64.0)]


@pytest.mark.parametrize(
    ("m", "p", "orders"),
    [
        (1.0, 0.01, ORDERS),
        (0.4, 0.3, ORDERS[1::3]),  # one below 2, one between whole ones, and one of the loose
        pytest.param(0.4, 0.3, ORDERS, marks=pytest.mark.slow),
        pytest.param(0.8, 0.001, ORDERS, marks=pytest.mark.slow),
        pytest.param(3.0, 0.2, ORDERS, marks=pytest.mark.slow),
        pytest.param(50, 0.5, ORDERS, marks=pytest.mark.slow),
    ],
)
def test_no_order_is_below_the_integral(m, p, orders):
    for order in orders:
        found = sampled_gaussian_renyi_up(sampled(float(m), p), order)
        exact = quadrature(m, p, order, forward)
        assert found >= exact > 0
        # Chords lose the square of their width, whole orders nothing, a line between two a little.
        loose = 1e-10 if order.denominator == 1 else (4e-4 if order < 32 else 3e-3)
        assert found <= exact * (1 + loose)


@pytest.mark.slow
@pytest.mark.parametrize("order", [Fraction(3, 2), Fraction(8)])
def test_the_other_direction_is_smaller(order):
    for m, p in ((1.0, 0.1), (0.5, 0.5), (4.0, 0.9)):
        assert quadrature(m, p, order, backward) <= quadrature(m, p, order, forward)


@pytest.mark.parametrize("order", [1 + 2.0**-40, 1.5, 3.0, 101.0, 1e4])
@pytest.mark.parametrize(("m", "p"), [(0.05, 1e-6), (1.0, 1e-12), (300.0, 0.5), (1e-3, 0.9)])
def test_it_costs_something_and_no_more_than_every_row(m, p, order):
    cost = sampled_gaussian_renyi_up(sampled(m, p), Fraction(order))
    assert 0 < cost <= Fraction(order) / (2 * Fraction(m) ** 2)


@settings(max_examples=20, deadline=None)
@given(st.floats(0.3, 30), st.floats(1e-4, 0.9), st.floats(1.01, 80.0))
def test_it_grows_with_odds_and_order_and_falls_with_noise(m, p, order):
    alpha = Fraction(order)
    cost = sampled_gaussian_renyi_up(sampled(m, p), alpha)
    # Bounds of different kinds meet between orders: each is within 1 % of the truth.
    slack = Fraction(99, 100)
    assert sampled_gaussian_renyi_up(sampled(m, min(1.0, p * 1.1)), alpha) >= cost * slack
    assert sampled_gaussian_renyi_up(sampled(m, p), alpha + 1) >= cost * slack
    assert sampled_gaussian_renyi_up(sampled(m * 1.1, p), alpha) <= cost / slack


def test_all_rows_cost_as_all_rows():
    order = Fraction(7, 2)
    assert sampled_gaussian_renyi_up(sampled(2.0, 1.0), order) == order / 8


def test_a_replaced_row_loses_more_than_the_formula():
    # Two tables whose rows drawn have opposite gradients of norm C, noise C: the divergence of the
    # two mixtures is nearly twice what the formula for a row added or removed says.
    m, p, order = 1.0, 0.15, Fraction(2)

    def both(z, m, p, a):
        one = 1 + p * mp.expm1((2 * z - 1) / (2 * m * m))
        other = 1 + p * mp.expm1((-2 * z - 1) / (2 * m * m))
        return (one**a / other ** (a - 1) - one) * mp.npdf(z, 0, m)

    true = quadrature(m, p, order, both)
    formula = sampled_gaussian_renyi_up(sampled(m, p), order)
    assert true > 1.8 * formula
    with pytest.raises(UnsupportedEventError, match="sampling-composition"):
        sampled_gaussian_renyi_up(sampled(m, p, REPLACE), order)


def test_what_the_accountant_has_no_rule_for():
    accountant = RdpAccountant.from_budget(1.0, 1e-5)
    assert accountant.supports(sampled(2.0, 0.1, SPECIAL))
    assert accountant.supports(ComposedDpEvent((sampled(2.0, 0.1), LaplaceDpEvent(3.0))))
    refused = [
        sampled(2.0, 0.1, REPLACE),
        PoissonSampledDpEvent(0.1, LaplaceDpEvent(1.0), ADD),
        SampledWithoutReplacementDpEvent(10, 1, GaussianDpEvent(2.0), REPLACE),
    ]
    for event in refused:
        assert not accountant.supports(event)
        with pytest.raises(UnsupportedEventError, match="rdp accountant cannot bound"):
            accountant.compose(event)
    with pytest.raises(UnsupportedEventError, match="replace-one; sampling-composition, .*pld"):
        accountant.compose(refused[0])


def epsilon_of(events, delta):
    """The epsilon of a schedule at the order that is best for it."""
    order = RdpAccountant.for_schedule(1.0, delta, events).order
    accountant = RdpAccountant.at_order(1e4, delta, order)
    for event, count in events.items():
        accountant = accountant.compose(ComposedDpEvent((event,) * count))
    return accountant.get_epsilon(delta)


@pytest.mark.parametrize(("m", "p", "steps", "exact"), EXACT)
def test_no_schedule_is_below_its_exact_epsilon(m, p, steps, exact):
    found = epsilon_of({sampled(m, p): steps}, 1e-5)
    assert exact <= found <= exact * 1.5  # what Renyi orders give away


def test_the_planned_order_is_the_best_of_many():
    events = {sampled(1.0, 0.01): 1000}
    found = epsilon_of(events, 1e-5)
    for order in (2, 5, 7, 8, 9, 12, 30):
        accountant = RdpAccountant.at_order(1e6, 1e-5, Fraction(order))
        accountant = accountant.compose(ComposedDpEvent((sampled(1.0, 0.01),) * 1000))
        assert accountant.get_epsilon(1e-5) >= found
    # The order that suits concentrated costs is none: the filter would refuse the plan.
    usual = RdpAccountant.from_budget(2.2, 1e-5)
    planned = RdpAccountant.for_schedule(2.2, 1e-5, events)
    assert planned.holds(events) and not usual.holds(events)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 8.0])
@pytest.mark.parametrize(("p", "steps"), [(0.01, 300), (0.3, 20), (1.0, 50)])
def test_every_epsilon_has_a_noise_and_the_filter_holds_just_the_plan(epsilon, p, steps):
    def schedule(multiplier):
        return {sampled(multiplier, p): steps}

    accountant = RdpAccountant.planned(epsilon, 1e-6, schedule)
    assert (accountant.epsilon, accountant.delta) == (epsilon, 1e-6)
    m = FixedSchedule.noise_multiplier(accountant, schedule)
    event = sampled(m, p)
    for _ in range(steps):
        accountant = accountant.compose(event)
    assert accountant.get_epsilon(1e-6) <= epsilon
    with pytest.raises(BudgetExceededError):
        accountant.compose(event)
    if p == 1.0:
        exact = FixedSchedule.noise_multiplier(
            GdpAccountant.from_budget(epsilon, 1e-6), lambda m: {GaussianDpEvent(m): steps}
        )
        assert exact < m < 1.2 * exact


def test_several_as_one_are_planned_as_several():
    event = sampled(1.0, 0.01)
    several = RdpAccountant.for_schedule(1.0, 1e-5, {ComposedDpEvent((event, event)): 500})
    assert several.order == RdpAccountant.for_schedule(1.0, 1e-5, {event: 1000}).order


def test_an_empty_schedule_has_an_order_too():
    order = best_order(lambda event, order: Fraction(0), {}, 1e-6, fractional=True)
    assert order > 1


def test_the_logarithm_beside_1_is_right_to_the_error_that_is_stated():
    rng = np.random.default_rng(5)
    near = rng.uniform(-1, 1, 1000) * 10.0 ** -rng.integers(0, 20, 1000)
    x = np.concatenate((near, np.exp(rng.uniform(-50, 6, 1000))))
    with mp.workprec(150):
        truth = [mp.log1p(mp.mpf(each)) for each in x.tolist()]
        errors = [abs(f / t - 1) for f, t in zip(array_log1p(x).tolist(), truth, strict=True)]
    assert max(errors) <= 2.0**-51  # half of FUNCTION_ERROR of dpcore.exact.reproducible, or less
    assert array_log1p(np.array([-1.0, np.inf])).tolist() == [-np.inf, np.inf]

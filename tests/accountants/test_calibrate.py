"""Calibration lands on the safe side, and close."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.accountants import GdpAccountant, ZcdpAccountant
from dpcore.errors import InvalidInputError, UnsupportedEventError
from dpcore.plugin import Gaussian, noise_multiplier
from dpcore.plugin.parts import (
    ExponentialMechanismDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    PureAccountant,
    PureDpEvent,
)
from dpcore_accounting.rdp import RdpAccountant


def selection(m):
    return ExponentialMechanismDpEvent(math.nextafter(1 / m, math.inf))


class Flip:
    @classmethod
    def nominal_event(cls, m):
        return PureDpEvent(math.nextafter(1 / m, math.inf))


ACCOUNTANTS = (ZcdpAccountant, GdpAccountant, RdpAccountant, PureAccountant)
CASES = [
    (accountant, make)
    for accountant in (cls.from_budget(1.0, 1e-6) for cls in ACCOUNTANTS)
    for make in (GaussianDpEvent, LaplaceDpEvent, selection, Flip.nominal_event)
    if accountant.supports(make(1.0))
]


@pytest.mark.some_fast
@pytest.mark.parametrize(("accountant", "make"), CASES)
@settings(max_examples=30, deadline=None)
@given(cost=st.floats(1e-9, 1e3))
def test_one_sided_and_close(accountant, make, cost):
    # A calibration that ended on the wrong side once overspent by 0.5 (opacus#346).
    m = noise_multiplier(accountant, make, cost)
    assert accountant.cost(make(m)) <= cost
    assert accountant.cost(make(m * (1 - 2e-12))) > cost


@pytest.mark.parametrize("cls", [cls for cls in ACCOUNTANTS if cls is not PureAccountant])
@settings(max_examples=8, deadline=None)
@given(epsilon=st.floats(0.01, 20.0), delta=st.sampled_from([1e-10, 1e-6, 1e-3]))
def test_one_calibrated_release_fits_its_epsilon(cls, epsilon, delta):
    accountant = cls.from_budget(epsilon, delta)
    spent = accountant.compose(
        GaussianDpEvent(noise_multiplier(accountant, GaussianDpEvent, accountant.budget))
    )
    assert spent.get_epsilon(delta) <= epsilon
    assert spent.get_epsilon(delta) == pytest.approx(epsilon, rel=1e-9)


def test_the_analytic_gaussian():
    accountant = GdpAccountant.from_budget(1.0, 1e-5)
    m = noise_multiplier(accountant, GaussianDpEvent, accountant.budget)
    assert m == pytest.approx(
        3.730631634816, rel=1e-12
    )  # the root of the curve at 50 digits; see test_known_values_of_other_software


def test_closed_forms():
    accountant = ZcdpAccountant.from_budget(1.0, 1e-6)
    assert noise_multiplier(accountant, GaussianDpEvent, 0.5) == pytest.approx(1.0, rel=1e-12)
    assert noise_multiplier(accountant, selection, 0.125) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("cost", [0.0, -1.0, math.nan, math.inf, "1"])
def test_bad_costs_are_refused(cost):
    with pytest.raises(InvalidInputError, match="Expected cost="):
        noise_multiplier(ZcdpAccountant.from_budget(1.0, 1e-6), GaussianDpEvent, cost)


def test_a_cost_below_the_smallest_unit_is_refused():
    with pytest.raises(InvalidInputError, match="to be enough for one release"):
        noise_multiplier(ZcdpAccountant.from_budget(1.0, 1e-6), GaussianDpEvent, 2.0**-121)


def test_an_accountant_that_cannot_hold_the_mechanism_says_who_can():
    accountant = PureAccountant.from_budget(1.0, 0.0)
    with pytest.raises(UnsupportedEventError, match="Gaussian: The pure .* zcdp, gdp, rdp can"):
        noise_multiplier(accountant, Gaussian.nominal_event, 0.1)


def halved(accountant, make, cost):
    """The plain search: powers of 2 from 1, then halves, every step asked."""
    high = 1.0
    while accountant.cost(make(high)) > cost:
        high *= 2
    while accountant.cost(make(high / 2)) <= cost:
        high /= 2
    low = high / 2
    while high - low > 5e-13 * high:
        middle = low + (high - low) / 2
        low, high = (low, middle) if accountant.cost(make(middle)) <= cost else (middle, high)
    return high


class Counted:
    """An accountant that counts how often it is asked, and whose costs may come in steps."""

    def __init__(self, accountant, bump=None):
        self.accountant, self.bump, self.asked = accountant, bump, 0

    def cost(self, event):
        self.asked += 1
        cost = self.accountant.cost(event)
        return cost if self.bump is None else self.bump(event.noise_multiplier, cost)


@pytest.mark.some_fast
@pytest.mark.parametrize(("accountant", "make"), CASES)
@settings(max_examples=10, deadline=None)
@given(cost=st.floats(1e-9, 1e3))
def test_the_multiplier_is_the_plain_searches_to_the_bit(accountant, make, cost):
    assert noise_multiplier(accountant, make, cost) == halved(accountant, make, cost)


@pytest.mark.parametrize("make", [GaussianDpEvent, LaplaceDpEvent])
def test_normal_noise_is_found_in_a_few_questions(make):
    counted = Counted(GdpAccountant.from_budget(1.0, 1e-6))
    noise_multiplier(counted, make, 1e-4)
    # Laplace noise, whose cost falls otherwise, is the control: about every step is asked.
    assert counted.asked < 16 if make is GaussianDpEvent else counted.asked > 40


def test_a_cost_that_rises_on_the_way_does_not_pass_the_limit():
    """It breaks the promise that it falls with m, and holds at the first value that is tried above
    the limit's: the value that comes out is asked all the same, and every step then."""
    limit = 1e-4
    inner = GdpAccountant.from_budget(1.0, 1e-6)
    m = noise_multiplier(inner, GaussianDpEvent, limit)
    tried = math.sqrt(inner.cost(GaussianDpEvent(1.0)) / Fraction(limit)) * (1 + 1e-12)

    def bump(at, cost):
        return 2 * limit if at != tried and m <= at < m * (1 + 4e-12) else cost

    bumped = Counted(inner, bump)
    found = noise_multiplier(bumped, GaussianDpEvent, limit)
    assert bumped.asked > 40
    assert bumped.cost(GaussianDpEvent(found)) <= limit

"""Budgets in a filter's own unit: rho of zcdp, mu of gdp."""

import math
from fractions import Fraction

import pytest
from scipy.special import ndtr

from dpcore.accountants import GdpAccountant, ZcdpAccountant
from dpcore.errors import BudgetExceededError, InvalidInputError
from dpcore.plugin.parts import GaussianDpEvent, PureDpEvent, ZcdpDpEvent

both = pytest.mark.parametrize("accountant", [ZcdpAccountant, GdpAccountant])


def test_rho_is_held_exactly_and_not_a_hair_more():
    opened = ZcdpAccountant.of_native_budget(0.1, 1e-6)
    assert opened.budget == 0.1 and opened.budget_ticks == Fraction(0.1) * 2**120
    assert opened.compose(ZcdpDpEvent(0.1)).remaining == 0.0
    with pytest.raises(BudgetExceededError):
        opened.compose(ZcdpDpEvent(math.nextafter(0.1, 1)))
    # A broken twin, which goes through epsilon, has another budget.
    assert ZcdpAccountant.from_budget(opened.epsilon, 1e-6).budget_ticks != opened.budget_ticks


def test_mu_is_held_exactly_and_not_a_hair_more():
    opened = GdpAccountant.of_native_budget(0.25, 1e-6)
    assert opened.budget == 0.0625
    four = GaussianDpEvent(8.0)  # (1/8)^2 four times
    assert opened.holds({four: 4}) and not opened.holds({four: 4, GaussianDpEvent(1e15): 1})
    with pytest.raises(BudgetExceededError):
        opened.compose(GaussianDpEvent(math.nextafter(4.0, 0)))


@pytest.mark.parametrize("rho", [1e-4, 0.01, 0.5, 8.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-5])
def test_the_epsilon_of_rho_follows_from_it(rho, delta):
    # Bun & Steinke 2016, Proposition 1.3: rho + 2 sqrt(rho ln(1/delta)).
    simple = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    bun_steinke = ZcdpAccountant.of_native_budget(rho, delta, "bun-steinke")
    assert simple * (1 - 1e-12) <= bun_steinke.epsilon <= simple * (1 + 1e-12)
    tight = ZcdpAccountant.of_native_budget(rho, delta).epsilon
    # Canonne, Kamath & Steinke 2020, Proposition 12, over a grid of orders: none is smaller.
    orders = [1 + 10 ** (i / 200) for i in range(-600, 1000)]
    least = min(
        rho * a + (math.log(1 / delta) + (a - 1) * math.log1p(-1 / a) - math.log(a)) / (a - 1)
        for a in orders
    )
    assert least * (1 - 1e-4) <= tight <= least * (1 + 1e-9) < simple
    # Of a budget of that epsilon the filter's rho is no smaller, by rounding up.
    again = ZcdpAccountant.from_budget(tight, delta)
    assert rho * (1 - 1e-9) <= again.budget <= rho * (1 + 1e-9)


@pytest.mark.parametrize("mu", [0.05, 0.5, 3.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-4])
def test_the_epsilon_of_mu_follows_from_it(mu, delta):
    # Dong, Roth & Su 2022, Corollary 2.13.
    epsilon = GdpAccountant.of_native_budget(mu, delta).epsilon
    found = ndtr(-epsilon / mu + mu / 2) - math.exp(epsilon) * ndtr(-epsilon / mu - mu / 2)
    assert found == pytest.approx(delta, rel=1e-5)


@both
@pytest.mark.parametrize("value", [1e-12, 1e-3, 1.0, 50.0, 1e6])
@pytest.mark.parametrize("delta", [1e-300, 1e-8, 0.5])
def test_extreme_values_open_with_a_finite_epsilon(accountant, value, delta):
    opened = accountant.of_native_budget(value, delta)
    assert 0 < opened.epsilon < math.inf and opened.budget > 0
    assert opened.get_epsilon(delta) == 0.0


@both
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, "1", None, True, 1e-300])
def test_bad_values_are_refused(accountant, value):
    with pytest.raises(InvalidInputError, match="Expected|below the"):
        accountant.of_native_budget(value, 1e-6)
    with pytest.raises(InvalidInputError, match="delta"):
        accountant.of_native_budget(1.0, 0.0)


def test_what_it_reports_is_no_more_than_what_it_states():
    opened = ZcdpAccountant.of_native_budget(0.1, 1e-6)
    spent = opened.compose(PureDpEvent(0.4))
    assert 0 < spent.get_epsilon(1e-6) < opened.epsilon
    assert opened.compose(ZcdpDpEvent(0.1)).get_epsilon(1e-6) == opened.epsilon

"""Conversions of zCDP or Renyi DP to (epsilon, delta), against mpmath and published values."""

from fractions import Fraction

import mpmath
import pytest

from dpcore.accountants import ZcdpAccountant
from dpcore.accountants.zcdp import bun_steinke_epsilon_up, bun_steinke_rho_down
from dpcore.plugin.parts import RenyiDpEvent
from dpcore_accounting.rdp import RdpAccountant


def cks_delta(rho, epsilon):
    """Canonne, Kamath & Steinke 2020, Corollary 13: the delta of rho-zCDP at epsilon."""
    rho, epsilon = mpmath.mpf(rho), mpmath.mpf(epsilon)

    def slope(alpha):
        return (2 * alpha - 1) * rho - epsilon + mpmath.log1p(-1 / alpha)

    high = (epsilon + 1) / (2 * rho) + 2
    alpha = mpmath.findroot(slope, (1 + mpmath.mpf(10) ** -12, high), solver="anderson", tol=1e-40)
    exponent = (alpha - 1) * (alpha * rho - epsilon) + alpha * mpmath.log1p(-1 / alpha)
    return mpmath.exp(exponent) / (alpha - 1)


GRID = [(0.05, 1e-8), (0.4, 1e-8), (1.0, 1e-5), (1.6, 1e-8), (8.0, 1e-6), (0.1, 0.1), (50.0, 1e-12)]


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_tight_budget_is_sound_and_nearly_optimal(epsilon, delta):
    rho = ZcdpAccountant.from_budget(epsilon, delta).budget
    with mpmath.workdps(50):
        assert cks_delta(rho, epsilon) <= delta
        assert cks_delta(rho * (1 + 1e-9), epsilon) > delta


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_report_is_sound_and_nearly_optimal(epsilon, delta):
    rho = Fraction(ZcdpAccountant.from_budget(epsilon, delta).budget)
    t = RenyiDpEvent.best_order_for_report(rho, delta)
    found = float(RenyiDpEvent.epsilon_up(rho * (1 + t), delta, t))
    with mpmath.workdps(50):
        assert cks_delta(float(rho), found * (1 + 1e-15)) <= delta
        assert cks_delta(float(rho), found * (1 - 1e-9)) > delta


@pytest.mark.parametrize(
    ("epsilon", "ratio"),
    [(0.05, 1.63), (0.1, 1.54), (0.2, 1.46), (0.4, 1.39), (0.8, 1.32), (1.6, 1.26)],
)
def test_what_the_tight_conversion_gains(epsilon, ratio):
    tight = ZcdpAccountant.from_budget(epsilon, 1e-8).budget
    loose = ZcdpAccountant.from_budget(epsilon, 1e-8, "bun-steinke").budget
    assert tight / loose == pytest.approx(ratio, abs=0.005)


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_bun_steinke_inverts_its_formula(epsilon, delta):
    rho = bun_steinke_rho_down(epsilon, delta)
    with mpmath.workdps(250):
        exact = mpmath.mpf(rho.numerator) / rho.denominator
        log_inverse = mpmath.log(1 / mpmath.mpf(delta))
        assert exact + 2 * mpmath.sqrt(exact * log_inverse) <= epsilon
        more = exact * (1 + mpmath.mpf(10) ** -60)
        assert more + 2 * mpmath.sqrt(more * log_inverse) > epsilon
    assert float(bun_steinke_epsilon_up(rho, delta)) == pytest.approx(epsilon, rel=1e-15)


def test_a_missing_logarithm_is_seen():
    # smartnoise-sdk#621 left a log out of a composition formula: with 1/delta for ln(1/delta) the
    # budget would be millions of times smaller, and the value below is Bun & Steinke's own.
    rho = ZcdpAccountant.from_budget(1.0, 1e-6, "bun-steinke").budget
    assert rho + 2 * (rho * 13.815510557964274) ** 0.5 == pytest.approx(1.0, rel=1e-12)


def test_a_value_of_opendp():
    # opendp, rust/src/combinators/measure_cast (cdp_delta, test_edge_cases): rho = 0.5, epsilon = 0
    # gives delta = 0.5588356393474351.
    t = RenyiDpEvent.best_order_for_report(Fraction(1, 2), 0.5588356393474351)
    assert RenyiDpEvent.epsilon_up((1 + t) / 2, 0.5588356393474351, t) < Fraction(1, 10**12)
    t = RenyiDpEvent.best_order_for_report(Fraction(1, 2), 0.5588)
    assert RenyiDpEvent.epsilon_up((1 + t) / 2, 0.5588, t) > 0


@pytest.mark.parametrize("t", [1e-8, 1e-3, 0.5, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.5])
def test_one_order_is_rounded_to_the_stated_side(t, delta):
    # Orders near 1 once gave epsilon = 0 (tensorflow/privacy#166): exact arithmetic keeps them.
    with mpmath.workdps(250):
        alpha, tau = 1 + mpmath.mpf(t), mpmath.mpf(3)
        gain = mpmath.log(1 / mpmath.mpf(delta)) + (alpha - 1) * mpmath.log(1 - 1 / alpha)
        exact = tau + (gain - mpmath.log(alpha)) / (alpha - 1)
        found = RenyiDpEvent.epsilon_up(Fraction(3), delta, Fraction(t))
        shown = mpmath.mpf(found.numerator) / found.denominator
        assert max(exact, 0) <= shown <= max(exact, 0) + mpmath.mpf(10) ** -40
    back = RenyiDpEvent.budget_down(float(found), delta, Fraction(t))
    assert back == 0 or abs(back - 3) < Fraction(1, 10**6)


def test_one_order_is_kept_from_budget_to_report():
    accountant = RdpAccountant.from_budget(1.0, 1e-6)
    zcdp = ZcdpAccountant.from_budget(1.0, 1e-6)
    assert accountant.budget == pytest.approx(float(accountant.order) * zcdp.budget, rel=1e-14)

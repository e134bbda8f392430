"""The mu of releases that are not Gaussian, held against the errors of every test of their
distributions."""

from fractions import Fraction

import mpmath
import pytest
from scipy.stats import norm

from dpcore.accountants import GdpAccountant, ZcdpAccountant
from dpcore.accountants.gaussian_mu import bounded_range_mu_up, laplace_mu_up, pure_mu_up
from dpcore.plugin.parts import (
    ExponentialMechanismDpEvent,
    ExPostDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    PureDpEvent,
)

EPSILONS = ["1e-6", ".01", ".3", "1", "2", "4", "8", "20", "60"]
DIGITS = 60


def quantile(tail):
    """Return Phi^-1(1 - tail), by mpmath."""
    if tail == mpmath.mpf(1) / 2:
        return mpmath.mpf(0)
    if tail > mpmath.mpf(1) / 2:
        return -quantile(1 - tail)
    return mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * tail)


def needed(q, missed):
    """Return the mu that a test needs of errors q, and missed = 1 - p."""
    return quantile(q) + quantile(missed)


def of_range(epsilon, s):
    """Return the errors of the two outcomes' test whose log-ratios are s and s - epsilon."""
    a, b = mpmath.exp(s - epsilon), mpmath.exp(s)
    q = (1 - a) / (b - a)
    return q, (1 - q) * a


def worst_of_range(epsilon, points=21):
    ends = (epsilon * k / mpmath.mpf(points) for k in range(1, points))
    return max(needed(*of_range(epsilon, s)) for s in ends)


def laplace_errors(epsilon, x):
    """Return the errors of a threshold x from the first of two centres, epsilon apart."""

    def beyond(z):
        return mpmath.exp(-z) / 2 if z >= 0 else 1 - mpmath.exp(z) / 2

    return beyond(x), beyond(epsilon - x)


def as_mp(fraction):
    return mpmath.mpf(fraction.numerator) / fraction.denominator


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_no_test_of_a_bounded_range_has_smaller_errors(epsilon):
    with mpmath.workdps(DIGITS):
        mu = as_mp(bounded_range_mu_up(Fraction(epsilon)))
        # Half a grid of ends, and its middle, the worst.
        worst = max(worst_of_range(mpmath.mpf(epsilon)), worst_of_range(mpmath.mpf(epsilon), 2))
        assert worst <= mu <= worst * (1 + mpmath.mpf("1e-6"))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_randomised_response_attains_the_mu_of_pure_releases(epsilon):
    with mpmath.workdps(DIGITS):
        e = mpmath.mpf(epsilon)
        share = 1 / (1 + mpmath.exp(e))
        exact, mu = needed(share, share), as_mp(pure_mu_up(Fraction(epsilon)))
        assert exact <= mu <= exact * (1 + mpmath.mpf("1e-6"))
        # Any end within the range of an epsilon-DP release, where both outcomes are possible.
        assert worst_of_range(2 * e) <= mu


def chance_of_less(kind, epsilon, gap):
    """Return the probability that the lesser of two utilities is selected, ``gap`` epsilons below
    the other: by exponential noise (Ding et al. 2021), or Laplace noise, whose difference is above
    z with probability (1/2 + z/4) e^-z."""
    z = epsilon * gap
    flip = mpmath.exp(-z) / 2
    return flip if kind == "permute-and-flip" else flip * (1 + z / 2)


@pytest.mark.parametrize("kind", ["permute-and-flip", "report-noisy-max"])
@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "1", "4"])
def test_selections_by_noise_are_within_the_mu_of_pure_releases(kind, epsilon):
    """Each is pure by its own argument, that to win is to pass a threshold. By two candidates whose
    difference moves by all of the range: at small epsilons that mu is nearly needed, so that little
    is given away; it would be below that of their distributions if they were taken for bounded
    range."""
    with mpmath.workdps(DIGITS):
        e, found = mpmath.mpf(epsilon), []
        for k in range(-20, 21):
            gap = mpmath.mpf(k) / 10
            distributions = [
                chance_of_less(kind, e, g) if g >= 0 else 1 - chance_of_less(kind, e, -g)
                for g in (gap, gap + 1)
            ]
            found.append(needed(distributions[1], 1 - distributions[0]))
        assert max(found) <= as_mp(pure_mu_up(Fraction(epsilon)))
        if kind == "permute-and-flip" and e <= mpmath.mpf("0.1"):
            assert max(found) >= as_mp(pure_mu_up(Fraction(epsilon))) * mpmath.mpf("0.95")
        if kind == "permute-and-flip":
            assert max(found) > as_mp(bounded_range_mu_up(Fraction(epsilon)))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_no_threshold_of_laplace_noise_has_smaller_errors(epsilon):
    with mpmath.workdps(DIGITS):
        e = mpmath.mpf(epsilon)
        thresholds = [e * k / 20 for k in range(-10, 31)]
        worst = max(needed(*laplace_errors(e, x)) for x in thresholds)
        mu = as_mp(laplace_mu_up(Fraction(epsilon)))
        assert worst <= mu <= worst * (1 + mpmath.mpf("1e-6"))


@pytest.mark.parametrize("twin", ["half of epsilon", "a Gaussian of the same zCDP", "one end"])
def test_a_mu_that_is_too_small_is_found(twin):
    epsilon = mpmath.mpf(2)
    too_small = {
        "half of epsilon": epsilon / 2,
        "a Gaussian of the same zCDP": mpmath.sqrt(2 * epsilon**2 / 8),
        "one end": needed(*of_range(epsilon, epsilon / 4)),
    }[twin]
    with mpmath.workdps(DIGITS):
        assert too_small < worst_of_range(epsilon, 2)


def test_the_slope_of_the_quantile_falls_in_the_odds():
    # Step 5 of the proof, at many points: h >= 0.
    with mpmath.workdps(30):
        for k in range(1, 400):
            u = mpmath.mpf(k) / 40
            a = 2 * mpmath.ncdf(u) - 1
            assert a * mpmath.npdf(u) - u * (1 - a * a) / 4 > 0


def test_spreading_a_shift_over_coordinates_costs_no_more():
    for epsilon in map(Fraction, EPSILONS):
        for part in (Fraction(1, 2), Fraction(1, 10), Fraction(1, 1000)):
            both = laplace_mu_up(epsilon * part) ** 2 + laplace_mu_up(epsilon * (1 - part)) ** 2
            assert both <= laplace_mu_up(epsilon) ** 2 * (1 + Fraction(1, 10**6))


def test_closed_forms_join_the_search_from_above():
    for bound in (bounded_range_mu_up, pure_mu_up, laplace_mu_up):
        for epsilon in (Fraction(1, 2**11), Fraction(1, 2**12), Fraction(1200), Fraction(600)):
            below, above = (
                bound(epsilon * (1 - Fraction(1, 2**40))),
                bound(epsilon * (1 + Fraction(1, 2**40))),
            )
            assert below < above * (1 + Fraction(1, 1000)) and above < below * Fraction(11, 10)


@pytest.mark.parametrize(
    ("event", "mu"),
    [
        (GaussianDpEvent(2.0), 0.5),
        (ExponentialMechanismDpEvent(1.0), -2 * norm.ppf(1 / (1 + 2.718281828459045**0.5))),
        (PureDpEvent(1.0), -2 * norm.ppf(1 / (1 + 2.718281828459045))),
        (ExPostDpEvent(1.0), -2 * norm.ppf(1 / (1 + 2.718281828459045))),
        (LaplaceDpEvent(1.0), -2 * norm.ppf(2.718281828459045**-0.5 / 2)),
    ],
)
def test_the_filter_adds_up_their_squares(event, mu):
    accountant = GdpAccountant.from_budget(30.0, 1e-6)
    assert float(accountant.cost(event)) == pytest.approx(mu * mu, rel=1e-9)
    twice = accountant.compose(event).compose(event)
    assert float(twice.spent) == pytest.approx(2 * mu * mu, rel=1e-9)


def test_runs_with_selections_buy_more_under_gdp():
    """Half of the budget for selections: the rest is less noise than under zcdp."""
    gdp, zcdp = (kind.from_budget(1.0, 1e-8) for kind in (GdpAccountant, ZcdpAccountant))
    selection = ExponentialMechanismDpEvent(0.01)
    left = [
        (Fraction(a.budget) - 20 * a.cost(selection)) / a.cost(GaussianDpEvent(1.0))
        for a in (gdp, zcdp)
    ]
    assert left[0] > Fraction(105, 100) * left[1]

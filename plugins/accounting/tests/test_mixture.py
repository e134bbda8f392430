"""Randomised sensitivity: both bounds against mpmath, one-sided, and the bound that is none."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from dpcore.accountants import ZcdpAccountant
from dpcore.errors import BudgetExceededError, InvalidInputError, UnsupportedEventError
from dpcore.plugin import noise_multiplier
from dpcore.plugin.parts import (
    ComposedDpEvent,
    GaussianDpEvent,
    GdpAccountant,
    LaplaceDpEvent,
    RandomizedSensitivityGaussian,
)
from dpcore_accounting.mixture import mixture_curve_up, mixture_renyi_up
from dpcore_accounting.rdp import RdpAccountant
from dpcore_accounting.single import SingleReleaseAccountant

ORDERS = [1e-8, 1e-4, 0.5, 1.0, 9.0, 99.0, 9999.0]

events = st.builds(
    lambda pairs, sigma: RandomizedSensitivityGaussian(
        tuple(d for d, _ in pairs), tuple(q for _, q in pairs), sigma
    ),
    st.lists(st.tuples(st.floats(1e-3, 3.0), st.integers(1, 5000)), min_size=1, max_size=30),
    st.floats(0.5, 50.0),
)


def as_mpf(x):
    return mpmath.mpf(x.numerator) / x.denominator


def renyi(event, t):
    """Lemma 3 of Chen, Lee & Kifer 2019, as written there, at order 1 + t."""
    alpha, sigma = 1 + mpmath.mpf(t), mpmath.mpf(event.sigma)
    terms = [
        q * mpmath.exp(alpha * t * mpmath.mpf(d) ** 2 / (2 * sigma**2))
        for d, q in zip(event.deltas, event.weights, strict=True)
    ]
    return mpmath.log(mpmath.fsum(terms) / sum(event.weights)) / t


def gaussian_delta(mu, epsilon):
    """Balle & Wang 2018, Theorem 8."""
    return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(
        -mu / 2 - epsilon / mu
    )


def curve(event, epsilon):
    pairs = zip(event.deltas, event.weights, strict=True)
    terms = [q * gaussian_delta(mpmath.mpf(d) / event.sigma, epsilon) for d, q in pairs]
    return mpmath.fsum(terms) / sum(event.weights)


@settings(max_examples=40, deadline=None)
@given(events, st.sampled_from(ORDERS))
def test_the_renyi_bound_is_never_below_and_never_zero(event, t):
    with mpmath.workdps(180):
        exact = renyi(event, t)
        bound = as_mpf(mixture_renyi_up(event, 1 + Fraction(t)))
        assert bound >= exact > 0
        # Few points stand for all: by Jensen above, by at most what their spacing allows.
        worst = (1 + mpmath.mpf(t)) * (mpmath.mpf(max(event.deltas)) / event.sigma) ** 2 / 2
        assert bound <= exact + worst / 50


@settings(max_examples=40, deadline=None)
@given(events, st.floats(0.01, 5.0))
def test_the_curve_is_never_below(event, epsilon):
    with mpmath.workdps(60):
        exact = curve(event, mpmath.mpf(epsilon))
        bound = as_mpf(mixture_curve_up(event, Fraction(epsilon)))
        assert bound >= min(exact, 1) - mpmath.mpf(10) ** -50


def geometric(sigma, m=500, ratio=0.99):
    return RandomizedSensitivityGaussian(tuple(ratio**j for j in range(m)), (1,) * m, sigma)


@pytest.mark.parametrize(("sigma", "epsilon"), [(60.0, 0.1), (8.0, 1.0), (3.0, 2.0)])
def test_the_curve_is_tight_for_many_distances(sigma, epsilon):
    event = geometric(sigma)
    with mpmath.workdps(40):
        exact = curve(event, mpmath.mpf(epsilon))
        assert 1 <= as_mpf(mixture_curve_up(event, Fraction(epsilon))) / exact < 1.01


def one_dimensional_mixture(event, epsilon):
    """The hockey-stick divergence of the mixture of normals at the distances from the one at 0: as
    if the release could not tell which distance it has."""
    sigma = mpmath.mpf(event.sigma)
    total = sum(event.weights)

    def excess(x):
        moved = sum(
            q * mpmath.npdf(x, d, sigma) for d, q in zip(event.deltas, event.weights, strict=True)
        )
        return max(mpmath.mpf(0), moved / total - mpmath.exp(epsilon) * mpmath.npdf(x, 0, sigma))

    return mpmath.quad(excess, mpmath.linspace(-3 * sigma, 9 * sigma, 25))


def test_the_one_dimensional_mixture_is_no_bound():
    # Half of the orders move the answer by 1, half by 0.01; the release is (j, x + Z), which a
    # query may well show (its coefficients tell the order). Then delta is the mean of the curves.
    event = RandomizedSensitivityGaussian((1.0, 0.01), (1, 99), 1.0)
    told = curve(event, mpmath.mpf(1))
    assert one_dimensional_mixture(event, mpmath.mpf(1)) < told / 10
    assert as_mpf(mixture_curve_up(event, Fraction(1))) >= told


@settings(max_examples=20, deadline=None)
@given(events, st.floats(0.05, 3.0))
def test_the_curve_is_at_most_what_the_renyi_bound_gives(event, epsilon):
    by_curve, by_renyi = (
        SingleReleaseAccountant.from_budget(epsilon, 1e-6, conversion).cost(event)
        for conversion in ("joint-convexity", "renyi")
    )
    # Both stand on the same few points; the curve is convex only for mu^2 <= 2 epsilon.
    if max(event.deltas) ** 2 <= 2 * epsilon * event.sigma**2:
        assert by_curve <= by_renyi


def proposition_1(event, t, epsilon):
    """Chen, Lee & Kifer 2019, Proposition 1 on Lemma 3, solved for the delta."""
    return mpmath.exp((renyi(event, t) - epsilon) * t)


def one_too_many(event, t, epsilon):
    """A broken twin: log(1/delta) over alpha in place of alpha - 1."""
    return mpmath.exp((renyi(event, t) - epsilon) * (1 + mpmath.mpf(t)))


@pytest.mark.parametrize(("sigma", "epsilon"), [(60.0, 0.1), (8.0, 1.0), (3.0, 2.0)])
def test_the_papers_conversion_is_proposition_1_at_its_best_order(sigma, epsilon):
    event = geometric(sigma, m=40, ratio=0.9)
    accountant = SingleReleaseAccountant.from_budget(epsilon, 1e-6, "mironov")
    claimed = as_mpf(accountant.cost(event))
    with mpmath.workdps(40):
        best = smallest(lambda t: proposition_1(event, t, epsilon))
        assert best * (1 - mpmath.mpf("1e-9")) <= claimed <= best * mpmath.mpf("1.05")
        assert smallest(lambda t: one_too_many(event, t, epsilon)) < best * 0.99


def smallest(delta_at):
    """Return the smallest of the deltas at orders 1 + t: their logarithm is convex in t."""
    found = minimize_scalar(
        lambda u: float(mpmath.log(delta_at(mpmath.exp(u)))), bounds=(-5, 12), method="bounded",
        options={"xatol": 1e-7},
    )  # fmt: skip
    return delta_at(mpmath.exp(found.x))


@settings(max_examples=20, deadline=None)
@given(events, st.floats(0.05, 3.0))
def test_the_papers_conversion_is_never_below_the_tight_one(event, epsilon):
    by_renyi, by_mironov = (
        SingleReleaseAccountant.from_budget(epsilon, 1e-6, conversion).cost(event)
        for conversion in ("renyi", "mironov")
    )
    assert by_renyi <= by_mironov


@pytest.mark.parametrize("epsilon", [0.05, 0.4, 1.6])
def test_the_papers_conversion_of_one_gaussian_is_a_closed_form(epsilon):
    # D_alpha = alpha rho, rho = 1 / (2 m^2): the best order is 1 + (epsilon - rho) / (2 rho).
    accountant = SingleReleaseAccountant.from_budget(epsilon, 1e-8, "mironov")
    for m in (4 / epsilon, 8 / epsilon):
        with mpmath.workdps(60):
            rho = 1 / (2 * mpmath.mpf(m) ** 2)
            exact = mpmath.exp(-((mpmath.mpf(epsilon) - rho) ** 2) / (4 * rho))
            claimed = as_mpf(accountant.cost(GaussianDpEvent(m)))
            assert exact <= claimed <= exact * (1 + mpmath.mpf("1e-9"))


@pytest.mark.parametrize(("epsilon", "ratio"), [(0.05, 1.28), (0.4, 1.18), (1.6, 1.12)])
def test_how_much_more_noise_the_papers_conversion_takes(epsilon, ratio):
    noise = []
    for conversion in ("renyi", "mironov"):
        accountant = SingleReleaseAccountant.from_budget(epsilon, 1e-8, conversion)
        noise.append(noise_multiplier(accountant, GaussianDpEvent, 1e-8))
    assert noise[1] / noise[0] == pytest.approx(ratio, abs=0.005)


@settings(max_examples=20, deadline=None)
@given(events, st.sampled_from(["joint-convexity", "renyi", "mironov"]))
def test_more_noise_costs_less(event, conversion):
    accountant = SingleReleaseAccountant.from_budget(1.0, 1e-6, conversion)
    quieter = RandomizedSensitivityGaussian(event.deltas, event.weights, 1.1 * event.sigma)
    assert accountant.cost(quieter) <= accountant.cost(event)
    assert RdpAccountant.from_budget(1.0, 1e-6).cost(quieter) < RdpAccountant.from_budget(
        1.0, 1e-6
    ).cost(event)


def test_one_distance_is_the_gaussian():
    single = SingleReleaseAccountant.from_budget(0.5, 1e-6)
    mixed = RandomizedSensitivityGaussian((2.0,), (7,), 20.0)
    assert single.cost(mixed) == single.cost(GaussianDpEvent(10.0))
    rdp = RdpAccountant.from_budget(0.5, 1e-6)
    expected = float(rdp.cost(GaussianDpEvent(10.0)))
    assert float(rdp.cost(mixed)) == pytest.approx(expected, rel=1e-30)


def test_it_holds_one_release():
    accountant = SingleReleaseAccountant.from_budget(0.5, 1e-6)
    spent = accountant.compose(GaussianDpEvent(20.0))
    assert 0 < spent.get_epsilon(1e-6) <= 0.5
    with pytest.raises(BudgetExceededError, match="one release"):
        spent.compose(GaussianDpEvent(1e9))
    with pytest.raises(UnsupportedEventError):
        accountant.compose(ComposedDpEvent((GaussianDpEvent(1e9), GaussianDpEvent(1e9))))
    with pytest.raises(UnsupportedEventError):
        accountant.compose(LaplaceDpEvent(1e9))
    with pytest.raises(BudgetExceededError, match="too small"):
        accountant.compose(GaussianDpEvent(1.0))


def test_no_schedule_of_several_releases_is_held():
    # Deltas at one epsilon do not add up: ten releases that have a tenth of delta each have far
    # more together (Dong, Roth & Su 2022, Corollary 3.3: one of sqrt(10) times the shift).
    epsilon, delta, release = 1.0, 1e-6, GaussianDpEvent(5.0)
    accountant = SingleReleaseAccountant.from_budget(epsilon, delta)
    assert 10 * accountant.cost(release) <= Fraction(delta)
    together = GdpAccountant.from_budget(100.0, delta)
    for _ in range(10):
        together = together.compose(release)
    assert together.get_epsilon(delta) > 2 * epsilon
    assert accountant.holds({release: 1}) and accountant.holds(
        {release: 1, GaussianDpEvent(1e9): 0}
    )
    assert not accountant.holds({release: 2})
    assert not accountant.holds({release: 1, GaussianDpEvent(1e9): 1})
    assert not accountant.compose(release).holds({GaussianDpEvent(1e9): 1})


@pytest.mark.slow
@pytest.mark.parametrize("conversion", ["joint-convexity", "renyi", "mironov"])
def test_the_reported_epsilon_is_that_of_the_release(conversion):
    accountant = SingleReleaseAccountant.from_budget(0.5, 1e-6, conversion)
    spent = accountant.compose(geometric(30.0, m=12, ratio=0.9))
    for delta in (1e-9, 1e-4):
        epsilon = spent.get_epsilon(delta)
        assert spent._delta_up(spent.event, epsilon) <= Fraction(delta)
        assert spent._delta_up(spent.event, epsilon * 0.999) > Fraction(delta)
    assert SingleReleaseAccountant.from_budget(0.5, 1e-6).get_epsilon(1e-9) == 0.0


@pytest.mark.parametrize("conversion", ["joint-convexity", "renyi"])
@pytest.mark.parametrize("event", [GaussianDpEvent(0.5), geometric(0.5, m=12, ratio=0.9)])
def test_an_epsilon_of_zero_is_found_at_once(monkeypatch, conversion, event):
    # No relative precision comes near 0: the search once halved epsilon down to the least float.
    spent = SingleReleaseAccountant.from_budget(9.0, 0.5, conversion).compose(event)
    asked, bound = [], SingleReleaseAccountant._delta_up
    monkeypatch.setattr(
        SingleReleaseAccountant, "_delta_up", lambda *of: asked.append(of) or bound(*of)
    )
    assert spent.get_epsilon(0.999) == 0.0 and len(asked) == 1
    with mpmath.workdps(60):
        exact = gaussian_delta(mpmath.mpf(2), mpmath.mpf(0))
        assert exact <= as_mpf(spent._delta_up(GaussianDpEvent(0.5), 0.0)) <= 1


def test_accountants_without_a_rule_say_who_has_one():
    with pytest.raises(UnsupportedEventError, match="rdp can"):
        ZcdpAccountant.from_budget(1.0, 1e-6).compose(geometric(60.0))


@pytest.mark.parametrize(
    "broken",
    [
        {"deltas": ()},
        {"deltas": (1.0, 2.0)},
        {"deltas": (math.nan,)},
        {"weights": (0,)},
        {"weights": (0.5,)},
        {"sigma": 0.0},
        {"deltas": [1.0]},
    ],
)
def test_malformed_events_are_refused(broken):
    with pytest.raises(InvalidInputError):
        RandomizedSensitivityGaussian(**{"deltas": (1.0,), "weights": (1,), "sigma": 1.0, **broken})

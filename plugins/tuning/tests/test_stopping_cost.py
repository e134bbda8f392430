"""What a search costs, computed exactly for mechanisms of a few outcomes, against the theorems.

Each broken twin is one that a tester would like to be told: a number of tries that is cut short, a
search that is charged as one try, orders that only look good.
"""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from dpcore.errors import InvalidInputError
from dpcore.plugin.parts import RenyiDpEvent, SeededNoise
from dpcore_tuning.repetition import best_of_random_tries
from dpcore_tuning.stopping_cost import filter_of_a_try, left_of, theorem_of, whole_filter
from dpcore_tuning.stopping_distributions import (
    Poisson,
    TruncatedNegativeBinomial,
    stopping_distribution,
)

DISTRIBUTIONS = {
    "geometric": TruncatedNegativeBinomial(Fraction(1), Fraction(1, 1000)),
    "logarithmic": TruncatedNegativeBinomial(Fraction(0), Fraction(1, 1000)),
    "negative": TruncatedNegativeBinomial(Fraction(-1, 2), Fraction(1, 1000)),
    "poisson": Poisson(Fraction(3)),
}


def generating(distribution):
    """The generating function of K: Papernot & Steinke 2022, section 3 and Theorem 6."""
    if isinstance(distribution, Poisson):
        return lambda x: math.exp(float(distribution.mean) * (x - 1))
    eta, gamma = float(distribution.eta), float(distribution.gamma)
    if eta == 0:
        return lambda x: math.log1p(-(1 - gamma) * x) / math.log(gamma)
    return lambda x: ((1 - (1 - gamma) * x) ** -eta - 1) / (gamma**-eta - 1)


def cut_short(distribution, most):
    """The generating function of min(K, most), for the geometric distribution."""
    shares = [
        float(distribution.gamma) * (1 - float(distribution.gamma)) ** (k - 1)
        for k in range(1, most)
    ]
    return lambda x: sum(s * x**k for k, s in enumerate(shares, 1)) + (1 - sum(shares)) * x**most


def distribution_of_the_best(f, shares):
    """The distribution of the best of K outcomes, which are listed from the worst up; the first is
    for none, where K may be 0."""
    below = np.concatenate([[0.0], np.cumsum(shares)])
    below[-1] = 1.0
    return np.array([f(0.0), *(f(b) - f(a) for a, b in zip(below[:-1], below[1:], strict=True))])


def loss_of(f, p, q):
    """The largest log ratio of the two distributions of the best, either way round."""
    a, b = distribution_of_the_best(f, p), distribution_of_the_best(f, q)
    kept = a > 0
    return float(np.abs(np.log(a[kept] / b[kept])).max())


def try_of(distribution, name, epsilon, delta):
    return filter_of_a_try(distribution, name, whole_filter(distribution, name, epsilon, delta))


def mechanisms(epsilon):
    """Pairs of distributions of three outcomes within e^epsilon of each other, extreme ones among
    them."""
    rng = np.random.default_rng(1)
    for _ in range(400):
        low, high = 10.0 ** rng.uniform(-6, -0.5, 2)
        p = np.array([0.0, low, high])
        q = p * np.exp(epsilon * rng.choice([-1, 1], 3))
        p[0], q[0] = 1 - p.sum(), 1 - q.sum()
        if q[0] > 0 and abs(math.log(p[0] / q[0])) <= epsilon:
            yield p, q


def divergence(a, b, order):
    return float(np.log(np.sum(a**order * b ** (1 - order))) / (order - 1))


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_no_pure_search_loses_more_than_it_may(name, epsilon):
    distribution = DISTRIBUTIONS[name]
    each = try_of(distribution, "pure", epsilon, 0.0).epsilon
    losses = [loss_of(generating(distribution), p, q) for p, q in mechanisms(each)]
    assert len(losses) > 100
    assert max(losses) <= epsilon * (1 + 1e-9)
    # And it is no idle bound: the price of one try alone would be exceeded by far.
    assert max(losses) > {"poisson": 1.05, "negative": 1.2}.get(name, 1.5) * each


def test_a_geometric_search_comes_close_to_three_times_its_try():
    # An outcome in the middle that is likelier where better ones are rarer.
    each, tail, own = 0.5, 1e-3, 1e-9
    p = np.array([0, own * math.exp(each), tail])
    q = np.array([0, own, tail * math.exp(each)])
    p[0], q[0] = 1 - p.sum(), 1 - q.sum()
    distribution = TruncatedNegativeBinomial(Fraction(1), Fraction(1, 10**7))
    assert 2.95 * each < loss_of(generating(distribution), p, q) <= 3 * each


def test_a_number_of_tries_that_is_cut_short_loses_more():
    # Randomised response, the worse answer the rarer one: of eight tries all are it with p^8.
    epsilon, distribution = 1.0, DISTRIBUTIONS["geometric"]
    each = try_of(distribution, "pure", epsilon, 0.0).epsilon
    rare = 1 / (1 + math.exp(each))
    p, q = np.array([rare, 1 - rare]), np.array([1 - rare, rare])
    assert loss_of(generating(distribution), p, q) <= epsilon
    assert loss_of(cut_short(distribution, 8), p, q) > 2 * epsilon


@pytest.mark.parametrize("name", ["geometric", "logarithmic", "negative"])
@pytest.mark.parametrize("order", [2.0, 8.0, 40.0])
def test_no_search_exceeds_the_renyi_bound(name, order):
    distribution = DISTRIBUTIONS[name]
    eta, gamma, mean = (
        float(distribution.eta),
        float(distribution.gamma),
        float(distribution.mean_up()),
    )
    for p, q in mechanisms(0.3):
        own = max(divergence(p, q, order), divergence(q, p, order))
        bound = own * (1 + (1 + eta) * (1 - 1 / order))
        bound += (1 + eta) * math.log(1 / gamma) / order + math.log(mean) / (order - 1)
        a, b = (distribution_of_the_best(generating(distribution), shares)[1:] for shares in (p, q))
        assert divergence(a, b, order) <= bound * (1 + 1e-9)


@pytest.mark.parametrize("name", ["geometric", "logarithmic", "negative"])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (3.0, 1e-9)])
def test_the_filter_of_a_try_is_within_the_budget_and_no_other_order_is_better(
    name, epsilon, delta
):
    distribution = DISTRIBUTIONS[name]
    eta, mean = float(distribution.eta), math.log(float(distribution.mean_up()))
    log_gamma = -math.log(float(distribution.gamma))

    def total(divergence_at, a, b):  # Theorem 2, then the tight conversion, in floats
        own = divergence_at(a) + (1 + eta) * (1 - 1 / b) * divergence_at(b)
        own += (1 + eta) * log_gamma / b + mean / (a - 1)
        return own - RenyiDpEvent.slack(a - 1, delta)

    rho = try_of(distribution, "zcdp", epsilon, delta).budget
    orders = 1 + np.geomspace(1, 1e4, 120)
    found = min(total(lambda o: o * rho, a, b) for a in orders for b in orders[::2])
    assert epsilon * 0.999 <= found <= epsilon * 1.01
    rdp = try_of(distribution, "rdp", epsilon, delta)
    assert total(lambda _: rdp.budget, *[float(rdp.order)] * 2) == pytest.approx(epsilon, rel=1e-9)
    assert rdp.budget / float(rdp.order) <= rho  # one order for both costs something
    assert rdp.budget / float(rdp.order) > rho / 2


def cost(distribution, whole, each):
    """Return what a search of such tries takes of a filter, by the theorems, in floats."""
    grown, budget = 1 + float(distribution.eta), each.budget
    if each.name == "pure":
        return (1 + grown) * budget
    t = float(whole.order - 1)

    def total(s):
        tries = budget * (1 + grown * s / (1 + s) if each.name == "rdp" else 1 + t + grown * s)
        overhead = (
            grown * -math.log(distribution.gamma) / (1 + s) + math.log(distribution.mean_up()) / t
        )
        return tries + overhead

    if each.name == "rdp":
        return total(t)
    return minimize_scalar(lambda x: total(math.exp(x)), bounds=(-9, 12), method="bounded").fun


@pytest.mark.parametrize("name", ["geometric", "logarithmic", "negative"])
@pytest.mark.parametrize("inner", ["pure", "zcdp", "rdp"])
def test_a_search_beside_steps_is_within_what_they_leave(name, inner):
    distribution = DISTRIBUTIONS[name]
    whole = whole_filter(distribution, inner, 2.0, 1e-6)
    for share in (Fraction(0), Fraction(1, 10), Fraction(1, 2)):
        left = replace(whole, spent_ticks=math.ceil(share * whole.budget_ticks))
        found = cost(distribution, whole, filter_of_a_try(distribution, inner, left))
        # Within what is left, but for the rounding of these floats, and nearly all of it.
        assert found <= float(left_of(left)) * (1 + 1e-12)
        assert found == pytest.approx(float(left_of(left)), rel=1e-6)
        # A price that forgot the steps is that of a search by itself.
        assert (cost(distribution, whole, filter_of_a_try(distribution, inner, whole)) > found) == (
            share > 0
        )


def test_the_best_has_the_distribution_that_the_proofs_are_about():
    shares, distribution = (
        np.array([0.5, 0.3, 0.2]),
        TruncatedNegativeBinomial(Fraction(1), Fraction(1, 3)),
    )
    noise, rng = SeededNoise(3), np.random.default_rng(2)

    class Outcome:
        def __init__(self, score):
            self.score = score

    def attempt(_):
        return Outcome(float(rng.choice(3, p=shares)))

    n = 1500
    best = [best_of_random_tries(distribution, 5, attempt, noise).score for _ in range(n)]
    expected = distribution_of_the_best(generating(distribution), shares)[1:]
    counts = np.bincount(np.array(best, int), minlength=3)
    # Hoeffding: each share is off by more than t with probability at most 2 exp(-2 n t^2); three
    # of them at a false alarm of 1e-6 in all.
    t = math.sqrt(math.log(6 / 1e-6) / (2 * n))
    assert np.all(np.abs(counts / n - expected) <= t)
    assert np.any(np.abs(np.bincount(rng.choice(3, n, p=shares)) / n - expected) > t)  # one try


def test_of_equal_scores_the_earlier_stays_and_failures_are_below_all():
    made = []

    class Outcome:
        score = 0.0

    def attempt(place):
        made.append(None if len(made) % 2 == 0 else Outcome())
        return made[-1]

    class Six:
        def draw(self, noise):
            return 6

    noise = SeededNoise(0)
    assert best_of_random_tries(Six(), 2, attempt, noise) is made[1]
    assert len(made) == 6  # never cut short
    assert best_of_random_tries(Six(), 2, lambda _: None, noise) is None


def test_what_has_no_theorem_is_refused_with_what_fits():
    with pytest.raises(InvalidInputError, match="zcdp, rdp or pure"):
        try_of(DISTRIBUTIONS["geometric"], "gdp", 1.0, 1e-6)
    with pytest.raises(InvalidInputError, match="--accountant pure"):
        try_of(DISTRIBUTIONS["poisson"], "zcdp", 1.0, 1e-6)
    with pytest.raises(InvalidInputError, match="too small"):
        try_of(stopping_distribution("geometric", 9999), "zcdp", 1e-60, 1e-300)


def test_values_are_rounded_down():
    each = try_of(DISTRIBUTIONS["geometric"], "pure", 0.1, 0.0)
    assert 3 * Fraction(each.epsilon) <= Fraction(0.1) < 3 * Fraction(np.nextafter(each.epsilon, 1))
    assert each.delta == 0 and each.budget == each.epsilon
    assert "Lemma 7" in theorem_of(DISTRIBUTIONS["poisson"], "pure")
    assert "Theorem 2" in theorem_of(DISTRIBUTIONS["geometric"], "rdp")

"""Bounds from counts, against scipy's and against distributions whose epsilon is known."""

import math

import numpy as np
import pytest

from dpcore.plugin.parts import GdpAccountant
from dpcore_lab.audit.claim import ALARM, Claim, Counts
from dpcore_lab.audit.statistic import learn
from dpcore_lab.audit.two_world import audit_worlds

DELTA = 1e-5


def test_bounds_are_clopper_and_pearsons():
    from scipy.stats import binomtest

    def interval(hits, level):
        return binomtest(hits, 400).proportion_ci(1 - 2 * level, method="exact")

    low, high = Counts(70, 400, 31, 400).bounds(0.025)
    assert low == pytest.approx(interval(70, 0.025).low, rel=1e-6)
    assert high == pytest.approx(interval(31, 0.025).high, rel=1e-6)


def test_an_epsilon_is_a_ratio_of_bounds():
    low, high = Counts(800, 1000, 100, 1000).bounds(0.025)
    found = Claim(1.0, 0.01).least_epsilon(Counts(800, 1000, 100, 1000))
    assert found == pytest.approx(math.log((low - 0.01) / high), rel=1e-8)


@pytest.mark.parametrize(("epsilon", "runs"), [(1.0, 41_000), (2.0, 12_000), (4.0, 4_000)])
def test_nine_tenths_are_shown_in_the_median(epsilon, runs):
    # The counts that are expected of the best Gaussian at the middle of its two answers.
    from scipy.special import ndtr

    mu = math.sqrt(GdpAccountant.from_budget(epsilon, DELTA).budget)
    counts = Counts(round(runs * ndtr(mu / 2)), runs, round(runs * ndtr(-mu / 2)), runs)
    found = Claim(epsilon, DELTA, mu).least_epsilon(counts)
    assert found == pytest.approx(0.9 * epsilon, rel=0.002)


def test_counts_that_show_nothing_show_0():
    for mu in (None, 0.3):
        assert Claim(1.0, DELTA, mu).least_epsilon(Counts(10, 100, 20, 100)) == 0.0
        assert Claim(1.0, DELTA, mu).least_epsilon(Counts(0, 100, 0, 100)) == 0.0
        assert not Claim(1.0, DELTA, mu).is_contradicted(Counts(0, 100, 100, 100), ALARM)


def laplace(scale):
    def draw(pair, world, first, runs):
        rng = np.random.default_rng([world, first])
        return rng.laplace(world, scale, (runs, 1))

    return draw


def test_the_form_of_gdp_is_for_claims_of_gdp_alone():
    # At the best of its sets an honest Laplace of epsilon .4 looks like a Gaussian of more.
    runs, draw = 400_000, laplace(1 / 0.4)
    honest = audit_worlds(Claim(0.4, DELTA), draw, 1, runs)
    assert 0.37 < honest.epsilon <= 0.4 and not honest.is_violation
    wrong = audit_worlds(Claim(0.4, DELTA, mu=0.2), draw, 1, runs)
    assert wrong.epsilon > 0.4


def normal(shift):
    def draw(pair, world, first, runs):
        rng = np.random.default_rng([pair, world, first])
        drawn = rng.normal(size=(runs, 3))
        drawn[:, 1] += shift * world * (pair == 2)
        return drawn

    return draw


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_the_pair_and_the_line_are_found(epsilon):
    mu = math.sqrt(GdpAccountant.from_budget(epsilon, DELTA).budget)
    found = audit_worlds(Claim(epsilon, DELTA, mu), normal(mu), 4, 160_000)
    assert found.pair == 2 and not found.is_violation
    assert 0.85 * epsilon < found.epsilon <= epsilon
    false = audit_worlds(Claim(epsilon, DELTA, mu), normal(2 * mu), 4, 160_000)
    assert false.is_violation


@pytest.mark.slow
def test_honest_claims_are_seldom_below_their_bound():
    # With 95 % the epsilon found is at most the true one. Of 200 audits so many or fewer are above
    # it but with probability 1e-6 (binomial distribution).
    from scipy.stats import binom

    mu, above, claim = 1.0, 0, Claim(0.0, DELTA, mu=1.0)
    for seed in range(200):
        rng = np.random.default_rng(seed)
        here, there = (rng.normal(mu * world, 1.0, (1000, 1)) for world in (0, 1))
        counts = learn(claim, here[:500], there[:500]).counts(here[500:], there[500:])
        above += claim.lower_bound(counts) > mu
    assert above <= binom.isf(1e-6, 200, 0.05)

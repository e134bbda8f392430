"""What is added to exact answers: no zeros, no repeats, and not too little."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from honest import Honest
from leaking_mechanisms import FifthTakesFirst, OneInFifty, RepeatsEveryThird
from scipy.stats import laplace, norm

from dpcore.plugin import ClippedGradientSum, Gaussian, Laplace, NeighboringRelation
from dpcore.plugin.parts import (
    GaussianDpEvent,
    LaplaceDpEvent,
    PureDpEvent,
    SeededNoise,
    Sensitivity,
)
from dpcore_lab.checks import check_mechanisms_and_queries
from dpcore_lab.outcomes.additive import ADDITIVE
from dpcore_lab.outcomes.residuals import (
    Residuals,
    assert_noise_is_fresh,
    faults_found,
    largest_share,
)


def test_the_largest_share_in_closed_form():
    # p (1 + 2 (e^-1 + e^-2 + ...)) = 1, at one step to either side.
    assert largest_share(PureDpEvent(1.0), 2) == pytest.approx(math.tanh(0.5), rel=0.01)
    # A thousand steps to either side: 1 + 2000 / (e - 1).
    assert largest_share(PureDpEvent(1.0), 2000) == pytest.approx(
        1 / (1 + 2000 / (math.e - 1)), rel=0.01
    )


@pytest.mark.parametrize("multiplier", [0.3, 1.0, 5.0, 20.0])
def test_no_honest_distribution_has_a_larger_share(multiplier):
    steps = 1000
    for event, distribution in (
        (GaussianDpEvent(multiplier), norm(scale=multiplier * steps)),
        (LaplaceDpEvent(multiplier), laplace(scale=multiplier * steps)),
    ):
        assert largest_share(event, 2 * steps) >= distribution.cdf(1) - distribution.cdf(0)
        assert largest_share(event, 2) >= distribution.cdf(steps / 2) - distribution.cdf(-steps / 2)


def drawn(mechanism, norm, seed, n=400, bits=30):
    known = Sensitivity(norm, 1.0, NeighboringRelation.REPLACE_ONE, bits)
    noise = SeededNoise(seed)
    values = [mechanism.release(np.zeros(5, np.int64), known, noise) for _ in range(n)]
    return Residuals(np.ldexp(np.array(values), bits), mechanism.event(known), 2.0**bits)


@pytest.mark.parametrize("deviates", [8000, 4096])
def test_a_wide_answer_has_no_noise_twice_though_many_of_them_may(deviates):
    rng, bits = np.random.default_rng(3), 32
    steps = [np.resize(np.rint(40 * 2.0**bits * rng.normal(size=deviates)), 8000) for _ in range(8)]
    found = Residuals(np.array(steps), GaussianDpEvent(40.0), 2.0**bits)
    assert found.chances[1] > 1e-3 >= found.chance_within / 2
    if deviates == 8000:
        assert_noise_is_fresh([found], "honest", 1e-7)
        return
    with pytest.raises(AssertionError, match="the noise of another coordinate"):
        assert_noise_is_fresh([found], "tiled", 1e-7)


@pytest.mark.parametrize("most", [2.5, math.inf])
def test_a_largest_noise_that_is_there_twice_is_found_where_other_repeats_are_likely(most):
    rng, bits = np.random.default_rng(4), 22
    deviates = np.clip(rng.normal(size=(3, 400, 50)), -most, most)
    steps = np.rint(40 * 2.0**bits * deviates)
    found = [Residuals(each, GaussianDpEvent(40.0), 2.0**bits) for each in steps]
    assert found[0].chances[1] > 1e-3 > found[0].chance_of_two_largest
    if most == math.inf:
        assert_noise_is_fresh(found, "honest", 1e-7)
        return
    with pytest.raises(AssertionError, match="there twice: it is cut off there .3 of 3 releases"):
        assert_noise_is_fresh(found, "cut off", 1e-7)


def test_the_largest_noise_is_there_twice_no_more_often_than_is_allowed():
    # Laplace noise of scale 40 on whole steps, 5 values each: its chance is 2 * 5 * largest_share.
    rng, n = np.random.default_rng(5), 20_000
    sizes = np.abs(np.floor(40 * rng.laplace(size=(n, 5))))
    allowed = Residuals(sizes[:1], LaplaceDpEvent(40.0), 1.0).chance_of_two_largest
    twice = (np.sort(sizes, axis=1)[:, -2:] == sizes.max(axis=1)[:, None]).all(axis=1)
    assert 0.005 < twice.mean() < allowed


def test_honest_noise_is_fresh():
    found = [drawn(Gaussian(2.0), "l2", 1), drawn(Laplace(1.0), "l1", 2)]
    assert_noise_is_fresh(found, "honest", 1e-7)
    assert faults_found(found, 1e-7).startswith("an exact answer in one release of ")


@pytest.mark.parametrize(
    ("mechanism", "norm", "reason"),
    [
        (OneInFifty(2.0), "l2", "is the exact answer"),
        (FifthTakesFirst(2.0), "l2", "has the noise of another"),
        (RepeatsEveryThird(2.0), "l1", "has the noise of another"),
    ],
)
def test_noise_that_is_not_fresh_is_found(mechanism, norm, reason):
    with pytest.raises(AssertionError, match=reason):
        assert_noise_is_fresh([drawn(mechanism, norm, 3)], "leaking", 1e-7)


def test_noise_that_is_too_small_is_found():
    quiet = drawn(Gaussian(0.2), "l2", 4)
    claimed = Residuals(quiet.steps, GaussianDpEvent(2.0), quiet.reach)
    with pytest.raises(AssertionError, match="too small"):
        assert_noise_is_fresh([claimed], "quiet", 1e-7)


@dataclass(frozen=True, kw_only=True)
class Brings(Honest):
    """Brings a mechanism along."""

    mechanism: type = Gaussian

    def step(self, problem, session, w, multiplier, n):
        query = ClippedGradientSum(problem, w, self.clip)
        gradient = session.release(query, self.mechanism(multiplier))
        return w - self.rate * (gradient / n + problem.l2 * w)


class OnlyInRuns(FifthTakesFirst):
    """Honest where the check of mechanisms draws, and not in a run."""

    def release(self, exact, sensitivity, noise):
        kind = Gaussian if type(noise) is SeededNoise else FifthTakesFirst
        return kind.release(self, exact, sensitivity, noise)


@pytest.mark.slow
def test_the_noise_of_a_run_is_looked_at(monkeypatch):
    # Few settings of the check of mechanisms: it is fooled in all of them.
    monkeypatch.setattr("dpcore_lab.checks.mechanisms.ADDITIVE", ADDITIVE[2:3])
    tested = check_mechanisms_and_queries(Brings())
    assert "the noise of 180 of 180 releases in 3 runs" in tested.what
    assert "(Gaussian)" in tested.power
    with pytest.raises(AssertionError, match="OnlyInRuns: too often a release has the noise of"):
        check_mechanisms_and_queries(Brings(mechanism=OnlyInRuns))

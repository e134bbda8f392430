"""Bounds of attacks under Gaussian differential privacy, against the normal distribution itself."""

from fractions import Fraction
from statistics import NormalDist

import pytest

from dpcore_report.gaussian_attack import GaussianPromise

NORMAL = NormalDist()


@pytest.mark.parametrize("mu", [0.01, 0.2, 1.0, 3.0])
def test_a_guess_is_right_as_often_as_between_two_normal_distributions(mu):
    # Dong, Roth & Su 2022: the total variation of N(0, 1) and N(mu, 1) is 2 Phi(mu / 2) - 1.
    guessed = GaussianPromise(Fraction(mu)).guessed()
    assert guessed >= Fraction(NORMAL.cdf(mu / 2)) - Fraction(1, 10**15)
    assert float(guessed) == pytest.approx(NORMAL.cdf(mu / 2), abs=1e-12)
    assert GaussianPromise(Fraction(mu)).of_group(2).guessed() > guessed


@pytest.mark.parametrize("share", [0.01, 0.001])
@pytest.mark.parametrize("mu", [0.2, 1.0, 3.0])
def test_a_test_names_as_many_as_the_best_between_two_normal_distributions(mu, share):
    # Dong, Roth & Su 2022, equation 6: the trade-off function of N(0, 1) and N(mu, 1).
    power = NORMAL.cdf(mu - NORMAL.inv_cdf(1 - share))
    assert float(GaussianPromise(Fraction(mu)).caught(Fraction(share))) == pytest.approx(power)


def test_a_mu_of_half_the_size_is_told_apart():
    halved = GaussianPromise(Fraction(1, 2)).guessed()
    assert float(halved) < NORMAL.cdf(0.5) - 0.01

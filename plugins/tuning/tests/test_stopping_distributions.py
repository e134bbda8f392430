"""Distributions of the number of tries, drawn as SciPy has them; a distribution cut short is told
apart."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpcore.errors import InvalidInputError
from dpcore.plugin.parts import SeededNoise
from dpcore_tuning.stopping_distributions import (
    Poisson,
    TruncatedNegativeBinomial,
    stopping_distribution,
)

DRAWS = 1500
FALSE_ALARM = 1e-6
K = np.arange(200)


def truncated(eta, gamma):
    """SciPy's negative binomial, without its 0: P(k) up to a constant, for eta > 0."""
    shares = stats.nbinom.pmf(K, eta, gamma) * (K > 0)
    return shares / shares.sum()


REFERENCES = {
    "geometric": (
        TruncatedNegativeBinomial(Fraction(1), Fraction(1, 4)),
        stats.geom.pmf(K, 1 / 4),
    ),
    "logarithmic": (
        TruncatedNegativeBinomial(Fraction(0), Fraction(1, 5)),
        stats.logser.pmf(K, 4 / 5),
    ),
    "half": (
        TruncatedNegativeBinomial(Fraction(1, 2), Fraction(1, 5)),
        truncated(0.5, 0.2),
    ),
    "poisson": (Poisson(Fraction(13, 5)), stats.poisson.pmf(K, 2.6)),
    "small poisson": (Poisson(Fraction(1, 3)), stats.poisson.pmf(K, 1 / 3)),
}


def p_value(drawn, shares):
    """Chi-square of counts against a distribution, its tail of fewer than ten expected draws as one
    bin."""
    last = int(np.flatnonzero(shares * len(drawn) >= 10).max()) + 1
    counts = np.bincount(np.minimum(drawn, last), minlength=last + 1)[: last + 1]
    expected = np.append(shares[:last], shares[last:].sum()) * len(drawn)
    kept = expected > 0
    assert not counts[~kept].any()
    return stats.chisquare(counts[kept], expected[kept]).pvalue


@pytest.mark.parametrize("name", REFERENCES)
def test_a_distribution_is_drawn_as_the_reference_has_it(name):
    distribution, shares = REFERENCES[name]
    noise = SeededNoise(11)
    drawn = np.array([distribution.draw(noise) for _ in range(DRAWS)])
    assert p_value(drawn, shares) > FALSE_ALARM
    short = np.minimum(drawn, 1 if name == "small poisson" else 2)  # the broken twin
    assert p_value(short, shares) < FALSE_ALARM


def test_a_negative_eta_has_the_shares_of_its_definition():
    # Papernot & Steinke 2022, Definition 1, at eta = -1/2: the product of (l + eta) / (l + 1).
    gamma, shares = 0.2, np.zeros(200)
    factors = np.cumprod((np.arange(199) - 0.5) / (np.arange(199) + 1))
    shares[1:] = (1 - gamma) ** np.arange(1, 200) * factors / (gamma**0.5 - 1)
    assert shares.sum() == pytest.approx(1)
    distribution, noise = TruncatedNegativeBinomial(Fraction(-1, 2), Fraction(1, 5)), SeededNoise(5)
    drawn = np.array([distribution.draw(noise) for _ in range(DRAWS)])
    assert p_value(drawn, shares) > FALSE_ALARM


@pytest.mark.parametrize("name", ["geometric", "logarithmic", "half"])
def test_the_mean_is_rounded_up_and_close(name):
    distribution, shares = REFERENCES[name]
    mean = float((K * shares).sum())
    assert float(distribution.mean_up()) == pytest.approx(mean, rel=1e-9)
    coarse = TruncatedNegativeBinomial(Fraction(-1, 2), Fraction(1, 9))
    # eta (1 - gamma) / (gamma (1 - gamma^eta)) = (-1/2)(8/9) 9 / (1 - 3) = 2, exactly.
    assert 2 <= coarse.mean_up() < 2 + Fraction(1, 10**50)


@pytest.mark.parametrize(
    ("name", "eta"), [("geometric", None), ("logarithmic", None), ("negative-binomial", -0.5)]
)
def test_a_distribution_has_about_the_mean_that_is_asked_for(name, eta):
    assert float(stopping_distribution(name, 7.5, eta).mean_up()) == pytest.approx(7.5, rel=0.01)


def test_poisson_takes_its_mean_as_it_is():
    assert stopping_distribution("poisson", 2.5) == Poisson(Fraction(5, 2))


@pytest.mark.parametrize(
    ("asked", "match"),
    [
        (("uniform", 3), "one of geometric"),
        (("geometric", 1), "one at least"),
        (("geometric", float("nan")), "at most"),
        (("geometric", 1e9), "at most"),
        (("poisson", 0), "> 0"),
        (("geometric", 3, 0.5), "only there"),
        (("negative-binomial", 3), "only there"),
        (("negative-binomial", 3, -1.5), "eta"),
        (("negative-binomial", 3, float("inf")), "eta"),
    ],
)
def test_values_that_no_distribution_has_are_refused(asked, match):
    with pytest.raises(InvalidInputError, match=match):
        stopping_distribution(*asked)

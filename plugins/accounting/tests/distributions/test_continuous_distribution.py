"""Sums of exact deviates: their distribution, one floor, and mechanisms that claim a cost."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2, gamma, norm

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation, RowCount
from dpcore.plugin.parts import (
    GridScale,
    LaplaceDpEvent,
    LocalEngine,
    SeededNoise,
    Sensitivity,
    Table,
    TableSession,
    float_down,
    load_registry,
)
from dpcore_accounting.distributions import AddedDeviates, ContinuousDistribution

ONE = Sensitivity("l1", 1.0, NeighboringRelation.ADD_OR_REMOVE_ONE)
FALSE_ALARM = 1e-6
"""An honest sampler fails one test of a fixed seed with this probability, when it is written."""
N = 3000


def two_laplaces(x):
    """P(L + L' <= x): the density (1 + |x|) exp(-|x|) / 4, integrated."""
    tail = (2 + abs(x)) * math.exp(-abs(x)) / 4
    return 1 - tail if x >= 0 else tail


DISTRIBUTIONS = {
    (("laplace", 1.0), ("laplace", 1.0)): two_laplaces,
    (("normal", 1.0), ("normal", -0.75)): norm(scale=1.25).cdf,
    (("gamma", 1.0, 3),): gamma(3).cdf,
    (("exponential", 0.5), ("exponential", 0.5)): gamma(2, scale=0.5).cdf,
    (("gamma", -0.25, 2), ("exponential", -0.25)): lambda x: gamma(3, scale=0.25).sf(-x),
}


def p_value(steps, cdf, scale):
    """Chi-square of floors against a distribution of the reference, its tails pooled."""
    edges, reached = [], 0.0
    for z in range(-60, 61):
        if min(cdf(z / scale) - reached, 1 - cdf(z / scale)) > 8 / N:
            edges.append(z)
            reached = cdf(z / scale)
    shares = np.diff([0.0, *(cdf(z / scale) for z in edges), 1.0])
    assert shares.size > 3
    counts = np.bincount(np.searchsorted(edges, steps, side="right"), minlength=shares.size)
    return chi2.sf(np.sum((counts - shares * N) ** 2 / (shares * N)), shares.size - 1)


def mechanism_of(terms):
    @dataclass(frozen=True)
    class Mine(AddedDeviates):
        """An author's own."""

        name = "mine"
        needs = "l1"
        distribution = ContinuousDistribution(terms)

        def event(self, sensitivity):
            return LaplaceDpEvent(float_down(self.exact_multiplier(sensitivity)))

    return Mine


@pytest.mark.parametrize("terms", DISTRIBUTIONS)
def test_floors_have_the_distribution_of_the_sum(terms):
    exact = np.arange(N, dtype=np.int64).reshape(-1, 4)
    made = mechanism_of(terms)(2.0)
    added = made.release(exact, ONE, SeededNoise(5)) - exact
    assert p_value(added.ravel(), DISTRIBUTIONS[terms], 2.0) > FALSE_ALARM


def floor_of_each(deviate):
    """Broken: each term is floored by itself."""
    parts = [type(deviate)([part], deviate._shift) for part in deviate._parts]
    return sum(part.floor() for part in parts)


def same_twice(deviate):
    """Broken: one deviate is taken twice, in place of two."""
    return type(deviate)([deviate._parts[0]] * 2, deviate._shift).floor()


def coarse(deviate):
    """Broken: floored to a coarser grid than the answer stands on."""
    return deviate.floor() // 2 * 2


@pytest.mark.parametrize("broken", [floor_of_each, same_twice, coarse])
def test_a_broken_floor_is_seen(broken):
    terms = (("laplace", 1.0), ("laplace", 1.0))
    drawn = ContinuousDistribution(terms).draw(SeededNoise(5), GridScale(1), N)
    steps = [broken(deviate) for deviate in drawn]
    assert p_value(steps, DISTRIBUTIONS[terms], 1.0) < FALSE_ALARM


@pytest.mark.parametrize("scale", [GridScale(1, 40), GridScale(3, 1), GridScale(2**57 + 1)])
def test_a_floor_is_that_of_more_digits(scale):
    """At 2^57 steps and a weight of 2^20 every floor takes two digits or more."""
    distribution = ContinuousDistribution(
        (("laplace", 2.0**20), ("normal", -0.3), ("gamma", 1 / 3, 2))
    )
    for deviate in distribution.draw(SeededNoise(0), scale, 40):
        floor = deviate.floor()
        low, high, shift = deviate.bounds(5)
        assert floor == math.floor(Fraction(low, 2**shift))
        assert 0 < Fraction(high - low, 2**shift) < Fraction(1, 2**150)


def test_bounds_are_nested_and_hold_the_weights_exactly():
    distribution = ContinuousDistribution((("exponential", 0.1), ("exponential", -0.1)))
    (deviate,) = distribution.draw(SeededNoise(1), GridScale(5, 2), 1)
    bounds = [deviate.bounds(digits) for digits in (1, 2, 3)]
    ends = [(Fraction(a, 2**s), Fraction(b, 2**s)) for a, b, s in bounds]
    for (low, high), (lower, higher) in zip(ends[1:], ends, strict=False):
        assert lower <= low < high <= higher
    width = 2 * Fraction(0.1) * Fraction(5, 4)
    assert [high - low for low, high in ends] == [width / 2 ** (64 * d) for d in (1, 2, 3)]


def test_no_word_is_used_twice():
    """Two releases of one source, and the coordinates of one, have deviates of their own."""
    made, noise = mechanism_of((("laplace", 1.0), ("normal", 1.0)))(2.0**40), SeededNoise(2)
    exact = np.zeros(500, dtype=np.int64)
    drawn = np.concatenate([made.release(exact, ONE, noise) for _ in range(2)])
    assert np.unique(drawn).size == 1000


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ((), "1 to 64"),
        ([("laplace", 1.0)], "a tuple of 1"),
        ((["laplace", 1.0],), "each term to be a tuple"),
        ((("cauchy", 1.0),), "begins with one of normal"),
        ((("laplace",),), "a kind and a weight"),
        ((("laplace", 1.0, 2),), "a kind and a weight"),
        ((("gamma", 1.0),), "and a whole shape"),
        ((("gamma", 1.0, 2.0),), "shape=2.0"),
        ((("gamma", 1.0, 0),), "shape=0"),
        ((("laplace", 1),), "weight=1 "),
        ((("laplace", 0.0),), "weight=0.0"),
        ((("laplace", math.nan),), "weight=nan"),
        ((("laplace", 2.0**65),), "weight="),
    ],
)
def test_no_other_terms_are_taken(terms, message):
    with pytest.raises(InvalidInputError, match=message):
        ContinuousDistribution(terms)


def test_a_distribution_of_one_normal_or_laplace_deviate_is_the_cores():
    for kind, other in (("normal", "gaussian"), ("laplace", "laplace")):
        with pytest.raises(InvalidInputError, match=f"take the mechanism {other}, whose cost"):
            mechanism_of(((kind, 1.0),))(2.0)
    with pytest.raises(InvalidInputError, match="Expected distribution of Mine"):

        class Mine(AddedDeviates):
            distribution = (("gamma", 1.0, 2),)

        Mine(1.0)


def test_the_claim_of_an_author_is_named():
    table = Table.from_matrix(np.zeros((9, 1)), np.ones(9), row_norm=1.0, raw_norm_bound=1.0)
    accountant = load_registry().load("accountant", "zcdp").from_budget(1.0, 1e-6)
    add = NeighboringRelation.ADD_OR_REMOVE_ONE
    opened = TableSession(LocalEngine(table), accountant, add, SeededNoise(0))
    mine = mechanism_of((("laplace", 1.0), ("laplace", 0.5)))
    assert opened.release(RowCount("l1"), mine(20.0)).shape == (1,)
    assert opened.foreign_parts == (f"{__name__}:mechanism_of.<locals>.Mine",)
    with pytest.raises(InvalidInputError, match="Mine needs an l1 sensitivity"):
        opened.release(RowCount("l2"), mine(20.0))
    assert len(opened.ledger) == 1

"""Tables of weights: what is refused, and the distribution of what is drawn from them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import SeededNoise, Sensitivity
from dpcore_accounting.distributions import IntegerDistribution, TableNoise

ONE = Sensitivity("linf", 1.0, NeighboringRelation.ADD_OR_REMOVE_ONE)
WEIGHTS = (3, 0, 21, 16, 9, 0, 0, 15)  # lopsided, with holes: neither a sign nor an end is alike
DISTRIBUTION = IntegerDistribution(-4, WEIGHTS)
FALSE_ALARM = 1e-6
"""An honest sampler fails one test of a fixed seed with this probability, when it is written."""
N = 20_000


def p_value(counts, shares):
    expected = np.asarray(shares, float) * np.sum(counts)
    assert expected.min() >= 5
    return chi2.sf(np.sum((counts - expected) ** 2 / expected), len(shares) - 1)


def fits(noise, seed=3):
    """Whether what a mechanism adds to zeros and sevens has the distribution, coordinate by
    coordinate, pair by pair, and no value besides."""
    exact = np.tile(np.array([0, 7], dtype=np.int64), N // 2)
    added = (noise.release(exact, ONE, SeededNoise(seed)) - exact).astype(int) + 4
    if not set(added) <= set(np.flatnonzero(WEIGHTS)):
        return False
    places = np.searchsorted(np.flatnonzero(WEIGHTS), added)
    shares = np.array([w for w in WEIGHTS if w]) / 64
    alone = [np.bincount(half, minlength=5) for half in (places[::2], places[1::2])]
    # The rarest pairs together, so that enough of each kind is expected.
    kinds = np.minimum(2, places)
    lumped = np.append(shares[:2], shares[2:].sum())
    pairs = np.bincount(3 * kinds[:-1:2] + kinds[1::2], minlength=9)
    found = [p_value(counts, shares) for counts in alone]
    return min(*found, p_value(pairs, np.outer(lumped, lumped).ravel())) > FALSE_ALARM


class Multiplied(TableNoise):
    """Broken: an integer deviate is scaled, and leaves the answer's residues."""

    def release(self, exact, sensitivity, noise):
        return exact + 2.0 * (super().release(exact, sensitivity, noise) - exact)


class Capped(TableNoise):
    """Broken: the deviate is cut off before its distribution ends."""

    def release(self, exact, sensitivity, noise):
        return exact + np.clip(super().release(exact, sensitivity, noise) - exact, -2, 2)


class LeavesZerosAlone(TableNoise):
    """Broken: what is 0 stays 0."""

    def release(self, exact, sensitivity, noise):
        return np.where(exact == 0, 0.0, super().release(exact, sensitivity, noise))


class Repeats(TableNoise):
    """Broken: two coordinates have one deviate."""

    def release(self, exact, sensitivity, noise):
        added = super().release(exact, sensitivity, noise) - exact
        return exact + np.repeat(added[::2], 2)


class OneMore(TableNoise):
    """Broken: a value is taken where the weights up to it are reached, not passed."""

    def release(self, exact, sensitivity, noise):
        reached = np.cumsum(WEIGHTS)
        uniform = noise.integers_below(64, exact.size)
        return exact - 4.0 + np.searchsorted(reached, uniform, side="left")


def test_deviates_are_independent_and_have_the_distribution():
    assert fits(TableNoise(DISTRIBUTION, N))


@pytest.mark.parametrize("broken", [Multiplied, Capped, LeavesZerosAlone, Repeats, OneMore])
def test_a_broken_twin_is_seen(broken):
    assert not fits(broken(DISTRIBUTION, N))


def test_every_uniform_number_has_its_value():
    """All 64 numbers below 2^6, each once: the values are as often as their weights say."""

    class Each:
        def integers_below(self, n, size):
            assert n == size == 64
            return np.arange(64)

    drawn = DISTRIBUTION.draw(Each(), 64)
    assert [int(np.sum(drawn == z)) for z in range(-4, 4)] == list(WEIGHTS)


def test_the_largest_table_of_the_most_bits_is_drawn():
    distribution = IntegerDistribution(2**40, (2**46,) * 2**16)
    drawn = distribution.draw(SeededNoise(0), 1000) - 2**40
    assert distribution.bits == 62 and 0 <= drawn.min() and drawn.max() < 2**16
    assert p_value(np.bincount(drawn >> 14, minlength=4), [0.25] * 4) > FALSE_ALARM


class Int(int):
    pass


@pytest.mark.parametrize(
    ("first", "weights", "message"),
    [
        (0.0, (1, 1), "first=0.0"),
        (True, (1, 1), "first=True"),
        (2**41, (1, 1), "within 2.40 of 0"),
        (0, [1, 1], "a tuple"),
        (0, (2,), "a tuple of 2"),
        (0, np.array([1, 1]), "a tuple"),
        (0, (1, 1.0), "plain ints"),
        (0, (True, 1), "plain ints"),
        (0, (Int(1), 1), "plain ints"),
        (0, (3, -1), "plain ints >= 0"),
        (0, (1, 2), "sum to 2.k, .* and not to 3"),
        (0, (2**62, 2**62), "k from 1 to 62"),
        (0, (1, 0), "k from 1"),
        (0, (0, 0), "not to 0"),
    ],
)
def test_no_other_table_is_taken(first, weights, message):
    with pytest.raises(InvalidInputError, match=message):
        IntegerDistribution(first, weights)


def test_neither_distribution_nor_mechanism_of_a_class_of_its_own_makes_a_table():
    class Mine(IntegerDistribution):
        pass

    with pytest.raises(InvalidInputError, match="of no class of its own"):
        TableNoise(Mine(0, (1, 1)), 1)
    with pytest.raises(AttributeError):
        DISTRIBUTION.weights = (1, 63)
    for coordinates in (0, 1.0, True, 2**21):
        with pytest.raises(InvalidInputError, match="coordinates="):
            TableNoise(DISTRIBUTION, coordinates)
    for delta in (0.0, 1.0, 1, math.nan):
        with pytest.raises(InvalidInputError, match="delta="):
            TableNoise(DISTRIBUTION, 1, delta)


def test_masses_become_weights():
    tiny = 1e-30
    distribution = IntegerDistribution.of([tiny, 0.0, Fraction(1, 3), 1], -1, bits=10)
    assert distribution.first == -1 and distribution.weights == (
        1,
        0,
        255,
        768,
    )  # none is lost, none made
    assert IntegerDistribution.of([1, 1], 0, bits=62).weights == (2**61, 2**61)
    for masses in ([1.0, math.inf], [1.0, math.nan], [2.0, -1.0], [0.0, 0.0]):
        with pytest.raises(InvalidInputError, match="masses to be finite and >= 0"):
            IntegerDistribution.of(masses, 0)
    with pytest.raises(InvalidInputError, match="bits=63"):
        IntegerDistribution.of([1, 1], 0, bits=63)
    with pytest.raises(InvalidInputError, match="fewer masses"):
        IntegerDistribution.of([1.0] * 9, 0, bits=3)

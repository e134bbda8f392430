"""Mechanisms with one fault each, which the checks have to find, and honest ones beside them."""

from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np

from dpcore.plugin import Gaussian, Laplace, NeighboringRelation
from dpcore.plugin.parts import PureDpEvent, SeededNoise
from dpcore_accounting.selections.exponential import Exponential


def add(exact, drawn, sensitivity):
    return np.ldexp((exact + drawn).astype(float), -sensitivity.grid_bits)


class InThirtyTwoBits(Gaussian):
    """Noise kept in an int32, which wraps on a fine grid."""

    def release(self, exact, sensitivity, noise):
        drawn = noise.gaussian(self.scale(sensitivity), exact.shape)
        return add(exact, drawn.astype(np.int32), sensitivity)


class FifthTakesFirst(Gaussian):
    """Coordinate 5 has the noise of coordinate 1."""

    def release(self, exact, sensitivity, noise):
        drawn = noise.gaussian(self.scale(sensitivity), exact.shape)
        if drawn.size >= 5:
            drawn[4] = drawn[0]
        return add(exact, drawn, sensitivity)


class FifthFollowsFirst(Gaussian):
    """Coordinate 5 has nine tenths of the noise of coordinate 1, and some of its own."""

    def release(self, exact, sensitivity, noise):
        drawn = noise.gaussian(self.scale(sensitivity), exact.shape)
        if drawn.size >= 5:
            drawn[4] = 0.9 * drawn[0] + 0.43 * drawn[4]
        return add(exact, drawn, sensitivity)


class EightBits(Gaussian):
    """All noise follows from 8 bits of entropy."""

    def release(self, exact, sensitivity, noise):
        few = SeededNoise(int(noise.words(1)[0]) & 255)
        return super().release(exact, sensitivity, few)


class RepeatsEveryThird(Laplace):
    """Every third release takes the noise of the one before."""

    kept = WeakKeyDictionary()

    def release(self, exact, sensitivity, noise):
        drawn = noise.laplace(self.scale(sensitivity), exact.shape)
        count, before = self.kept.get(noise, (1, drawn))
        if count % 3 == 0:
            drawn = before
        self.kept[noise] = count + 1, drawn
        return add(exact, drawn, sensitivity)


class OneInFifty(Gaussian):
    """The exact answer once in ``odds`` releases."""

    odds = 50

    def release(self, exact, sensitivity, noise):
        noisy = super().release(exact, sensitivity, noise)
        bare = noise.integers_below(self.odds) == 0
        return add(exact, 0, sensitivity) if bare else noisy


class OneInAThousand(OneInFifty):
    odds = 1000


class Staircase(Laplace):
    """The staircase distribution (Geng & Viswanath 2014) in each coordinate, at the width of the
    whole l1 sensitivity: right for one coordinate, and two that move by half of it each cost
    twice."""

    def event(self, sensitivity):
        return PureDpEvent(super().event(sensitivity).noise_multiplier ** -1 * (1 + 1e-12))

    def release(self, exact, sensitivity, noise):
        epsilon, shape = 1 / self.noise_multiplier, exact.shape
        width = sensitivity.bound * 2.0**sensitivity.grid_bits

        def uniform():
            return (noise.words(exact.size).reshape(shape) >> np.uint64(11)) * 2.0**-53

        gamma = 1 / (1 + np.exp(epsilon / 2))
        steps = np.floor(np.log1p(-uniform()) / -epsilon)
        low = uniform() < gamma / (gamma + (1 - gamma) * np.exp(-epsilon))
        place = np.where(low, gamma * uniform(), gamma + (1 - gamma) * uniform())
        drawn = np.where(uniform() < 0.5, -1, 1) * (steps + place) * width
        return add(exact, np.floor(drawn).astype(np.int64), sensitivity)


class StaircaseFromBelow(Staircase):
    """The same fault with steps that begin at the answer: its distribution is not the one of its
    mirror."""

    def release(self, exact, sensitivity, noise):
        width = sensitivity.bound * 2.0**sensitivity.grid_bits
        words = noise.words(3 * exact.size).reshape(3, *exact.shape)
        uniform = (words >> np.uint64(11)) * 2.0**-53
        up, down = np.floor(np.log1p(-uniform[:2]) * -self.noise_multiplier)
        drawn = np.floor((up - down + uniform[2]) * width)
        return add(exact, drawn.astype(np.int64), sensitivity)


class EvenNoise(Laplace):
    """Noise of the right size in steps of eight: a lattice that shifts leave."""

    def release(self, exact, sensitivity, noise):
        drawn = noise.laplace(self.scale(sensitivity), exact.shape)
        return add(exact, drawn // 8 * 8, sensitivity)


class FollowsTheOneBefore(Gaussian):
    """Most of each deviate is that of the release before."""

    kept = WeakKeyDictionary()

    def release(self, exact, sensitivity, noise):
        drawn = noise.gaussian(self.scale(sensitivity), exact.shape).astype(float)
        if noise in self.kept:
            drawn = 0.9 * self.kept[noise] + np.sqrt(0.19) * drawn
        self.kept[noise] = drawn
        return add(exact, np.floor(drawn).astype(np.int64), sensitivity)


class ChoosesAgain(Exponential):
    """Every third choice is the one before."""

    kept = WeakKeyDictionary()

    def release(self, exact, sensitivity, noise):
        count, before = self.kept.get(noise, (1, 0))
        chosen = before if count % 3 == 0 else super().release(exact, sensitivity, noise)
        self.kept[noise] = count + 1, chosen
        return chosen


class ScalarLaplace(Laplace):
    """Honest, for single numbers alone."""

    scalar_only = True

    def release(self, exact, sensitivity, noise):
        drawn = noise.laplace(self.scale(sensitivity), 1)
        return add(np.array([int(exact.item())]), drawn, sensitivity)


class SkipsZeros(Gaussian):
    """Noise only where the exact coordinate is not 0."""

    def release(self, exact, sensitivity, noise):
        return np.where(exact == 0, 0.0, super().release(exact, sensitivity, noise))


class NothingOfNothing(Gaussian):
    """An answer of zeros, as of an empty table, has no noise."""

    def release(self, exact, sensitivity, noise):
        drawn = noise.gaussian(self.scale(sensitivity), exact.shape)
        return add(exact, drawn * exact.any(), sensitivity)


class NoneStaysNone(Laplace):
    """A count of 0 comes out at 0 or below."""

    def release(self, exact, sensitivity, noise):
        released = super().release(exact, sensitivity, noise)
        return np.where(exact <= 0, np.minimum(released, 0.0), released)


class HalfTheRangeIfAdded(Exponential):
    """Scores taken to be monotone under add-or-remove, which they are not."""

    def release(self, exact, sensitivity, noise):
        if sensitivity.relation is NeighboringRelation.ADD_OR_REMOVE_ONE:
            sensitivity = replace(sensitivity, change_range=sensitivity.change_range / 2)
        return super().release(exact, sensitivity, noise)


class BoundSquared(Gaussian):
    """The noise is scaled by the bound twice: too small if that is below 1."""

    def release(self, exact, sensitivity, noise):
        squared = replace(sensitivity, bound=sensitivity.bound**2)
        return super().release(exact, squared, noise)


class KeepsItsScale(Gaussian):
    """The scale of the first release, whatever the bound of the next."""

    kept = {}

    def release(self, exact, sensitivity, noise):
        key = self.noise_multiplier, sensitivity.grid_bits
        scale = self.kept.setdefault(key, self.scale(sensitivity))
        return add(exact, noise.gaussian(scale, exact.shape), sensitivity)


class WholeSigma(Gaussian):
    """Sigma to the nearest whole step: none below half a step."""

    def release(self, exact, sensitivity, noise):
        sigma = float(self.noise_multiplier * sensitivity.bound) * 2**sensitivity.grid_bits
        if round(sigma) == 0:
            return add(exact, 0, sensitivity)
        return super().release(exact, sensitivity, noise)


class NoneBelowAStep(Laplace):
    """No noise where its scale is below one whole unit."""

    def release(self, exact, sensitivity, noise):
        if sensitivity.grid_bits == 0 and self.noise_multiplier * sensitivity.bound < 1:
            return add(exact, 0, sensitivity)
        return super().release(exact, sensitivity, noise)


class OneForARow(Gaussian):
    """One noise for each row of a matrix."""

    def release(self, exact, sensitivity, noise):
        shape = (exact.shape[0], 1) if exact.ndim == 2 else exact.shape
        return add(exact, noise.gaussian(self.scale(sensitivity), shape), sensitivity)


class Tiled(Gaussian):
    """Noise of 8,192 coordinates, over and over."""

    def release(self, exact, sensitivity, noise):
        drawn = noise.gaussian(self.scale(sensitivity), (min(exact.size, 8192),))
        return add(exact, np.resize(drawn, exact.shape), sensitivity)


LEAKING = (
    InThirtyTwoBits,
    FifthTakesFirst,
    FifthFollowsFirst,
    EightBits,
    RepeatsEveryThird,
    OneInFifty,
    OneInAThousand,
    Staircase,
    StaircaseFromBelow,
    EvenNoise,
    FollowsTheOneBefore,
    ChoosesAgain,
    SkipsZeros,
    NothingOfNothing,
    NoneStaysNone,
    HalfTheRangeIfAdded,
    BoundSquared,
    KeepsItsScale,
    WholeSigma,
    NoneBelowAStep,
    OneForARow,
    Tiled,
)

SHOWS_IN = {
    FifthTakesFirst: 2,
    FifthFollowsFirst: 2,
    EightBits: 0,
    RepeatsEveryThird: 0,
    OneInFifty: 0,
    BoundSquared: 2,
    WholeSigma: 4,
    NoneBelowAStep: 4,
    OneForARow: 6,
    Tiled: 7,
}
"""Settings of the whole check, by number, in which it finds a fault that shows in none before them
or at its end. There it has more releases besides, and a level for each test of a tenth of that of a
setting alone. The faults of all others, of one release in a thousand too, are found by it."""

"""Mechanisms with one fault each, which the checks have to find, and honest ones beside them."""

from weakref import WeakKeyDictionary

import numpy as np

from dpcore.mechanisms.exponential import Exponential
from dpcore.mechanisms.gaussian import Gaussian
from dpcore.mechanisms.laplace import Laplace
from dpcore.noise.source import SeededNoise
from dpcore.privacy.events import PureDpEvent


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
    """The staircase law (Geng & Viswanath 2014) in each coordinate, at the width of the whole l1
    sensitivity: right for one coordinate, and two that move by half of it each cost twice."""

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


LEAKING = (
    InThirtyTwoBits,
    FifthTakesFirst,
    FifthFollowsFirst,
    EightBits,
    RepeatsEveryThird,
    OneInFifty,
    OneInAThousand,
    Staircase,
    EvenNoise,
    FollowsTheOneBefore,
    ChoosesAgain,
)

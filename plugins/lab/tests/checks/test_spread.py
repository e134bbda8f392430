"""Noise has to be as wide as its event asks: in coordinates, in sums of some, in releases."""

from weakref import WeakKeyDictionary

import numpy as np
import pytest

from dpcore.plugin import Gaussian, Laplace, NeighboringRelation
from dpcore.plugin.parts import Sensitivity
from dpcore_lab.outcomes.settings import Case, Setting
from dpcore_lab.outcomes.spread import audit_spread
from dpcore_lab.run_sizes.mechanisms import Scale, check_mechanism_of_run

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
SIZE = 130


class Altered(Gaussian):
    """What is drawn, altered."""

    def release(self, exact, sensitivity, noise):
        drawn = noise.gaussian(self.scale(sensitivity), exact.shape)
        drawn = np.rint(self.altered(drawn.ravel().astype(float), exact, noise)).astype(np.int64)
        return self.add_modulo(exact, drawn.reshape(exact.shape), sensitivity.grid_bits)

    def altered(self, drawn, exact, noise):
        return drawn


class SmallFarOut(Altered):
    """Half the noise from 100 coordinates on."""

    def altered(self, drawn, exact, noise):
        return drawn * np.where(np.arange(drawn.size) < 100, 1.0, 0.5)


class SmallInOne(Altered):
    """A third of the noise in the coordinate before the last."""

    def altered(self, drawn, exact, noise):
        return drawn * np.where(np.arange(drawn.size) == drawn.size - 2, 0.3, 1.0)


class SumsToZero(Altered):
    """The noise of all coordinates adds up to nothing."""

    def altered(self, drawn, exact, noise):
        return drawn - drawn.mean()


class Smooth(Altered):
    """Each deviate has much of the one before, at its own width."""

    def altered(self, drawn, exact, noise):
        return np.append(drawn[:1], (drawn[1:] + drawn[:-1]) * 0.5**0.5)


class Antithetic(Altered):
    """The second half has the first one's noise with the other sign, and a little of its own."""

    def altered(self, drawn, exact, noise):
        half = drawn.size // 2
        return np.append(drawn[:half], 0.3 * drawn[half:] - drawn[:half])


class Mirrored(Altered):
    """The second half has the first one's noise backwards, and a little of its own."""

    def altered(self, drawn, exact, noise):
        half = drawn.size // 2
        return np.append(drawn[:half], 0.3 * drawn[half:] + drawn[:half][::-1])


class FollowsTheLast(Altered):
    """Most of the noise is that of the release before."""

    kept = WeakKeyDictionary()

    def altered(self, drawn, exact, noise):
        drawn = 0.95 * self.kept.get(noise, drawn) + 0.3 * drawn
        self.kept[noise] = drawn
        return drawn


class WideInPairs(Altered):
    """More noise than is charged for, which neighbouring coordinates share in part: honest."""

    def altered(self, drawn, exact, noise):
        return np.append(drawn[:1], 2.0 * drawn[1:] + drawn[:-1])


class SmallForSmall(Altered):
    """A quarter of the noise where all entries are small."""

    def altered(self, drawn, exact, noise):
        return drawn * (0.25 if 0 < np.abs(exact).max() < 2**34 else 1.0)


def case(kind, multiplier, norm="l2", columns=0):
    mechanism, known = kind(multiplier), Sensitivity(norm, 1.0, ADD, grid_bits=30)
    setting = Setting(multiplier, multiplier, 30, SIZE, 4, 1.0, ADD, columns=columns)
    return Case(setting, kind, mechanism, known, mechanism.event(known))


LEAKS = SmallFarOut, SmallInOne, SumsToZero, Smooth, Antithetic, Mirrored, FollowsTheLast


@pytest.mark.parametrize("multiplier", [30.0])
@pytest.mark.parametrize("kind", LEAKS)
def test_noise_that_is_narrow_somewhere_is_found(kind, multiplier):
    with pytest.raises(AssertionError, match="too small for its event"):
        audit_spread(case(kind, multiplier), 1.0, None, 1, 1e-8, 5.0)


@pytest.mark.parametrize(("kind", "norm"), [(Gaussian, "l2"), (Laplace, "l1"), (WideInPairs, "l2")])
@pytest.mark.parametrize("columns", [10])
def test_honest_noise_is_wide_enough(kind, norm, columns):
    assert audit_spread(case(kind, 12.0, norm, columns), 1.0, None, 1, 1e-8, 5.0) >= 50


def test_noise_that_goes_by_the_answer_is_found_at_that_answer(monkeypatch):
    small = np.full(SIZE, 5)
    assert audit_spread(case(SmallForSmall, 20.0), 1.0, None, 1, 1e-8, 5.0)
    with pytest.raises(AssertionError, match="a coordinate is too small"):
        audit_spread(case(SmallForSmall, 20.0), 1.0, small, 1, 1e-8, 5.0)
    for audit in ("audit_additive", "audit_bases", "audit_far"):  # They look at other things.
        monkeypatch.setattr(f"dpcore_lab.run_sizes.mechanisms.{audit}", lambda *given: [])
    scale = Scale(20.0, Sensitivity("l2", 1.0, ADD, grid_bits=30), (SIZE,))
    with pytest.raises(AssertionError, match="a coordinate is too small"):
        check_mechanism_of_run(SmallForSmall, [scale], 1000)

"""Noise of density exp(-length): the floors of one exact distribution, whatever the digits."""

import math

import mpmath
import numpy as np
import pytest

from dpcore.noise.entropy import SeededEntropy
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import (
    DigitStream,
    GridScale,
    SeededNoise,
    Sensitivity,
)
from dpcore_baselines.perturbation import gamma_distribution
from dpcore_baselines.perturbation.gamma import Gamma
from dpcore_baselines.perturbation.gamma_distribution import gamma_deviates
from dpcore_lab.checks import check_mechanism


@pytest.mark.parametrize("size", [1, 2, 7])
def test_floors_equal_those_of_forty_digits(size):
    # The same deviates from the same words, then real arithmetic to 60 digits.
    scale = GridScale(3**30, 7)
    for seed in range(20):
        words = SeededEntropy(seed).words(20000).tolist()
        stream = DigitStream(words.__getitem__)
        exponentials = [stream.exponential() for _ in range(size)]
        normals = [stream.normal() for _ in range(size)]
        with mpmath.workdps(60):
            unit = mpmath.mpf(2) ** -192
            n = [(-1) ** sign * digits.floor(3) * unit for sign, digits in normals]
            r = sum(digits.floor(3) for digits in exponentials) * unit
            norm = mpmath.sqrt(sum(v * v for v in n))
            steps = mpmath.mpf(scale.significand) / 2**scale.shift
            expected = [int(mpmath.floor(steps * r * v / norm)) for v in n]
        assert gamma_deviates(SeededNoise(seed), scale, size).tolist() == expected


def test_more_digits_are_drawn_until_every_floor_is_decided(monkeypatch):
    # One digit of 64 bits leaves floors of 2^58 steps open in about one draw of ten.
    asked, real = [], gamma_distribution._bounds

    def counted(radius, sizes, digits, bits, scale):
        low, high = real(radius, sizes, digits, bits, scale)
        asked.append((digits, low == high))
        return low, high

    monkeypatch.setattr(gamma_distribution, "_bounds", counted)
    monkeypatch.setattr(gamma_distribution, "_FIRST_DIGITS", 1)
    for seed in range(60):
        gamma_deviates(SeededNoise(seed), GridScale((1 << 58) - 1), 3)
        assert asked[-1][1]
    assert (1, False) in asked and (2, True) in asked


def test_length_and_direction_have_their_distributions():
    # 4,000 draws in R^3. The length: gamma of shape 3, mean 3, variance 3; a cell count is
    # binomial. 6 standard deviations each, 6 values: false alarm 1.2e-8.
    noise, n = SeededNoise(7), 4000
    drawn = (
        np.array([gamma_deviates(noise, GridScale(1 << 40), 3) for _ in range(n)]).astype(float)
        / 2**40
    )
    length = np.linalg.norm(drawn, axis=1)
    assert abs(length.mean() - 3) < 6 * math.sqrt(3 / n)
    cosine = drawn / length[:, None]
    assert (np.abs(cosine.mean(axis=0)) < 6 * math.sqrt(1 / 3 / n)).all()
    for level in (2.0, 4.0):
        below = 1 - math.exp(-level) * (1 + level + level**2 / 2)
        spread = math.sqrt(below * (1 - below) / n)
        assert abs((length < level).mean() - below) < 6 * spread


def test_one_coordinate_is_laplace_noise():
    # In R^1 the density is exp(-|z|) / 2: a quarter beyond ln 2 on either side. 6 deviations.
    noise, n = SeededNoise(8), 4000
    drawn = np.array([gamma_deviates(noise, GridScale(1 << 30), 1)[0] for _ in range(n)]) / 2**30
    for share in ((drawn > math.log(2)).mean(), (drawn < -math.log(2)).mean()):
        assert abs(share - 0.25) < 6 * math.sqrt(0.25 * 0.75 / n)


@pytest.mark.slow
def test_the_audit_admits_it_and_catches_noise_of_half_the_scale(monkeypatch):
    check_mechanism(Gamma, most_coordinates=5)
    real = Gamma.release

    def quieter(self, exact, sensitivity, noise):
        return real(Gamma(self.noise_multiplier / 3), exact, sensitivity, noise)

    monkeypatch.setattr(Gamma, "release", quieter)
    with pytest.raises(AssertionError):
        check_mechanism(Gamma, most_coordinates=5)


def test_values_beyond_64_bits_wrap():
    wide = Sensitivity("l2", 1.0, NeighboringRelation.ADD_OR_REMOVE_ONE, 56)
    for seed in range(40):
        out = Gamma(3.0).release(np.zeros(40, dtype=np.int64), wide, SeededNoise(seed))
        assert np.isfinite(out).all() and (np.abs(out) <= 2.0**7).all()


def test_a_release_is_as_it_was():
    # Of half the noise each would be half as large. The audit, which is slow, finds that too.
    unit = Sensitivity("l2", 1.0, NeighboringRelation.ADD_OR_REMOVE_ONE, 20)
    out = Gamma(4.0).release(np.zeros(3, dtype=np.int64), unit, SeededNoise(5))
    assert (out * 2**20).tolist() == [-1770304, -5266407, 6915354]

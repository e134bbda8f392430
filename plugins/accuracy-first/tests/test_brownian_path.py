"""Paths of normal noise: their distribution on a coarse grid, and digits that are drawn late."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import sqrt

import numpy as np
import pytest
from scipy import stats

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import GridScale, SeededNoise
from dpcore_accuracy_first.brownian_noise.path import _rest, normal_path

RUNS, MANY = 1500, 20_000
ALARM = 1e-7


def chi_square(found, distribution):
    """Return the p-value of counts against a distribution, rare outcomes taken together."""
    runs = sum(found.values())
    expected = {key: p * runs for key, p in distribution.items()}
    common = [key for key, mean in expected.items() if mean >= 8]
    counts = [found[key] for key in common]
    means = [expected[key] for key in common]
    rest = runs - sum(means)
    counts.append(runs - sum(counts))
    return stats.chisquare([*counts], [*means, rest]).pvalue


def joint_distribution(small, large):
    """Return P(floor(S_0) = i, floor(S_1) = j), S_1 = small N', S_0 = S_1 + large N, by a fine
    midpoint sum over S_1."""
    distribution = {}
    places = (np.arange(400) + 0.5) / 400
    for j in range(-12, 12):
        at = j + places
        weight = stats.norm.pdf(at, scale=small) / 400
        for i in range(-30, 30):
            ends = stats.norm.cdf((i + 1 - at) / large) - stats.norm.cdf((i - at) / large)
            distribution[i, j] = float((weight * ends).sum())
    return distribution


@pytest.mark.slow
@pytest.mark.parametrize("spare", [0, 1, 30])
def test_two_levels_have_the_joint_distribution_of_the_floors_of_two_sums(spare):
    small, large = Fraction(3, 2), Fraction(5, 2)
    scales = [GridScale(5, 1), GridScale(3, 1)]
    runs = RUNS if spare < 30 else MANY
    path = normal_path(SeededNoise(spare), scales, runs, spare)
    found = Counter(zip(*path.tolist(), strict=True))
    assert chi_square(found, joint_distribution(float(small), float(large))) > ALARM


def test_a_floor_of_every_increment_by_itself_is_another_distribution():
    # The broken twin: sums of floors are half a step too low for every part.
    scales = [GridScale(5, 1), GridScale(3, 1)]
    noise = SeededNoise(3)
    parts = np.stack([noise.unwrapped_gaussian(scale, MANY) for scale in scales])
    found = Counter(zip(*np.cumsum(parts[::-1], axis=0)[::-1].tolist(), strict=True))
    assert chi_square(found, joint_distribution(1.5, 2.5)) < ALARM


@pytest.mark.slow
def test_the_noisiest_level_of_many_has_the_variances_sum():
    scales = [GridScale(3)] * 4
    path = normal_path(SeededNoise(5), scales, RUNS, 2)
    whole = 2 * 3
    distribution = {
        i: stats.norm.cdf((i + 1) / whole) - stats.norm.cdf(i / whole) for i in range(-60, 60)
    }
    assert chi_square(Counter(path[0].tolist()), distribution) > ALARM


def test_a_sum_is_floored_once_whatever_was_drawn_of_its_parts():
    levels, runs = 8, 300
    path = normal_path(SeededNoise(9), [GridScale(1)] * levels, runs, 0)
    # Floored part by part it would be lower by half a step for each of the others: by 3.5.
    error = sqrt((levels + 1 / 12) / runs)
    assert abs(float(path[0].mean()) + 0.5) < 5.5 * error


@pytest.mark.parametrize("floor", [0, 2, -1, -3])
def test_the_part_behind_the_point_has_the_distribution_of_a_deviate_whose_floor_is_known(floor):
    scale, noise = Fraction(2), SeededNoise(7)
    rests = [_rest(floor, scale, lambda: int(noise.words(1)[0])) for _ in range(400)]
    found = np.array([rest.bounds(64)[0] / 2.0**64 for rest in rests])
    below, above = (stats.norm.cdf(end / 2) for end in (floor, floor + 1))

    def distribution(u):
        return (stats.norm.cdf((floor + u) / 2) - below) / (above - below)

    assert stats.kstest(found, distribution).pvalue > ALARM


def test_few_spare_bits_and_many_give_floors_within_a_step_of_the_sum():
    scales = [GridScale(2**40 + k) for k in range(5)]
    for spare in (0, 12, 30):
        path = normal_path(SeededNoise(1), scales, 50, spare)
        assert path.shape == (5, 50) and path.dtype == object
        assert np.abs(path[0].astype(float)).max() < 8 * sqrt(5) * 2.0**40


def test_levels_are_nested():
    # What is taken off from level to level is fresh: increments are not correlated.
    path = normal_path(SeededNoise(11), [GridScale(2**20)] * 3, 4000).astype(float)
    steps = np.stack([path[0] - path[1], path[1] - path[2], path[2]])
    correlations = np.corrcoef(steps)
    pairs = [correlations[i, j] for i, j in product(range(3), range(3)) if i < j]
    assert np.abs(pairs).max() < 5.5 / sqrt(4000)  # 5.5 standard errors: 4e-8 each


def test_no_scale_and_no_coordinate_are_refused():
    for scales, size in (([], 1), ([GridScale(1)], 0)):
        with pytest.raises(InvalidInputError):
            normal_path(SeededNoise(1), scales, size)

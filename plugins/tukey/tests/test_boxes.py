"""Boxes, their distribution, and the distance from models that are not safe, against every
point."""

import itertools
import math
from fractions import Fraction

import naive_depth as naive
import numpy as np
import pytest

from dpcore.plugin.parts import SeededNoise, exp_up
from dpcore_tukey import boxes as module
from dpcore_tukey.boxes import Boxes, DepthDistribution

LARGEST = 2
M, LEAST, EPSILON, DELTA = 8, 2, Fraction(4), Fraction(1, 20)
LARGEST_RATIO = exp_up(EPSILON) * (1 + DELTA)
LINE = naive.grid(LARGEST, 1)


@pytest.fixture(autouse=True)
def small_grid(monkeypatch):
    monkeypatch.setattr(module, "LARGEST_STEPS", LARGEST)


def weight_of(distribution):
    weights = distribution.weights()
    return lambda s: Fraction(weights[s - distribution.least])


def boxes_of(models):
    return Boxes(np.array(models, dtype=np.int64))


def every_line(m=M):
    """Return all models of one coordinate, up to their order."""
    return list(itertools.combinations_with_replacement(LINE, m))


def neighbours(models):
    for k, other in itertools.product(range(len(models)), LINE):
        if models[k] != other and (k == 0 or models[k] != models[k - 1]):
            yield tuple(sorted((*models[:k], other, *models[k + 1 :])))


@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_box_has_the_points_of_its_depth(d):
    points, rng = naive.grid(LARGEST, d), np.random.default_rng(d)
    for m in (3, 4, 7):
        models = rng.integers(-LARGEST, LARGEST + 1, (m, d))
        depths = [naive.depth(models.tolist(), point) for point in points]
        for s in range(-2, m + 2):
            assert Boxes(models).volume(s) == sum(at >= s for at in depths)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**60), Fraction(1), Fraction(300)])
@pytest.mark.parametrize("models", [7, 1000])
def test_weights_rise_by_the_factor_at_most(epsilon, models):
    distribution = DepthDistribution(models, models // 4, epsilon)
    f, rho = distribution.weights(), exp_up(epsilon / 2)
    assert len(f) == distribution.deepest - distribution.least + 1
    pairs = list(itertools.pairwise(f))
    assert all(0 < a <= b <= rho * a for a, b in pairs)
    assert sum(distribution.rises()) == f[-1] and min(distribution.rises()) >= 0
    if epsilon == 1:  # and by not much less
        assert math.isclose(f[-1] / f[0], math.exp(float(epsilon) / 2 * len(pairs)), rel_tol=1e-9)


@pytest.mark.parametrize(("m", "least", "epsilon"), [(M, LEAST, EPSILON), (10, 1, Fraction(2))])
def test_the_distance_is_the_words(m, least, epsilon):
    distribution = DepthDistribution(m, least, epsilon)
    found = set()
    for models in [*every_line(m)[::9], (LINE[0],) * m]:
        h = distribution.distance(boxes_of(models), DELTA)
        assert h == naive.distance(models, LINE, least, weight_of(distribution), DELTA)
        found.add(h)
    assert {0, 1} <= found


def worst_pairs(distribution):
    """Return, over all neighbours on the line, how far the distance moves at most, the largest part
    of a safe distribution above e^epsilon (1 + delta) times the other, and the largest of the
    ratios of both."""
    weight, known = weight_of(distribution), {}
    for models in every_line():
        h = distribution.distance(boxes_of(models), DELTA)
        known[models] = h, naive.distribution(models, LINE, distribution.least, weight)
    moved, above, ratios = 0, Fraction(0), [Fraction(1)]
    for models, (h, p) in known.items():
        for other in neighbours(models):
            near, q = known[other]
            moved = max(moved, abs(h - near))
            if h:
                above = max(above, naive.hockey_stick(p, q, LARGEST_RATIO))
                ratios += [a / b for a, b in zip(p, q, strict=True) if a and b]
    return moved, above, max(ratios)


@pytest.mark.slow
def test_all_neighbours_on_a_line_bear_out_the_proofs():
    moved, above, ratio = worst_pairs(DepthDistribution(M, LEAST, EPSILON))
    assert moved == 1
    assert 0 < above <= DELTA
    assert 1 < ratio <= LARGEST_RATIO


@pytest.mark.slow
def test_weights_that_rise_by_twice_as_much_are_found():
    assert worst_pairs(DepthDistribution(M, LEAST, 2 * EPSILON))[2] > LARGEST_RATIO


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(3)])
def test_draws_have_the_distribution(epsilon):
    models = [(-2, 0), (-1, 1), (-1, -2), (0, 0), (1, 2), (2, 0), (0, 1)]
    points, noise = naive.grid(LARGEST, 2), SeededNoise(1)
    distribution, boxes, draws = DepthDistribution(7, 1, epsilon), boxes_of(models), 1500
    drawn = [tuple(distribution.draw(boxes, noise).tolist()) for _ in range(draws)]
    expected = [
        draws * float(p) for p in naive.distribution(models, points, 1, weight_of(distribution))
    ]
    cells = [(drawn.count(z), e) for z, e in zip(points, expected, strict=True) if e >= 8]
    assert sum(e for _, e in cells) > 0.8 * draws
    square = sum((count - e) ** 2 / e for count, e in cells)
    assert (square - len(cells)) / math.sqrt(2 * len(cells)) < 5
    assert not any(drawn.count(z) for z, e in zip(points, expected, strict=True) if e == 0)


def test_uniform_numbers_of_any_size_are_in_range():
    noise, n = SeededNoise(3), 3 * 2**200
    drawn = [module._below(n, noise) for _ in range(400)]
    assert 0 <= min(drawn) < n // 20 and n - n // 20 < max(drawn) < n
    assert abs(sum(x < 2**201 for x in drawn) / 400 - 2 / 3) < 0.12
    assert module._below(1, noise) == 0

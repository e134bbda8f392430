"""Bounds from counts: quantiles where there is no noise, and a public rule for every other case."""

import numpy as np
import pytest

from dpcore.bounds.bins import LARGEST, LEAVES, edge, leaves_of
from dpcore.bounds.choice import TAIL, bounds_of
from dpcore.bounds.counts import SIZES, BinCounts
from dpcore.bounds.waiting import WaitingCells

N = 20_000
DRAW = np.random.default_rng(7)
COLUMNS = {
    "normal": DRAW.normal(50, 10, N),
    "signed": DRAW.normal(0, 1e-3, N),
    "skewed": DRAW.lognormal(10, 2, N),
    "years": DRAW.integers(1990, 2024, N).astype(float),
    "mostly zero": np.where(DRAW.random(N) < 0.9, 0.0, DRAW.exponential(3e5, N)),
    "negative": -DRAW.gamma(2, 1e6, N),
    "one value": np.full(N, 3.0),
    "tiny": DRAW.normal(0, 1e-12, N),
    "huge": DRAW.normal(0, 1e200, N),
}


def counts_of(cells):
    block = WaitingCells(np.asarray(cells, dtype=np.float64).reshape(-1, 1), (0,))
    return BinCounts(1).answer_block(block).astype(np.float64)


def in_one_leaf(cells, places):
    """Return the edges of the leaves of the order statistics at these places."""
    lower, upper = leaves_of(np.sort(cells)[places]).tolist()
    return edge(lower), edge(upper + 1)


@pytest.mark.parametrize("name", COLUMNS)
def test_without_noise_bounds_are_the_leaves_of_the_quantiles(name):
    cells, beyond = COLUMNS[name], int(TAIL * N)
    assert bounds_of(counts_of(cells), 0.0, None, None) == in_one_leaf(
        cells, [beyond - 1, N - beyond]
    )


@pytest.mark.parametrize("name", ["normal", "signed", "skewed", "years", "mostly zero", "negative"])
def test_with_noise_most_cells_are_within_bounds_and_bounds_are_not_far_off(name):
    cells, deviation = COLUMNS[name], N / 500
    width = np.subtract(*np.quantile(cells, [0.999, 0.001]))
    for seed in range(10):
        noise = np.random.default_rng(seed).normal(0, deviation, sum(SIZES))
        lower, upper = bounds_of(counts_of(cells) + noise, deviation, None, None)
        assert ((lower <= cells) & (cells <= upper)).mean() > 0.94
        assert upper - lower < 5 * width


def test_bounds_of_noise_alone_are_bounds():
    for seed in range(50):
        noise = np.random.default_rng(seed).normal(0, 1e6, sum(SIZES))
        for known in ((None, None), (5.0, None), (None, -5.0), (LARGEST, None), (None, -LARGEST)):
            lower, upper = bounds_of(noise, 1e6, *known)
            assert np.isfinite(upper - lower) and lower < upper
            for bound, found in zip(known, (lower, upper), strict=True):
                assert bound is None or bound == found
    assert bounds_of(np.zeros(sum(SIZES)), 0.0, None, None) == (-LARGEST, LARGEST)


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ((0.0, None), (0.0, 3.0625)),
        ((3.0, None), (3.0, 3.0625)),
        ((4.0, None), (4.0, 8.0)),
        ((None, 3.0), (2.0, 3.0)),
        ((None, 0.25), (-0.75, 0.25)),
        ((None, -6.0), (-12.0, -6.0)),
        ((None, 90.0), (3.0, 90.0)),
    ],
)
def test_a_bound_that_is_not_below_the_other_is_moved_away(known, expected):
    cells = COLUMNS["one value"]
    if known == (None, 3.0):
        expected = (0.0, 3.0)
    assert bounds_of(counts_of(cells), 0.0, *known) == expected


def test_quantiles_that_cross_change_places():
    # The fine level, by noise, has all rows above the middle level's first half and below it.
    counts = np.zeros(sum(SIZES))
    counts[SIZES[0] - 3] = counts[SIZES[0] + 16 * 13] = 100.0
    fine = counts[SIZES[0] + SIZES[1] :]
    fine[16 * 16 * 13 + 5], fine[16 * 16 * 13 + 9] = -98.0, 100.0
    lower, upper = bounds_of(counts, 0.0, None, None)
    assert lower < upper and LEAVES == fine.size

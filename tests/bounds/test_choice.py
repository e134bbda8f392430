"""Bounds from counts: quantiles where there is no noise, and a public rule for every other case."""

import numpy as np
import pytest

from dpcore.bounds.bins import LARGEST, edge, leaves_of
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
    block = WaitingCells([np.asarray(cells, dtype=np.float64)])
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
    low, high = np.quantile(cells, [0.001, 0.999])
    # The finest of the three levels divides half a power of two.
    far = [max(high - low, abs(end) / 2) for end in (low, high)]
    for seed in range(10):
        noise = np.random.default_rng(seed).normal(0, deviation, sum(SIZES))
        lower, upper = bounds_of(counts_of(cells) + noise, deviation, None, None)
        assert ((lower <= cells) & (cells <= upper)).mean() > 0.9
        assert low - far[0] < lower and upper < high + far[1]


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
    # By noise the leaves of a bin have fewer rows than the bin: either rank is passed at the end.
    counts = np.zeros(sum(SIZES))
    coarse, middle, fine = np.split(counts, np.cumsum(SIZES)[:-1])
    coarse[13] = middle[16 * 13] = 100.0
    first = 16 * 16 * 13
    fine[[first + 5, first + 9]] = 0.6
    expected = edge(first + 5), edge(first + 10)
    assert bounds_of(counts, 0.0, None, None) == expected
    assert bounds_of(counts, 0.0, None, expected[0]) == (0.0, expected[0])

"""Bounds from counts: quantiles where there is no noise, and a public rule for every other case."""

import numpy as np
import pytest

from dpcore_tables.bounds import choice
from dpcore_tables.bounds.bins import BRANCHES, LARGEST, edge, leaves_of
from dpcore_tables.bounds.choice import (
    CHANCE,
    NO_ROWS_SEEN,
    TAIL,
    CountNoise,
    are_defaults,
    bounds_of,
)
from dpcore_tables.bounds.counts import SIZES, BinCounts
from dpcore_tables.bounds.unbounded_rows import UnboundedCells

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
    block = UnboundedCells([np.asarray(cells, dtype=np.float64)])
    return BinCounts(1).answer_block(block).astype(np.float64)


NONE = CountNoise(0.0, True, 1)


def in_one_leaf(cells, places):
    """Return the edges of the leaves of the order statistics at these places."""
    lower, upper = leaves_of(np.sort(cells)[places]).tolist()
    return edge(lower), edge(upper + 1)


@pytest.mark.parametrize("name", COLUMNS)
def test_without_noise_bounds_are_the_leaves_of_the_quantiles(name):
    cells, beyond = COLUMNS[name], int(TAIL * N)
    assert bounds_of(counts_of(cells), NONE, None, None) == in_one_leaf(
        cells, [beyond - 1, N - beyond]
    )


def drawn(rng, noise):
    """Return noise for the counts of a column: floored deviates, or geometric ones."""
    if noise.normal:
        return np.floor(rng.normal(0, noise.deviation, sum(SIZES)))
    chance = -np.expm1(-(2**0.5) / noise.deviation)
    up, down = rng.geometric(chance, (2, sum(SIZES)))
    return (up - down).astype(np.float64)


def far_off(cells, noise, releases):
    """Return in how many releases a bound is far from all cells, or has no cell within."""
    counts, largest, found = counts_of(cells), np.abs(cells).max(), 0
    rng = np.random.default_rng(5)
    for _ in range(releases):
        lower, upper = bounds_of(counts + drawn(rng, noise), noise, None, None)
        if (lower, upper) != NO_ROWS_SEEN:
            none_within = not ((lower <= cells) & (cells <= upper)).any()
            found += none_within or max(-lower, upper) > 4 * largest + 2.0**-20
    return found


NORMAL, GEOMETRIC = CountNoise(14.0, True, 2), CountNoise(28.3, False, 2)
"""On each count of two columns, of a fit at epsilon 2 and delta 1e-6 or 0."""


@pytest.mark.slow
@pytest.mark.parametrize("noise", [NORMAL, GEOMETRIC], ids=["normal", "geometric"])
def test_bounds_are_far_off_in_no_more_than_one_fit_of_a_thousand(noise):
    """Of 2,100 columns, at CHANCE / 2 each, more than four have a chance below 1 in 500."""
    rng = np.random.default_rng(3)
    few = [COLUMNS[name][:5000] for name in ("normal", "mostly zero", "one value", "years")]
    few += [(rng.random(5000) < 0.5) * 1.0, rng.lognormal(0, 1, 5000), rng.lognormal(10, 2, 100)]
    assert sum(far_off(cells, noise, 300) for cells in few) <= 4


def test_a_rule_that_takes_noise_for_rows_is_found(monkeypatch):
    monkeypatch.setattr(CountNoise, "most", lambda noise, n: 4 * noise.deviation * n**0.5)
    assert far_off(COLUMNS["one value"][:5000], GEOMETRIC, 300) > 8


@pytest.mark.parametrize("name", ["normal", "signed", "skewed", "years", "mostly zero", "negative"])
def test_with_noise_most_cells_are_within_bounds_and_bounds_are_not_far_off(name):
    cells, noise = COLUMNS[name], CountNoise(N / 500, True, 2)
    low, high = np.quantile(cells, [0.001, 0.999])
    far = [max(high - low, abs(end) / 2) for end in (low, high)]
    rng = np.random.default_rng(0)
    for _ in range(10):
        lower, upper = bounds_of(counts_of(cells) + drawn(rng, noise), noise, None, None)
        assert ((lower <= cells) & (cells <= upper)).mean() > 0.85
        assert low - far[0] < lower and upper < high + far[1]


@pytest.mark.parametrize("normal", [True, False])
def test_noise_alone_shows_no_rows(normal):
    noise, rng = CountNoise(1e6, normal, 1), np.random.default_rng(0)
    found = [bounds_of(drawn(rng, noise), noise, None, None) for _ in range(1000)]
    assert sum(pair != NO_ROWS_SEEN for pair in found) <= 3 and CHANCE == 1 / 2000
    for known in ((5.0, None), (None, -5.0), (LARGEST, None), (None, -LARGEST)):
        lower, upper = bounds_of(drawn(rng, noise), noise, *known)
        assert np.isfinite(upper - lower) and lower < upper
        for bound, given in zip((lower, upper), known, strict=True):
            assert given is None or bound == given


def test_an_empty_column_has_public_bounds():
    none = np.zeros(sum(SIZES))
    assert bounds_of(none, NONE, None, None) == NO_ROWS_SEEN == (-1.0, 1.0)
    assert bounds_of(none, NONE, 0.0, None) == (0.0, 1.0)
    assert bounds_of(none, NONE, None, -5.0) == (-10.0, -5.0)


def test_few_rows_in_bins_side_by_side_are_seen_together():
    """Each of four bins is within the noise; and noise of the same sum is not taken for rows."""
    noise = CountNoise(10.0, True, 1)
    together = noise.most(4) / 4 * 1.01
    assert together < noise.most(1)
    counts = np.zeros(SIZES[0])
    counts[100:104] = together
    assert np.flatnonzero(choice._with_rows(counts, noise)).tolist() == [101, 102]
    counts[100:104] = together * 0.98
    assert not choice._with_rows(counts, noise).any()


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
    assert bounds_of(counts_of(cells), NONE, *known) == expected


@pytest.mark.parametrize(
    ("known", "default"),
    [((None, None), False), ((0.0, None), False), ((4.0, None), True), ((None, -6.0), True)],
)
def test_a_bound_that_moved_away_is_a_default(known, default):
    assert are_defaults(counts_of(COLUMNS["one value"]), NONE, *known) is default


def test_bounds_of_no_rows_that_are_seen_are_a_default():
    few, noise = counts_of([20.0, 30.0]), CountNoise(1e3, True, 1)
    assert are_defaults(few, noise, None, None)
    assert are_defaults(few, noise, 0.0, None) and bounds_of(few, noise, 0.0, None) == (0.0, 1.0)


def test_quantiles_that_cross_change_places():
    # Two leaves of a bin: neither is clear of the noise without the other, from either side.
    counts, place, noise = np.zeros(sum(SIZES)), 180, CountNoise(1.0, True, 1)
    counts[place] = 5.8
    first = BRANCHES * place
    counts[SIZES[0] + first + np.array([5, 10])] = 2.9
    expected = edge(first + 5), edge(first + 11)
    assert bounds_of(counts, noise, None, None) == expected
    assert bounds_of(counts, noise, None, expected[0]) == (0.0, expected[0])

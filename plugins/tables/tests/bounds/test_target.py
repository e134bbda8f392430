"""Bounds of a target: where cutting its tail costs more than noise does."""

import numpy as np
import pytest

from dpcore import PrivateBounds, fit
from dpcore_tables.bounds.bins import BRANCHES, edge, leaves_of
from dpcore_tables.bounds.choice import CountNoise, bounds_of
from dpcore_tables.bounds.counts import SIZES, BinCounts
from dpcore_tables.bounds.target import share_beyond, target_bounds_of
from dpcore_tables.bounds.unbounded_rows import UnboundedCells

SKEWED = np.exp(np.random.default_rng(2).normal(2.0, 1.2, 4000))


def counts_of(cells, deviation=0.0, seed=0):
    counts = BinCounts(1).answer_block(UnboundedCells([np.asarray(cells, dtype=np.float64)]))
    return counts + np.floor(np.random.default_rng(seed).normal(0, deviation, sum(SIZES)))


def upper_edge(cell):
    """Return the upper edge of the bin that holds a number."""
    return edge((int(leaves_of(np.array([cell]))[0]) // BRANCHES + 1) * BRANCHES)


def test_without_noise_nothing_is_cut():
    for sign in (1.0, -1.0):
        low, high = target_bounds_of(counts_of(sign * SKEWED), CountNoise(0.0, True, 1), None, None)
        assert low <= min(sign * SKEWED) and max(sign * SKEWED) <= high
    assert high - low < 2 * (upper_edge(SKEWED.max()))


@pytest.mark.parametrize("deviation", [5.0, 15.0])
def test_a_skewed_target_is_cut_less_than_a_feature(deviation):
    noise = CountNoise(deviation, True, 1)
    cut = {"feature": [], "target": []}
    for seed in range(20):
        counts = counts_of(SKEWED, deviation, seed)
        for name, chosen in (("feature", bounds_of), ("target", target_bounds_of)):
            low, high = chosen(counts, noise, 0.0, None)
            cut[name].append(np.mean((SKEWED - np.clip(SKEWED, low, high)) ** 2) / SKEWED.var())
            assert low == 0.0 and high < 8 * SKEWED.max()
    assert np.mean(cut["target"]) < np.mean(cut["feature"]) / 2


def test_much_noise_keeps_a_bound_near_and_no_rows_are_a_default():
    noise = CountNoise(1e4, True, 1)
    assert target_bounds_of(counts_of(SKEWED, 1e4), noise, None, None) == (-1.0, 1.0)
    # A noisy range costs more than the two rows that are cut.
    cells = np.append(np.random.default_rng(1).uniform(10, 12, 2000), [4000.0] * 2)
    low, high = target_bounds_of(counts_of(cells, 30.0), CountNoise(30.0, True, 1), None, None)
    assert 7 < low <= 10.5 and 11.5 <= high < 20


def test_shares_are_of_the_rows_in_the_last_bins_and_beyond():
    cells = np.array([1.1] * 50 + [3.0] * 30 + [7.0] * 15 + [9.0] * 5)
    noise = CountNoise(0.0, True, 1)
    assert share_beyond(counts_of(cells), noise, 1.0, 8.0) == pytest.approx((0.65, 0.05, 0.0))
    last, beyond, error = share_beyond(counts_of(cells, 4.0), CountNoise(4.0, True, 1), 1.0, 8.0)
    assert 0 <= last <= 1 and 0 <= beyond <= 1 and 0.1 < error < 0.3


def test_the_report_states_the_shares_of_a_target_and_warns_of_a_cut_one():
    X = np.random.default_rng(0).random((3000, 2))
    frame = {"a": X[:, 0], "b": X[:, 1], "y": np.exp(3 * X[:, 0] + 2 * X[:, 1])}
    numbers = [{"name": name, "kind": "numeric", "lower": 0, "upper": 1} for name in "ab"]
    label = {"name": "y", "kind": "label", "lower": 0.0, "upper": "private"}
    pd = pytest.importorskip("pandas")
    words = {"schema": {"columns": [*numbers, label]}, "loss": "ridge", "seed": 1}
    model = fit(pd.DataFrame(frame), epsilon=2.0, also=[PrivateBounds()], **words)
    shares = model.privacy["private_bounds"]["target_shares"]
    assert set(shares) == {"last", "beyond", "error"}
    assert "in its last bins" in model.shown_bounds()

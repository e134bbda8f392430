"""Intervals from noisy counts cover what they are of, in simulations of rows and of noise.

Each share of intervals that cover is of 3,000 repeats, so its deviation is .004 where 95 % cover,
and .93 is five of these away: a false alarm has a probability below 1e-6 (and the seed is fixed).
Intervals that leave out the noise, or the rows' sampling, cover less and are caught.
"""

import numpy as np
import pytest
from sklearn.metrics import f1_score

from dpcore_report.evaluation.intervals import auc_of_bins, count_of, f1_of, mean_of, share_of

REPEATS = 3000
LEAST = 0.93
# Shares of cells: of a balanced table, and of one whose second class is rare.
EVEN = np.array([[0.3, 0.15, 0.05], [0.05, 0.2, 0.25]])
RARE = np.array([[0.7, 0.2, 0.06], [0.01, 0.01, 0.02]])


def noise_of(distribution, deviation, rng, shape):
    if distribution == "normal":
        return rng.normal(0, deviation, shape)
    return rng.laplace(0, deviation / np.sqrt(2), shape)


def tables(cells, n, deviation, distribution="normal"):
    rng = np.random.default_rng(7)
    counts = rng.multinomial(n, cells.ravel(), REPEATS).reshape(-1, *cells.shape)
    return counts + noise_of(distribution, deviation, rng, counts.shape)


def covered(truth, estimates):
    return np.mean([each.low <= truth <= each.high for each in estimates])


@pytest.mark.slow
@pytest.mark.parametrize("distribution", ["normal", "laplace"])
@pytest.mark.parametrize(("n", "deviation"), [(300, 2.0), (300, 20.0), (5000, 20.0), (50, 200.0)])
@pytest.mark.parametrize("cells", [EVEN, RARE], ids=["even", "rare"])
def test_intervals_of_shares_cover(cells, n, deviation, distribution):
    right = np.array([[True, True, False], [False, False, True]])
    drawn = tables(cells, n, deviation, distribution)
    assert covered(cells[right].sum(), [share_of(t, right, deviation) for t in drawn]) > LEAST
    second = cells[1] / cells[1].sum()
    one = np.array([False, False, True])
    assert covered(second[2], [share_of(t[1], one, deviation) for t in drawn]) > LEAST


@pytest.mark.slow
@pytest.mark.parametrize(("n", "deviation"), [(300, 1.0), (5000, 20.0), (300, 20.0)])
@pytest.mark.parametrize("cells", [EVEN, RARE], ids=["even", "rare"])
def test_intervals_of_auc_cover(cells, n, deviation):
    negative, positive = cells / cells.sum(1, keepdims=True)
    truth = sum(
        p * q * (i < j or (i == j) / 2)
        for j, p in enumerate(positive)
        for i, q in enumerate(negative)
    )
    estimates = [auc_of_bins(*t, deviation) for t in tables(cells, n, deviation)]
    assert covered(truth, estimates) > LEAST


OF, SAID = np.indices((3, 3))
CONFUSED = np.array([[0.3, 0.05, 0.05], [0.1, 0.2, 0.1], [0.06, 0.05, 0.09]])


def f1s(table, deviation, rows_per_unit=1):
    return [f1_of(table, OF == k, SAID == k, deviation, rows_per_unit) for k in range(3)]


@pytest.mark.slow
@pytest.mark.parametrize("distribution", ["normal", "laplace"])
@pytest.mark.parametrize(("n", "deviation"), [(300, 2.0), (300, 20.0), (5000, 20.0)])
def test_intervals_of_f1_cover(n, deviation, distribution):
    truths = 2 * CONFUSED.diagonal() / (CONFUSED.sum(0) + CONFUSED.sum(1))
    found = [f1s(t, deviation) for t in tables(CONFUSED, n, deviation, distribution)]
    for truth, estimates in zip(truths, zip(*found, strict=True), strict=True):
        assert covered(truth, estimates) > LEAST
    assert covered(truths.mean(), [*map(mean_of, found)]) > LEAST


@pytest.mark.slow
def test_intervals_of_f1_for_half_the_sampling_are_caught():
    # As those of a share have it, where each row counts once.
    truth = 2 * CONFUSED[0, 0] / (CONFUSED.sum(0)[0] + CONFUSED.sum(1)[0])
    found = [f1s(t, 2.0, 0.5)[0] for t in tables(CONFUSED, 300, 2.0)]
    assert covered(truth, found) < LEAST


@pytest.mark.slow
def test_intervals_without_noise_or_without_sampling_are_caught():
    right = np.array([[True, True, False], [False, False, True]])
    noisy = tables(EVEN, 300, 20.0)
    # Told that there is no noise, or that there are a hundred times as many rows.
    assert covered(EVEN[right].sum(), [share_of(t, right, 0.0) for t in noisy]) < LEAST
    many = [share_of(100 * t, right, 2.0) for t in tables(EVEN, 300, 0.02)]
    assert covered(EVEN[right].sum(), many) < LEAST


@pytest.mark.slow
def test_intervals_of_units_cover_where_their_rows_are_alike():
    right = np.array([[True, True, False], [False, False, True]])
    of_units = 4 * tables(EVEN, 300, 0.0) + np.random.default_rng(3).normal(0, 8, (REPEATS, 2, 3))
    held = [share_of(t, right, 8.0, rows_per_unit=4) for t in of_units]
    assert covered(EVEN[right].sum(), held) > LEAST
    assert covered(EVEN[right].sum(), [share_of(t, right, 8.0) for t in of_units]) < LEAST


def test_counts_are_told_with_the_noise_of_all_their_cells():
    # 1.96 deviations of a sum of 4 deviates of deviation 10.
    value, low, high = count_of(np.full(4, 100.0), 10.0)
    assert (value, high - low) == (400.0, pytest.approx(2 * 1.959964 * 20))


def test_without_noise_a_share_has_the_interval_of_wilson():
    # Of 7 of 50 (Wilson 1927): .0695 to .2619, as statsmodels' proportion_confint has it. The
    # number of rows is known then; 2 steps of 1/2000 wider.
    estimate = share_of(np.array([7.0, 43.0]), np.array([True, False]), 0.0)
    assert estimate == (0.14, pytest.approx(0.0695, abs=1.1e-3), pytest.approx(0.2619, abs=1.1e-3))


def test_where_noise_is_all_nothing_is_claimed():
    half = np.array([True, False])
    assert share_of(np.array([-30.0, 10.0]), half, 100.0) == (None, 0.0, 1.0)
    # Without a count above 0, whatever the noise would leave: .01 as deviation rejected nearly all.
    assert share_of(np.array([-3.0, 1.0]), half, 0.01) == (None, 0.0, 1.0)
    assert auc_of_bins(np.array([5.0, 9.0]), np.array([50.0, 90.0]), 100.0) == (None, 0.0, 1.0)
    # A count that noise put far below 0 says no more than one of 0: an interval of one point at 0
    # was told once.
    beyond, none = (share_of(np.array([a, 530.0 - a]), half, 10.0) for a in (-40.0, 0.0))
    assert beyond == none
    assert none.value == 0.0 and none.high > 0.03


def test_without_noise_f1_is_that_of_scikit_learn():
    counts = np.array([[30, 5, 5], [10, 20, 10], [6, 5, 9]])
    of, said = (np.repeat(each.ravel(), counts.ravel()) for each in (OF, SAID))
    found = f1s(counts.astype(float), 0.0)
    assert [each.value for each in found] == pytest.approx(f1_score(of, said, average=None))
    assert mean_of(found).value == pytest.approx(f1_score(of, said, average="macro"))


def test_a_mean_of_what_is_not_known_is_not_known():
    known, unknown = f1s(np.diag([50.0, 50.0, -9.0]), 1.0)[::2]
    assert unknown == (None, 0.0, 1.0) and mean_of([known, unknown]).value is None


def test_a_share_that_may_be_any_is_unknown():
    """Of 30 rows under a noise of 1,000 an accuracy of 100 % was told, from 0 to 100 %."""
    half = np.array([True, False])
    cells = np.array([40.0, -10.0])
    assert share_of(cells, half, 1000.0) == (None, 0.0, 1.0)
    assert share_of(cells, half, 1.0).value == 1.0
    table = np.array([[30.0, 10], [10, 30]])
    of, said = np.indices((2, 2))
    assert f1_of(table, of == 1, said == 1, 1000.0) == (None, 0.0, 1.0)
    assert f1_of(table, of == 1, said == 1, 1.0).value == 0.75

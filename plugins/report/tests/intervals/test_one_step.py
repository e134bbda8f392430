"""The estimate and its covariance: against the sandwich without noise, and how often it covers."""

from dataclasses import replace

import numpy as np
import pytest

from dpcore_report.intervals.first_step import nearer
from dpcore_report.intervals.one_step import LONG, WEAK, Sums, one_step

TRUTH = np.array([0.5, -0.3, 0.2])
NONE = np.zeros((3, 3))
N, REPEATS = 600, 2000
DEVIATIONS = (12.0, 2.0, 4.0)


def drawn(rng, n=N):
    X = np.stack([rng.normal(size=n), rng.random(n), np.ones(n)], 1)
    return X, X @ TRUTH + (0.2 + 0.5 * np.abs(X[:, 0])) * rng.normal(size=n)


def sums_at(w, X, y, deviations=(0.0, 0.0, 0.0), rng=None):
    slope = X @ w - y
    exact = (X.T @ slope, X.T @ X, (X * (slope**2)[:, None]).T @ X)
    if rng is None:
        return Sums(*exact, *deviations)
    gradient = exact[0] + rng.normal(0, deviations[0], 3)
    matrices = [e + symmetric(rng, s) for e, s in zip(exact[1:], deviations[1:], strict=True)]
    return Sums(gradient, *matrices, *deviations)


def symmetric(rng, deviation):
    upper = np.triu(rng.normal(0, deviation, (3, 3)))
    upper[~np.eye(3, dtype=bool)] *= 5 / 7
    return upper + np.triu(upper, 1).T


def test_without_noise_it_is_least_squares_with_whites_covariance():
    # White 1980, equation (1), without a correction of degrees of freedom: (X'X)^-1 (sum e^2 x x')
    # (X'X)^-1 at the point where the squares are taken.
    X, y = drawn(np.random.default_rng(1))
    ols = np.linalg.lstsq(X, y, rcond=None)[0]
    found = one_step(np.zeros(3), sums_at(np.zeros(3), X, y, (1e-9,) * 3), NONE, 0.0, 5.0)
    assert found.estimate == pytest.approx(ols, abs=1e-9)
    at_minimum = one_step(ols, sums_at(ols, X, y, (1e-9,) * 3), NONE, 0.0, 5.0)
    inverse = np.linalg.inv(X.T @ X)
    white = inverse @ (X * ((y - X @ ols) ** 2)[:, None]).T @ X @ inverse
    assert np.allclose(at_minimum.covariance, white, rtol=1e-6)


def test_the_regulariser_is_that_of_ridge_regression():
    X, y = drawn(np.random.default_rng(1))
    ridge = np.linalg.solve(X.T @ X + 50 * np.eye(3), X.T @ y)
    found = one_step(TRUTH, sums_at(TRUTH, X, y, (1e-9,) * 3), 50 * np.eye(3), 0.0, 5.0)
    assert found.estimate == pytest.approx(ridge, abs=1e-9)


def coverage(change=lambda sums: sums, repeats=REPEATS):
    """Return the share of intervals that hold the truth, over repeats and coefficients."""
    rng, held = np.random.default_rng(11), []
    for _ in range(repeats):
        w = TRUTH + rng.normal(0, 0.1, 3)
        sums = change(sums_at(w, *drawn(rng), DEVIATIONS, rng))
        found = one_step(w, sums, NONE, 0.0, 5.0)
        if found.estimate is not None:
            error = np.abs(found.estimate - TRUTH)
            held.append(error <= 1.959964 * np.sqrt(np.diag(found.covariance)))
    return np.mean(held, axis=0), len(held)


@pytest.mark.slow
def test_intervals_cover_what_they_say():
    # At .93 or more of 2,000 repeats: for a true .95 each coefficient fails in less than 1e-6 at
    # 4.75 deviations of .0049, and so below .927.
    held, given = coverage()
    assert given > 0.95 * REPEATS
    assert (held > 0.927).all() and (held < 0.99).all()


@pytest.mark.parametrize("uncounted", ["of_gradient", "squares"])
def test_noise_or_sampling_that_is_not_counted_is_caught(uncounted):
    values = {"of_gradient": 1e-9, "squares": np.zeros((3, 3))}
    held, _ = coverage(lambda sums: replace(sums, **{uncounted: values[uncounted]}), 300)
    assert held.min() < 0.9


def test_weak_curvature_and_long_steps_have_reasons():
    X, y = drawn(np.random.default_rng(1))
    sums = sums_at(np.zeros(3), X, y, (1.0, 1.0, 1.0))
    assert one_step(np.zeros(3), replace(sums, of_curvature=60.0), NONE, 0.0, 5.0).why_not == WEAK
    assert one_step(np.zeros(3), sums, NONE, 4.0, 5.0).why_not == LONG
    assert one_step(np.zeros(3), sums, NONE, 0.0, 5.0).why_not is None


def test_rows_of_a_unit_may_all_be_one_row():
    X, y = drawn(np.random.default_rng(1))
    sums = sums_at(TRUTH, X, y, (1e-9,) * 3)
    one, four = (one_step(TRUTH, sums, NONE, 0.0, 5.0, k).covariance for k in (1, 4))
    assert np.allclose(4 * one, four)


def test_a_first_step_is_made_where_it_is_more_than_noise():
    X, y = drawn(np.random.default_rng(1))
    sums = sums_at(np.zeros(3), X, y)
    asked = np.zeros(3), sums.gradient, sums.curvature
    ols = np.linalg.lstsq(X, y, rcond=None)[0]
    assert nearer(*asked, 0.1, 0.0, NONE) == pytest.approx(ols)
    assert nearer(*asked, 1e3, 0.0, NONE).tolist() == [0.0, 0.0, 0.0]
    assert np.linalg.norm(nearer(*asked, 0.1, 50.0, NONE)) < np.linalg.norm(ols)

"""The plugin's own kernels against their naive twins, written from the formulas."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import random as random_rows

from dpcore_a_ddp.kernels import add_drawn, drawn_margins


def naive_margins(X, rows, w):
    """x_r . w of every drawn row r, in fractions."""
    return [
        sum((Fraction(v) * Fraction(p) for v, p in zip(X[r], w, strict=True)), Fraction(0))
        for r in rows
    ]


def naive_sums(X, rows, places, c, scale, n_places, truncate=int):
    """For each place the sum over its drawn rows of c x, each cell truncated to 1 / scale."""
    total = [[0] * X.shape[1] for _ in range(n_places)]
    for row, place, weight in zip(rows, places, c, strict=True):
        for j, value in enumerate(X[row]):
            total[place][j] += truncate(Fraction(weight) * Fraction(value) * Fraction(scale))
    return total


@pytest.fixture
def drawn():
    """A sparse table on the feature grid, and rows that users drew, some of them twice."""
    rng = np.random.default_rng(5)
    X = random_rows(40, 7, density=0.5, format="csr", random_state=rng)
    X.data = np.round((X.data - 0.5) * 2**16) / 2**16
    rows = rng.integers(40, size=60)
    rows[1] = rows[0]
    return X, rows, rng.integers(9, size=60), rng


def cells_of(X):
    return X.indptr, X.indices, X.data


def test_margins_are_those_of_the_formula(drawn):
    X, rows, _, rng = drawn
    w = np.round(rng.normal(size=7) * 2**20) / 2**20
    out = np.empty(rows.size)
    drawn_margins(*cells_of(X), rows, w, out)
    assert list(map(Fraction, out)) == naive_margins(X.toarray(), rows, w)


def sums(drawn):
    X, rows, places, rng = drawn
    c = np.round(rng.normal(size=rows.size) * 2**24) / 2**24
    out = np.zeros((9, 7), dtype=np.int64)
    add_drawn(*cells_of(X), rows, places, c, 2.0**10, out)
    return X.toarray(), rows, places, c, out


def test_sums_are_those_of_the_formula_record_by_record(drawn):
    X, rows, places, c, out = sums(drawn)
    assert out.tolist() == naive_sums(X, rows, places, c, 2**10, 9)


def test_a_twin_that_floors_is_told_from_truncation(drawn):
    # Towards minus infinity a record could get longer than its clip.
    X, rows, places, c, out = sums(drawn)
    assert out.tolist() != naive_sums(X, rows, places, c, 2**10, 9, lambda x: x.__floor__())

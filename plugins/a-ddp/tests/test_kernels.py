"""The plugin's own kernels against their naive twins, written from the formulas."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import random as random_rows

from dpcore_a_ddp.kernels import add_drawn, drawn_margins
from dpcore_a_ddp.skellam_noise.distribution import SkellamDistribution, tail_sums


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


def naive_first(words, bits, tails):
    """For each value, the sign bit and the size k with P(|X| > k) <= v < P(|X| >= k) of ``bits``
    digits, cut from the words in turn; ``None`` where these digits do not decide."""
    stream = sum(int(word) << (64 * i) for i, word in enumerate(words))
    found = []
    for i in range(len(words) * 64 // bits - 1):
        digits = stream >> (i * bits) & ((1 << bits) - 1)
        v = digits & ((1 << (bits - 1)) - 1)
        # 2v / 2^bits is uniform: P(|X| >= k) = 2 P(X >= k), for k >= 1.
        low, high = Fraction(v, 1 << bits), Fraction(v + 1, 1 << bits)
        sizes = {sum(tail > x for tail in tails[1:]) for x in (low, high)}
        size = sizes.pop() if len(sizes) == 1 else None
        found.append(None if size is None else (-size if digits >> (bits - 1) else size))
    return found


def test_the_first_stage_of_the_skellam_distribution_decides_what_its_digits_do():
    variance = Fraction(9)
    distribution = SkellamDistribution(variance)
    low, _ = tail_sums(variance, 200)
    tails = [Fraction(x, 1 << 200) for x in low]
    words = np.random.default_rng(7).integers(2**64, size=200, dtype=np.uint64)
    expected = naive_first(words, distribution.bits, tails)
    out = np.empty(len(expected), dtype=np.int64)
    # A word more, as the kernel looks one ahead.
    pending = set(distribution.first(np.append(words, np.uint64(0)), out).tolist())
    decided = [i for i, value in enumerate(expected) if value is not None and i not in pending]
    assert [int(out[i]) for i in decided] == [expected[i] for i in decided]
    # What the digits leave open is listed, and next to nothing else is.
    assert {i for i, value in enumerate(expected) if value is None} <= pending
    assert len(pending) < len(expected) / 50 and len({*out.tolist()}) > 10

"""The Gram matrix: exact, with its sensitivity."""

import itertools

import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import LocalEngine, load_registry
from dpcore_accuracy_first.queries.gram import GramMatrix, gram_sums, unpack
from dpcore_lab.checks import check_query, make_rows
from dpcore_lab.made_tables.tables import make_problem

REPLACE = NeighboringRelation.REPLACE_ONE


def squared():
    return load_registry().load("loss", "ridge")()


def answer(query, rows):
    return LocalEngine(rows.table()).answer(query)


def problem_of(rows, loss, l2=0.05):
    return make_problem(rows, REPLACE, loss, l2=l2)


def scaled(rows):
    norms = np.linalg.norm(rows.X, axis=1, keepdims=True)
    return rows.X * np.minimum(1.0, 1.5 / norms)


def naive_gram_sums(left, rows, height):
    """Return the kernel's sums in Python integers, one product at a time."""
    out = [[0] * rows.shape[1] for _ in range(height)]
    for first, second in zip(left.astype(int).tolist(), rows.astype(int).tolist(), strict=True):
        for j in range(height):
            for k in range(j, rows.shape[1]):
                out[j][k] += first[j] * second[k]
    return out


@pytest.mark.parametrize("n", [0, 1, 95, 96, 97, 192])
def test_the_kernel_sums_products_exactly_whatever_is_left_over(n):
    # It takes 96 rows at a time, and two columns times four.
    rng = np.random.default_rng(n)
    for width, height in itertools.chain(*(((w, w), (w + 1, w)) for w in range(1, 9))):
        rows = rng.integers(-(2**18), 2**18, (n, width)).astype(float)
        for left in (None, 3 * rows):
            sums = np.triu(gram_sums(rows, height, left)).astype(int).tolist()
            assert sums == naive_gram_sums(rows if left is None else left, rows, height)
        # Its broken twin: the rows that are left over are left out.
        short = np.triu(gram_sums(rows[: n - n % 96], height)).astype(int).tolist()
        assert (short == naive_gram_sums(rows, rows, height)) == (n % 96 == 0)


@pytest.mark.slow
@pytest.mark.parametrize("l1_norm", [None, 1.0])
def test_the_gram_matrix_is_within_its_sensitivity(l1_norm):
    check_query(lambda problem: GramMatrix(problem, l1_norm=l1_norm))


def test_the_gram_matrix_is_exact():
    rows = make_rows(120, seed=7)
    gram = GramMatrix(problem_of(rows, squared()))
    matrix, vector = unpack(answer(gram, rows) * 2.0 ** (-2 * gram.bits), 5)
    X = scaled(rows)
    assert matrix == pytest.approx(X.T @ X, abs=120 * 2.0**-14)
    assert vector == pytest.approx(X.T @ rows.y, abs=120 * 2.0**-14)
    assert np.array_equal(matrix, matrix.T)


def test_rows_are_scaled_down_to_the_public_l1_norm_in_the_gram_matrix():
    rows = make_rows(40, seed=8)
    gram = GramMatrix(problem_of(rows, squared()), l1_norm=0.5)
    matrix, _ = unpack(answer(gram, rows) * 2.0 ** (-2 * gram.bits), 5)
    X = scaled(rows)
    X *= np.minimum(1.0, 0.5 / np.abs(X).sum(axis=1, keepdims=True))
    assert matrix == pytest.approx(X.T @ X, abs=40 * 2.0**-14)
    with pytest.raises(InvalidInputError, match="l1-norm"):
        GramMatrix(problem_of(rows, squared()), l1_norm=1e-9)

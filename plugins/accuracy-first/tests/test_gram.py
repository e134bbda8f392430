"""The Gram matrix: exact, with its sensitivity."""

import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import LocalEngine, load_registry
from dpcore_accuracy_first.queries.gram import GramMatrix, unpack
from dpcore_accuracy_first.queries.kernels import gram_sums
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


def naive_gram_sums(rows):
    """Return the kernel's sums in Python integers, one product at a time."""
    width = rows.shape[1]
    out = [[0] * width for _ in range(width - 1)]
    for row in rows.astype(int).tolist():
        for j in range(width - 1):
            for k in range(j, width):
                out[j][k] += row[j] * row[k]
    return out


@pytest.mark.parametrize("n", [0, 1, 3, 4, 9])
def test_the_kernel_sums_products_exactly_however_many_rows_are_left_over(n):
    rows = np.random.default_rng(n).integers(-(2**18), 2**18, (n, 5)).astype(float)
    out = np.zeros((4, 5))
    gram_sums(rows, rows, out)
    assert out.astype(int).tolist() == naive_gram_sums(rows)
    # Its broken twin: a row that is left over is left out.
    short = np.zeros((4, 5))
    gram_sums(*2 * (rows[: n - n % 4],), short)
    assert (short == out).all() == (n % 4 == 0)


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

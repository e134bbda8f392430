"""Column moments: their sensitivity, every layout, and the formula."""

import numpy as np
import pytest

from dpcore.plugin import NeighboringRelation, Problem
from dpcore.plugin.parts import LocalEngine, Logistic, Table
from dpcore_baselines.queries.moments import ColumnMoments
from dpcore_lab.checks import check_query
from dpcore_tables.coded import CodedLayout, CodedRows

RELATION = NeighboringRelation.ADD_OR_REMOVE_ONE


@pytest.mark.slow
@pytest.mark.parametrize("clip", [0.5, 8.0])
def test_moments_keep_their_sensitivity(clip):
    check_query(lambda problem: ColumnMoments(problem, clip))


def test_moments_of_unclipped_rows_would_be_caught(monkeypatch):
    monkeypatch.setattr("dpcore_baselines.queries.moments.clip_coefficients", lambda *_: None)
    with pytest.raises(AssertionError, match="moved by more than the declared l2"):
        check_query(lambda problem: ColumnMoments(problem, 1.0))


def coded_rows(n, seed=0):
    """Two numbers, two categorical columns of two and three categories, and the intercept."""
    rng = np.random.default_rng(seed)
    # As a schema lays them out: features 0..1 numbers, 2..3 and 4..6 codes, 7 the number 1.
    codes = np.column_stack([rng.integers(0, 3, n), rng.integers(3, 7, n)]).astype(np.uint8)
    layout = CodedLayout(
        8, np.array([0, 1, 7]), np.array([2, 3, 8, 4, 5, 6, 8]), np.array([0, 3, 7])
    )
    numeric = np.column_stack([rng.random((n, 2)), np.ones(n)])
    numeric = np.ldexp(np.trunc(np.ldexp(numeric, 16)), -16).astype(np.float32)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return CodedRows(layout, numeric, codes), y


def tables(row_norm):
    rows, y = coded_rows(300)
    bounds = {"row_norm": row_norm, "raw_norm_bound": 2.25, "capacity": 1000}
    layouts = (rows, rows.tocsr(), rows.toarray())
    return [Table.from_matrix(X, y, **bounds) for X in layouts], rows.toarray(), y


def problem_of(row_norm):
    return Problem(Logistic(), 0.0, 8, row_norm, 2.25, RELATION, capacity=1000)


@pytest.mark.parametrize("row_norm", [2.25, 1.0])
def test_every_layout_gives_the_same_bits_as_the_formula(row_norm):
    layouts, X, y = tables(row_norm)
    moments = ColumnMoments(problem_of(row_norm), 1.1)
    answers = [LocalEngine(table).answer(moments) for table in layouts]
    assert all(np.array_equal(answer, answers[0]) for answer in answers)
    factor = np.minimum(1.0, row_norm / np.linalg.norm(X, axis=1))
    x = X * factor[:, None]
    weight = np.minimum(1.0, 1.1 / (np.sqrt(2) * np.linalg.norm(x, axis=1)))
    # q is taken of the row as it is stored, and scaled down with it.
    both = np.concatenate([weight @ x, (weight * factor) @ np.square(X)])
    steps = moments.sensitivity(RELATION).grid_bits
    got = np.ldexp(LocalEngine(layouts[0]).answer(moments).astype(float), -steps)
    assert np.allclose(got, both, atol=300 * 2.0**-14)


def test_a_large_entry_counts_by_its_size_in_the_second_moments():
    X = np.array([[2.0, -0.5, 0.0]])
    table = Table.from_matrix(X, np.ones(1), row_norm=4.0, raw_norm_bound=4.0)
    problem = Problem(Logistic(), 0.0, 3, 4.0, 4.0, RELATION)
    query = ColumnMoments(problem, 4 * np.sqrt(2))
    got = np.ldexp(
        LocalEngine(table).answer(query).astype(float), -query.sensitivity(RELATION).grid_bits
    )
    assert got.tolist() == [2.0, -0.5, 0.0, 2.0, 0.25, 0.0]


def test_an_empty_table_answers_zeros():
    table = Table.from_matrix(np.zeros((0, 5)), np.zeros(0), row_norm=1.5, raw_norm_bound=2.0)
    problem = Problem(Logistic(), 0.0, 5, 1.5, 2.0, RELATION)
    assert not LocalEngine(table).answer(ColumnMoments(problem, 1.0)).any()

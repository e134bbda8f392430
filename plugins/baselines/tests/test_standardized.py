"""Gradients of standardised rows: sensitivities, layouts, naive twins."""

import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore.losses.squared import Squared
from dpcore.plugin import NeighboringRelation, Problem
from dpcore.plugin.parts import LocalEngine, Logistic, Table
from dpcore_baselines.queries.moments import ColumnMoments
from dpcore_baselines.queries.standardization import Standardization
from dpcore_baselines.queries.standardized import StandardizedGradientSum
from dpcore_lab.checks import check_query, make_rows
from dpcore_tables.coded import CodedLayout, CodedRows

W = np.array([0.5, -1.0, 0.25, 2.0, -0.5])
SCALES, MEANS = np.array([1.0, 3.0, 8.0, 1.5, 1.0]), np.array([0.2, -0.7, 0.1, 0.9, 0.0])
RELATION = NeighboringRelation.ADD_OR_REMOVE_ONE


def gradient_sum(problem, constant=4, clip=0.7, w=W):
    columns = Standardization.nearest(SCALES, MEANS, constant)
    return StandardizedGradientSum(problem, w, columns, clip)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("constant", "loss"), [(None, Squared()), (4, Logistic()), (4, Squared()), (1, Logistic())]
)
def test_a_gradient_keeps_its_sensitivity(constant, loss):
    check_query(lambda problem: gradient_sum(problem, constant), loss)


def test_norms_under_a_map_are_cached_by_its_value():
    # A session asks with a copy of its own of each query, and so of each map.
    block = make_rows(50).table().blocks[0]
    first, again, other = (Standardization.nearest(s * SCALES, MEANS, 4) for s in (1, 1, 2))
    norms = block.standardized_norms(first)
    assert block.standardized_norms(again) is norms
    assert not np.array_equal(block.standardized_norms(other), norms)
    assert np.array_equal(block.standardized_norms(first), norms)


def test_clipping_against_the_row_as_it_is_would_be_caught(monkeypatch):
    monkeypatch.setattr(
        "dpcore.data.blocks.cached_margins.CachedMargins.standardized_norms",
        lambda self, *_: self.row_norms("l2"),
    )
    with pytest.raises(AssertionError, match="moved by more than the declared l2"):
        check_query(gradient_sum)


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
    problem = problem_of(row_norm)
    factor = np.minimum(1.0, row_norm / np.linalg.norm(X, axis=1))
    x = X * factor[:, None]
    rng = np.random.default_rng(2)
    w = rng.normal(size=8)
    columns = Standardization.nearest(rng.uniform(1, 9, 8), rng.uniform(-1, 1, 8), 7)
    gradient = StandardizedGradientSum(problem, w, columns, 0.9)
    answers = [LocalEngine(table).answer(gradient) for table in layouts]
    assert all(np.array_equal(answer, answers[0]) for answer in answers)
    phi = x @ np.diag(columns.scales / 64) - np.outer(x[:, 7], columns.shifts / 64)
    slopes = -y / (1 + np.exp(y * (x @ w)))
    size = np.abs(slopes) * np.linalg.norm(phi, axis=1)
    expected = (slopes * np.minimum(1, 0.9 / size)) @ phi
    steps = gradient.sensitivity(RELATION).grid_bits
    got = np.ldexp(LocalEngine(layouts[0]).answer(gradient).astype(float), -steps)
    assert np.allclose(got, expected, atol=300 * 9 * 2.0**-gradient.bits)


def test_an_empty_table_answers_zeros():
    table = Table.from_matrix(np.zeros((0, 5)), np.zeros(0), row_norm=1.5, raw_norm_bound=2.0)
    problem = Problem(Logistic(), 0.0, 5, 1.5, 2.0, RELATION)
    assert not LocalEngine(table).answer(gradient_sum(problem)).any()


def test_a_map_of_one_column_is_refused_for_rows_of_several():
    # The norm would be that of the first column, and the sum that of all.
    problem = problem_of(1.0)
    one, same = (Standardization(np.array([s]), np.array([0]), None) for s in (2**12, 64))
    for make in (
        lambda: StandardizedGradientSum(problem, np.zeros(problem.n_features), one, 0.7),
        lambda: ColumnMoments(problem, 0.7, counted=same),
    ):
        with pytest.raises(InvalidInputError, match="Expected a map of"):
            make()

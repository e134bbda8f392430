"""The two looks at a table: sensitivities that are reached, and what follows from noisy answers."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore.losses.squared import Squared
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import LocalEngine, Sensitivity
from dpcore_adassp.level import Level, level_within, middles_within
from dpcore_adassp.row_map import RowMap
from dpcore_adassp.sizes import CLASSES, RowSizes, length_within
from dpcore_lab.checks import check_query, make_rows
from dpcore_lab.checks.queries import check_contributions
from dpcore_lab.made_tables.tables import make_problem

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE


def of(rows, relation=ADD, intercept=True):
    return replace(make_problem(rows, relation, Squared()), intercept=intercept)


def sizes(problem, level=0.4):
    return RowSizes(problem, RowMap(problem.n_features, problem.intercept), level)


def columns(problem):
    return Level(replace(problem, intercept=True), columns=True)


def squares(problem):
    return Level(problem, squares=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "intercept"),
    [
        (Level, False),
        (Level, True),
        (squares, False),
        (squares, True),
        (columns, True),
        (sizes, False),
        (sizes, True),
    ],
)
def test_no_row_moves_them_by_more_than_is_declared(query, intercept):
    check_query(lambda problem: query(replace(problem, intercept=intercept)), evaluations=60)


@dataclass(frozen=True)
class FreeTargets(Level):
    """A broken twin: counts targets, or columns, or squares, as nothing."""

    def sensitivity(self, relation):
        stated = super().sensitivity(relation)
        bound = 3**0.5 if (self.columns or self.squares) and relation is ADD else 1.0
        return Sensitivity("l2", bound, relation, grid_bits=stated.grid_bits)


@dataclass(frozen=True)
class FreeSizes(RowSizes):
    """A broken twin: counts the classes alone."""

    def sensitivity(self, relation):
        bits = super().sensitivity(relation).grid_bits
        bound = 1.0 if relation is ADD else np.sqrt(2)
        return Sensitivity("l2", float(bound), relation, grid_bits=bits)


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_a_bound_that_forgets_the_targets_is_exceeded(relation):
    rows = make_rows(30, seed=1)
    rows.X[:, -1] = 1.0
    problem = of(rows, relation)
    for made in (
        FreeTargets(problem),
        FreeTargets(problem, columns=True),
        FreeTargets(problem, squares=True),
        FreeSizes(problem, RowMap(5, True), 1.0),
    ):
        with pytest.raises(AssertionError):
            check_contributions(made, relation)


@pytest.mark.parametrize("intercept", [False, True])
def test_the_answers_are_those_of_the_formula(intercept):
    rows = make_rows(50, seed=2)
    problem = of(rows, intercept=intercept)
    X = rows.X * np.minimum(1, rows.row_norm / np.linalg.norm(rows.X, axis=1))[:, np.newaxis]
    c = np.clip(X[:, -1], -1, 1) if intercept else np.zeros(50)
    found = LocalEngine(rows.table()).answer(Level(problem)) * 2.0**-20
    assert found == pytest.approx([50, c @ c, c @ rows.y], abs=50 * 2.0**-13)
    found = LocalEngine(rows.table()).answer(squares(problem)) * 2.0**-20
    assert found == pytest.approx([50, c @ c, c @ rows.y, rows.y @ rows.y], abs=50 * 2.0**-13)
    query = sizes(problem)
    *counts, size = LocalEngine(rows.table()).answer(query) * 2.0**-20
    assert sum(counts) == 50 and len(counts) == CLASSES
    lengths = np.linalg.norm(X[:, :-1] if intercept else X, axis=1)
    c = X[:, -1] if intercept else c
    assert sum(counts[:3]) == sum(lengths > query.edges[3])
    assert size == pytest.approx(np.minimum(1, abs(rows.y - 0.4 * c)).sum(), abs=50 * 2.0**-13)
    with pytest.raises(InvalidInputError, match="level"):
        sizes(problem, np.nan)


def test_the_sums_of_columns_are_those_of_the_formula():
    rows = make_rows(50, seed=2)
    X = rows.X * np.minimum(1, rows.row_norm / np.linalg.norm(rows.X, axis=1))[:, np.newaxis]
    found = LocalEngine(rows.table()).answer(columns(of(rows))) * 2.0**-20
    assert found[3:] == pytest.approx(X[:, -1] @ X[:, :-1] / rows.row_norm, abs=50 * 2.0**-13)
    with pytest.raises(InvalidInputError, match="intercept"):
        Level(of(rows, intercept=False), columns=True)


def test_a_middle_is_moved_as_far_as_it_is_sure():
    sums = np.array([10.0, 50.0, 90.0, -30.0])
    assert middles_within(100.0, sums, 0.01, 1.0) == pytest.approx((0.1, 0.5, 0.9, 0.0))
    doubtful = middles_within(100.0, sums, 20.0, 1.0)
    assert 0.1 < doubtful[0] < 0.5 < doubtful[2] < 0.9 and doubtful[1] == 0.5
    assert middles_within(100.0, sums, 60.0, 1.0) == (0.5,) * 4


def test_a_level_counts_as_far_as_it_is_sure():
    assert level_within(100.0, 60.0, 0.1) == 0.6
    assert level_within(100.0, 900.0, 0.1) == 1.0
    assert 0 < -level_within(100.0, -60.0, 20.0) < 0.25
    assert level_within(100.0, 60.0, 80.0) == 0.0


def test_the_length_that_most_rows_are_within():
    edges = 2.0 ** (-np.arange(CLASSES) / 6)
    counts = np.zeros(CLASSES)
    counts[[2, 5]] = 5, 95
    assert length_within(edges, counts, 100, 0.1, 0.0) == edges[5]
    assert length_within(edges, counts, 100, 0.01, 0.0) == edges[2]
    counts[:] = 0
    assert length_within(edges, counts, 100, 0.1, 0.0) == edges[-1]

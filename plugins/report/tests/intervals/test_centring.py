"""Columns that are centred: the map and its way back, bounds of rows and margins, a broken twin."""

from dataclasses import replace

import numpy as np
import pytest

from dpcore import Schema
from dpcore.losses.squared import Squared
from dpcore.plugin import NeighboringRelation, Problem
from dpcore.plugin.parts import LocalEngine, Logistic
from dpcore_lab.checks import check_query
from dpcore_lab.made_tables.tables import Rows, make_problem
from dpcore_report.intervals.centring import Centring, centring_of
from dpcore_report.intervals.row_products import RowProducts
from dpcore_report.intervals.slopes import largest_slope

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
NUMBER = {"kind": "numeric", "lower": 0, "upper": 1}
COLUMNS = {
    "a": NUMBER,
    "b": {"kind": "boolean"},
    "two": {"kind": "categorical", "categories": ["p", "q"]},
    "five": {"kind": "categorical", "categories": list("vwxyz")},
    "gap": {**NUMBER, "indicator": True},
    "y": {"kind": "label", "classes": [0, 1]},
}
SCHEMA = Schema.from_dict({"columns": COLUMNS})
W = np.linspace(-2.0, 3.0, 12)


def problem_of(schema=SCHEMA, loss=None):
    norms = {"row_norm": schema.row_norm, "raw_norm_bound": schema.raw_norm_bound}
    return Problem(loss or Logistic(), 0.0, schema.n_features, relation=ADD, **norms)


def encoded(n, seed=4):
    """Return every end of the columns' features and ``n`` rows between, as the schema has them."""
    rng = np.random.default_rng(seed)
    X = np.zeros((n, SCHEMA.n_features))
    X[:, :2], X[:, 11] = rng.random((n, 2)).round(rng.integers(0, 2)), 1.0
    for first, k in ((2, 2), (4, 5)):
        level = rng.integers(0, k + 1, n)
        X[np.arange(n)[level < k], first + level[level < k]] = 1.0
    empty = rng.random(n) < 0.3
    X[:, 9], X[:, 10] = np.where(empty, 0.0, rng.random(n)), empty
    return X


def test_a_column_is_centred_where_rows_get_shorter():
    centring = centring_of(SCHEMA, problem_of())
    centred = centring.standardization.shifts != 0
    assert centred.tolist() == [True] * 4 + [False] * 5 + [True] * 2 + [False]
    # 1/4 for each of a and b, 2/4 for two levels, 1 for five, 2/4 of the number and its indicator,
    # and the intercept, where the row as it is may have 6.
    assert centring.row_norm**2 == pytest.approx(3.5)
    assert centring.rest == pytest.approx(1.0)


def test_no_row_of_the_schema_is_longer_than_the_bound_whatever_its_factor():
    centring, X = centring_of(SCHEMA, problem_of()), encoded(4000)
    for factor in (1.0, 0.3):
        mapped = centring.standardization.map_gradient(factor * X)
        longest = np.linalg.norm(mapped, axis=1).max()
        assert longest <= centring.row_norm and (longest > 0.99 * centring.row_norm) == (
            factor == 1
        )
        assert np.array_equal(centring.rows(factor * X), mapped)


def test_margins_and_points_turn_round():
    centring, X = centring_of(SCHEMA, problem_of()), encoded(4000)
    v, standardization = centring.point(W), centring.standardization
    assert standardization.pull_back(v) == pytest.approx(W)
    assert X @ W == pytest.approx(standardization.map_gradient(X) @ v)
    assert 0.5 * centring.longest_margin(W) < np.abs(X @ W).max() <= centring.longest_margin(W)
    squared = problem_of(loss=Squared())
    assert largest_slope(squared, W, centring) < 0.8 * largest_slope(squared, W)


@pytest.mark.parametrize(
    "others", [{"intercept": False}, {"norm": 1.0}, {"columns": (SCHEMA.label,), "width": 3}]
)
def test_rows_that_would_not_be_shorter_are_left(others):
    schema = replace(SCHEMA, **others)
    assert centring_of(schema, problem_of(schema)) is None


def of_made_rows(problem):
    """Return the centring of two numbers, for made rows of another kind, many of them too long."""
    schema = Schema.from_dict({"columns": {"a": NUMBER, "b": NUMBER, "y": COLUMNS["y"]}})
    return centring_of(schema, replace(problem, row_norm=9.0))


class Unheld(RowProducts):
    """Broken on purpose: rows that are longer than their schema lets them be are not left out."""

    def answer_block(self, block):
        mapped = self.centring.standardization.map_gradient(block.rows())
        v = np.rint(np.ldexp(mapped * 0.5, self.bits))
        products = (v.T @ v).astype(np.int64) * np.where(np.eye(3, dtype=bool), 5, 7)
        return products[np.triu_indices(3)]


def far_rows(query):
    """Return how far a row that no schema lets be moves the answer, over the stated bound."""
    X = np.array([[-1.0, -1.0, 1.0]])
    rows = Rows(X, np.ones(1), row_norm=2.0, raw_norm_bound=2.0)
    problem = make_problem(rows, ADD, Logistic())
    asked = query(problem, np.zeros(3), "curvature", centring=of_made_rows(problem))
    stated = asked.sensitivity(ADD)
    answer = LocalEngine(rows.table()).answer(asked)
    return np.linalg.norm(answer / 2.0**stated.grid_bits) / stated.bound


def test_a_row_that_is_too_long_counts_as_none():
    assert far_rows(RowProducts) == 0.0
    assert far_rows(Unheld) > 2.0


@pytest.mark.slow
@pytest.mark.parametrize("by", ["slope", "curvature"])
def test_products_of_centred_rows_keep_their_sensitivity(by):
    def query(problem):
        schema = Schema.from_dict(
            {"columns": {**{f"x{i}": NUMBER for i in range(4)}, "y": COLUMNS["y"]}}
        )
        centring = centring_of(schema, replace(problem, row_norm=9.0))
        return RowProducts(problem, np.linspace(-2, 2, 5), by, centring=centring)

    check_query(query, Squared(), evaluations=40)


def left_out(centring, rows):
    return ~centring.rows(rows).any(axis=1)


class PairedSquares(Centring):
    """Broken on purpose: squares are added in pairs, in an order that follows the array's shape."""

    def rows(self, rows):
        mapped = self.standardization.map_gradient(rows)
        mapped[~(np.einsum("ij,ij->i", mapped, mapped) <= self.row_norm**2)] = 0.0
        return mapped


def test_whether_a_row_is_left_out_depends_on_no_other_row():
    """Rows at the bound, to the last bit, alone and beside others, in the two orders of memory."""
    columns = {f"x{i}": NUMBER for i in range(40)} | {"y": COLUMNS["y"]}
    schema = Schema.from_dict({"columns": columns})
    made, rng = centring_of(schema, problem_of(schema)), np.random.default_rng(3)
    rows = np.asfortranarray(rng.random((400, schema.n_features)))
    squares = np.square(made.standardization.map_gradient(rows)).sum(axis=1)
    differs = {Centring: 0, PairedSquares: 0}
    for place, square in enumerate(squares):
        for kind in differs:
            at = kind(made.standardization, float(np.sqrt(square)), made.rest)
            alone = left_out(at, rows[place : place + 1].copy())[0]
            differs[kind] += int(left_out(at, rows)[place] != alone)
    assert differs[Centring] == 0 < differs[PairedSquares]

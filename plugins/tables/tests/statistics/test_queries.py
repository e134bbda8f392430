"""Histograms, sums and quantile scores: exact, within their sensitivities, in every layout."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from coded_rows import coded

from dpcore import Schema
from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import LocalEngine, Table, dataset_from_arrays
from dpcore_lab.checks import check_query, make_rows
from dpcore_lab.made_tables.tables import Rows, neighbours
from dpcore_lab.replay.replay import assert_within
from dpcore_tables.statistics import (
    CategoricalColumn,
    Histogram,
    NumericColumn,
    column_of,
    numeric_column,
)
from dpcore_tables.statistics.numeric_sums import NumericSums
from dpcore_tables.statistics.quantile import QuantileScores, RankCounts

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
SPECIAL = NeighboringRelation.REPLACE_SPECIAL
FIRST, SECOND = NumericColumn(0, -3.0, 5.0), NumericColumn(1, 0.0, 90.0)
LABEL, CLASSES = NumericColumn(None, 10.0, 30.0), CategoricalColumn((), ("no", "yes"))
THREE = CategoricalColumn((), ("a", "b", "c"))
LEVELS = CategoricalColumn((1, 2, 3), ("a", "b", "c"))
EDGES = (-3.0, -1.0, 0.5, 5.0)


def answer(query, rows):
    return LocalEngine(rows.table()).answer(query)


def scores(query, rows):
    return query.derive(lambda asked: answer(asked, rows), None)


def cells(rows, feature):
    """Return a column's cells in steps, as a loop over Python numbers."""
    return [int(min(max(x, 0.0), 1.0) * 65536) for x in rows.X[:, feature].tolist()]


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    [
        Histogram(FIRST, EDGES, "l1"),
        Histogram(LABEL, (10.0, 20.0, 30.0)),
        Histogram(LEVELS),
        Histogram(CLASSES, norm="l1"),
        Histogram(THREE),
        NumericSums((FIRST,), norm="l1"),
        NumericSums((FIRST, SECOND, LABEL)),
        NumericSums((FIRST, SECOND, LABEL), True),
        NumericSums((FIRST, SECOND), True, "l1"),
        RankCounts(FIRST, (0, 10, 5000, 65536)),
    ],
    ids=lambda query: type(query).__name__,
)
def test_every_sum_keeps_its_sensitivity(query):
    check_query(lambda problem: query)


@dataclass(frozen=True)
class CountsTwice(Histogram):
    """The broken twin: a row on an edge is in the bins on both sides."""

    def answer_block(self, block):
        edges, steps = self.column.public_steps(self.edges), self.column.steps(block)
        bins = [(steps >= low) & (steps <= high) for low, high in zip(edges, edges[1:])]  # noqa: B905
        return np.array([held.sum() for held in bins], dtype=np.int64)


def test_a_histogram_that_counts_a_row_twice_is_found():
    on_the_edge, nobody = Rows(np.full((1, 5), 0.5), np.ones(1)), Rows(np.empty((0, 5)), np.ones(0))
    for kind, holds in ((Histogram, True), (CountsTwice, False)):
        query = kind(FIRST, (-3.0, 1.0, 5.0), "l1")
        answers = answer(query, on_the_edge), answer(query, nobody)
        if holds:
            assert_within(*answers, query.sensitivity(ADD), "counts")
        else:
            with pytest.raises(AssertionError, match="moved by more"):
                assert_within(*answers, query.sensitivity(ADD), "counts")


def test_the_bins_are_those_of_numpy():
    rows = make_rows(500, seed=1)
    bounds = np.ldexp(np.array([100, 9000, 30000, 50000]), -16)
    query = Histogram(NumericColumn(0, 0.0, 1.0), tuple(bounds))
    expected = np.histogram(np.ldexp(cells(rows, 0), -16), bounds)[0]
    assert answer(query, rows).tolist() == expected.tolist()
    assert 0 < expected.sum() < 500


def test_a_cell_on_an_edge_is_in_the_bin_above_whatever_its_binary_fraction():
    schema = Schema.from_dict(
        {"columns": {"age": {"kind": "numeric", "lower": 17, "upper": 90},
                     "y": {"kind": "label", "classes": [0, 1]}}}
    )  # fmt: skip
    ages = np.arange(17, 91, dtype=float)
    table = dataset_from_arrays(ages[:, np.newaxis], np.zeros(74, int), schema=schema).table()
    query = Histogram(numeric_column(schema, "age"), tuple(range(17, 91)))
    assert LocalEngine(table).answer(query).tolist() == [1] * 72 + [2]


def test_codes_are_of_one_hot_features_and_of_nothing_else():
    X = np.zeros((5, 5))
    X[0, 1] = X[1, 2] = X[2, 3] = X[4, 2] = 1.0
    rows = Rows(X, np.ones(5))
    assert answer(Histogram(LEVELS), rows).tolist() == [1, 2, 1]
    assert answer(Histogram(CLASSES), rows).tolist() == [0, 5]


def test_sums_are_exact():
    rows = make_rows(300, seed=2)
    first, second = (np.array(cells(rows, j), dtype=object) - 32768 for j in (0, 1))
    got = answer(NumericSums((FIRST, SECOND), True), rows).tolist()
    products = [(a * b).sum() for a, b in ((first, first), (first, second), (second, second))]
    expected = [300 << 32, first.sum() << 16, second.sum() << 16, *products]
    assert got == expected
    assert answer(NumericSums((FIRST, SECOND)), rows).tolist() == [
        300 << 16, first.sum(), second.sum()
    ]  # fmt: skip


def naive_scores(values, q, candidates):
    share, out = round(q * 2**16), []
    for c in candidates:
        below, above = sum(v < c for v in values), sum(v > c for v in values)
        n = len(values)
        high = (2**16 - share) * below - share * (n - below)
        low = share * above - (2**16 - share) * (n - above)
        out.append(-max(0, high, low))
    return out


@pytest.mark.parametrize("q", [0.0, 0.1, 0.5, 0.73, 1.0])
def test_scores_are_the_distances_of_ranks(q):
    rows = make_rows(90, seed=4)
    query = QuantileScores(FIRST, q, (-3.0, -2.5, 0.0, 1.0, 4.0, 5.0))
    steps = FIRST.public_steps(query.candidates).tolist()
    assert scores(query, rows).tolist() == naive_scores(cells(rows, 0), q, steps)


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("q", [0.0, 0.25, 0.5, 0.9, 1.0])
def test_scores_keep_their_range(q, relation):
    query = QuantileScores(FIRST, q, tuple(np.linspace(-3, 5, 40)))
    tables = [make_rows(n, seed=n) for n in (1, 2, 9, 40)]
    tables.append(Rows(np.zeros((5, 5)), np.ones(5)))
    for rows in tables:
        for other in neighbours(rows, relation, seed=5):
            one, two = scores(query, rows), scores(query, other)
            assert_within(one, two, query.sensitivity(relation), "scores")


@pytest.mark.parametrize(("q", "relation"), [(0.25, ADD), (0.5, ADD), (0.9, ADD), (0.5, REPLACE)])
def test_the_range_of_the_scores_is_reached(q, relation):
    # Its broken twin, half the range, would be found: 2 max(q, 1 - q), or 2, is met by a table.
    query, reached = QuantileScores(FIRST, q, tuple(np.linspace(-3, 5, 9))), 0
    rng = np.random.default_rng(1)
    for _ in range(300):
        X = np.zeros((4, 5))
        X[:, 0] = rng.integers(0, 9, 4) / 8
        rows = Rows(X, np.ones(4))
        other = Rows(np.vstack([X[:-1], X[:1] * 0 + rng.integers(0, 9) / 8]), np.ones(4))
        if relation is ADD:
            other = Rows(X[:-1], np.ones(3))
        change = scores(query, rows) - scores(query, other)
        reached = max(reached, int(change.max() - change.min()))
    sensitivity = query.sensitivity(relation)
    assert reached > 0.5 * sensitivity.change_range * 2**16
    assert reached <= sensitivity.change_range * 2**16


def test_replace_special_is_a_row_removed():
    for query in (Histogram(FIRST, EDGES), NumericSums((FIRST, SECOND), True),
                  QuantileScores(FIRST, 0.3, (0.0, 1.0))):  # fmt: skip
        assert query.sensitivity(SPECIAL).bound == query.sensitivity(ADD).bound


def test_layouts_agree():
    rows, y = coded()
    tables = [
        Table.from_matrix(X, y, row_norm=1.5, raw_norm_bound=3.0)
        for X in (rows, rows.tocsr(), rows.toarray())
    ]
    numeric = NumericColumn(1, 0.0, 1.0)
    levels = CategoricalColumn((2, 3, 4), ("a", "b", "c"))
    for query in (Histogram(levels), Histogram(numeric, (0.0, 0.3, 1.0)), NumericSums((numeric,))):
        answers = [LocalEngine(table).answer(query).tolist() for table in tables]
        assert answers[0] == answers[1] == answers[2]


SCHEMA = Schema.from_dict(
    {
        "columns": {
            "age": {"kind": "numeric", "lower": 17, "upper": 90},
            "city": {"kind": "categorical", "categories": ["Bern", "Basel"]},
            "id": {"kind": "drop"},
            "pay": {"kind": "numeric", "lower": 0, "upper": 10},
            "hired": {"kind": "label", "positive": ["yes"]},
        }
    }
)


def test_the_classes_of_a_label_are_counted_whatever_the_rows_hold():
    label = {"kind": "label", "classes": ["a", "b"], "other": "rest"}
    schema = Schema.from_dict({"width": 1, "columns": {"y": label}})
    column = column_of(schema, "y")
    assert column == CategoricalColumn((), ("a", "b", "rest"))
    y = np.array([0.0, 2.0, 1.0, 2.0, 0.0, 2.0])
    table = Table.from_matrix(np.ones((6, 2)), y, row_norm=2.0, raw_norm_bound=2.0)
    assert LocalEngine(table).answer(Histogram(column)).tolist() == [2, 1, 3]
    # A row counts once, in one of the three, even with a label that no schema would read.
    odd = np.array([-7.0, 9.0, 0.5, 1.5, 2.5, 1e300])
    table = Table.from_matrix(np.ones((6, 2)), odd, row_norm=2.0, raw_norm_bound=2.0)
    assert LocalEngine(table).answer(Histogram(column)).tolist() == [2, 1, 3]


def test_columns_are_found_by_name():
    assert column_of(SCHEMA, "age") == NumericColumn(0, 17.0, 90.0)
    assert column_of(SCHEMA, "city") == CategoricalColumn((1, 2), ("Bern", "Basel"))
    assert column_of(SCHEMA, "pay") == NumericColumn(3, 0.0, 10.0)
    assert column_of(SCHEMA, "hired") == CategoricalColumn((), ("not yes", "yes"))
    for name, reason in (("id", "no column"), ("agge", "Did you mean 'age'|age")):
        with pytest.raises(InvalidInputError, match=reason):
            column_of(SCHEMA, name)
    with pytest.raises(InvalidInputError, match="numeric"):
        numeric_column(SCHEMA, "city")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Histogram(FIRST),
        lambda: Histogram(FIRST, (0.0,)),
        lambda: Histogram(FIRST, (1.0, 0.0)),
        lambda: Histogram(FIRST, (4.0, 5.0, 6.0)),
        lambda: Histogram(FIRST, (0.0, float("nan"))),
        lambda: Histogram(LEVELS, (0.0, 1.0)),
        lambda: NumericSums(()),
        lambda: QuantileScores(FIRST, 1.5, (0.0, 1.0)),
        lambda: QuantileScores(FIRST, float("nan"), (0.0, 1.0)),
        lambda: QuantileScores(FIRST, 0.5, ()),
        lambda: QuantileScores(FIRST, 0.5, (1.0, 1.0)),
    ],
)
def test_questions_that_cannot_be_are_refused(make):
    with pytest.raises(InvalidInputError):
        make()


@pytest.mark.parametrize(
    "bounds",
    [
        (0, -1.0, 10.0, "log"),  # the number of rows decided between -499 and 10^14
        (0, 1.0, 1.0),
        (0, math.nan, 1.0),
        (0, 0.0, math.inf),
        (0, -1e308, 1e308),
        (0, 0.0, 1.0, "cube"),
        (0, 0.0, 1.0, "linear", "week"),
    ],
)
def test_a_number_without_limits_is_refused(bounds):
    with pytest.raises(InvalidInputError, match="Expected"):
        NumericColumn(*bounds)


@pytest.mark.parametrize("candidates", [(7, 3, 7, 8, 1), (3, 3), (3.0, 4.0), (True, 2)])
def test_ranks_among_candidates_that_do_not_rise_are_refused(candidates):
    # NumPy's search begins where the row before ended: one row moved thousands of others.
    with pytest.raises(InvalidInputError, match="rising integers"):
        RankCounts(FIRST, candidates)

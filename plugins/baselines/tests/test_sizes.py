"""Sizes of numbers: sensitivity, layouts, what is typical of a column, and when dp-gd asks."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from dpcore import fit
from dpcore.plugin import NeighboringRelation, Problem
from dpcore.plugin.parts import LocalEngine, Logistic, Table
from dpcore.session.unit_sensitivity import sensitivity_of_units
from dpcore_baselines.descent.sizes import ColumnSizes, noise_of_sizes, sizes_tell, typical_sizes
from dpcore_baselines.descent.standardize import from_moments
from dpcore_lab.checks import check_query
from dpcore_tables.coded import CodedLayout, CodedRows

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE


def sizes_of_all(problem):
    return ColumnSizes(tuple(range(problem.n_features)))


@pytest.mark.slow
def test_sizes_keep_their_sensitivity():
    check_query(sizes_of_all)


def test_counts_of_more_columns_than_are_stated_would_be_caught(monkeypatch):
    # The bound of one column for all of them.
    whole = ColumnSizes.sensitivity
    monkeypatch.setattr(
        ColumnSizes,
        "sensitivity",
        lambda self, relation: replace(
            whole(self, relation), bound=math.sqrt(relation.rows_changed)
        ),
    )
    with pytest.raises(AssertionError, match="moved by more than the declared l2"):
        check_query(sizes_of_all)


def test_entries_that_count_by_their_size_would_be_caught(monkeypatch):
    monkeypatch.setattr(
        "dpcore_baselines.descent.sizes._digits", lambda entries: np.ceil(2 * np.abs(entries))
    )
    with pytest.raises(AssertionError, match="moved by more than the declared l2"):
        check_query(sizes_of_all)


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("k", [None, 3])
def test_the_noise_that_is_told_is_what_the_session_adds(relation, k):
    problem = Problem(Logistic(), 0.0, 9, 2.0, 2.0, relation, numbers=(0, 2, 5, 6), rows_per_unit=k)
    query = ColumnSizes(problem.numbers)
    if k is None:
        stated = query.sensitivity(relation)
    else:
        stated = sensitivity_of_units(query, relation, k)
    assert stated.grid_bits == 0
    assert noise_of_sizes(problem, 7.0) == pytest.approx(7.0 * stated.bound)


def numbers(n, seed=0):
    """An even number, a number that is mostly 0 and else small, an indicator, and ones."""
    rng = np.random.default_rng(seed)
    gain = np.where(rng.random(n) < 0.08, rng.uniform(0.03, 0.12, n), 0.0)
    gain[rng.random(n) < 0.005] = 1.0
    X = np.column_stack([rng.random(n), gain, rng.random(n) < 0.3, np.ones(n)])
    return np.ldexp(np.trunc(np.ldexp(X, 16)), -16)


def test_every_layout_gives_the_counts_of_the_formula():
    X = numbers(500)
    X[0, :2] = [2.0**-3, 2.0**-6]  # An edge is of the class below it.
    expected = [
        [np.sum((X[:, j] > low) & (X[:, j] <= high)) for j in (1, 0)]
        for low, high in ((1 / 8, 1), (1 / 64, 1 / 8), (0, 1 / 64))
    ]
    layout = CodedLayout(4, np.array([0, 1, 3]), np.array([2, 4]), np.array([0, 2]))
    codes = np.where(X[:, 2:3] == 1, 0, 1).astype(np.uint8)
    for rows in (X, csr_matrix(X), CodedRows(layout, X[:, [0, 1, 3]].astype(np.float32), codes)):
        table = Table.from_matrix(rows, np.ones(500), row_norm=1.0, raw_norm_bound=2.0)
        found = LocalEngine(table).answer(ColumnSizes((1, 0)))
        assert found.tolist() == np.ravel(expected).tolist()


def test_no_digit_carries_over_however_many_rows_a_block_has(monkeypatch):
    X = numbers(500)
    table = Table.from_matrix(X, np.ones(500), row_norm=2.0, raw_norm_bound=2.0)
    query = ColumnSizes((0, 1, 2))
    whole = LocalEngine(table).answer(query).tolist()
    monkeypatch.setattr("dpcore_baselines.descent.sizes._DIGIT", 2.0**7)
    assert LocalEngine(table).answer(query).tolist() != whole  # 500 rows at a time carry
    monkeypatch.setattr("dpcore_baselines.descent.sizes._ROWS", 2**7 - 1)
    assert LocalEngine(table).answer(query).tolist() == whole


def counted(X, problem):
    table = Table.from_matrix(X, np.ones(len(X)), row_norm=2.0, raw_norm_bound=2.0)
    return LocalEngine(table).answer(ColumnSizes(problem.numbers)).astype(float)


def test_a_column_that_is_mostly_empty_is_scaled_by_its_typical_entries():
    X, n = numbers(20_000), 20_000.0
    problem = Problem(Logistic(), 0.0, 4, 2.0, 2.0, ADD, intercept=True, numbers=(0, 1, 2))
    sizes = typical_sizes(problem, counted(X, problem), n, 10.0)
    assert sizes.columns.tolist() == [0, 1, 2]
    moments = np.concatenate([X.sum(axis=0), np.square(X).sum(axis=0)])
    plain, _ = from_moments(problem, moments, n, 10.0)
    columns, length = from_moments(problem, moments, n, 10.0, sizes)
    # 8 % of entries of about .06: far entries, half a percent, no longer say what the scale is.
    assert 2 * plain.scales[1] < columns.scales[1] < 8 * plain.scales[1]
    # What moments tell better is left to them, an indicator's scale as an even number's.
    assert np.array_equal(columns.scales[[0, 2, 3]], plain.scales[[0, 2, 3]])
    assert math.isfinite(length)


def test_counts_that_are_all_noise_say_nothing():
    problem = Problem(Logistic(), 0.0, 4, 2.0, 2.0, ADD, intercept=True, numbers=(0, 1, 2))
    noise = noise_of_sizes(problem, 10.0)
    sizes = typical_sizes(problem, np.full(9, 1.9 * noise), 1000.0, 10.0)
    assert sizes.columns.size == sizes.means.size == sizes.squares.size == 0
    moments = np.arange(8.0)
    with_none = from_moments(problem, moments, 1000.0, 1.0, sizes)[0]
    assert with_none.key == from_moments(problem, moments, 1000.0, 1.0)[0].key


def test_sizes_are_asked_where_they_tell():
    problem = Problem(Logistic(), 0.0, 4, 2.0, 2.0, ADD, numbers=(0, 1, 2))
    enough = 64 * noise_of_sizes(problem, 10.0)
    assert sizes_tell(problem, enough * 1.01, 10.0)
    assert not sizes_tell(problem, enough * 0.99, 10.0)
    assert not sizes_tell(replace(problem, numbers=()), 1e9, 10.0)


PUBLIC = {
    "rows": 4000,
    "columns": {
        "age": {"kind": "numeric", "lower": 0, "upper": 1},
        "gain": {"kind": "numeric", "lower": 0, "upper": 1},
        "label": {"kind": "label", "classes": [0, 1]},
    },
}


def asked(X, y, params=None, **words):
    frame = pd.DataFrame({"age": X[:, 0], "gain": X[:, 1]})
    words = {"epsilon": 1.0, "algo": "dp-gd", "schema": PUBLIC, "seed": 3} | words
    return frame, fit(frame, y, params={"steps": 12} | (params or {}), **words)


@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
def test_dp_gd_counts_sizes_of_a_schemas_numbers_within_its_budget(relation):
    X = numbers(4000)
    _, model = asked(X, X[:, 0] > 0.5, relation=relation)
    releases = model.privacy["releases"]
    assert releases == {"sizes": 1, "moments": 1, "gradient": 12, "calibration": 1}
    assert 0.999 * model.privacy["budget"] <= model.privacy["spent"] <= model.privacy["budget"]


@pytest.mark.parametrize(
    "words", [{"epsilon": 0.02}, {"params": {"moments_share": 0.0}}, {"schema": None}]
)
def test_dp_gd_counts_no_sizes_where_they_tell_nothing(words):
    X = numbers(4000)
    if "schema" in words:
        public = {"classes": (0, 1), "row_norm": 1.5, "n0": 4000}
        model = fit(X[:, :2], X[:, 0] > 0.5, algo="dp-gd", epsilon=1.0, seed=3, **public)
    else:
        _, model = asked(X, X[:, 0] > 0.5, **words)
    assert "sizes" not in model.privacy["releases"]


def test_what_follows_a_column_of_few_small_entries_is_learnt(monkeypatch):
    X = numbers(4000, seed=5)
    X[:, 1] *= np.where(X[:, 1] < 1, 0.3, 1.0)
    y = (X[:, 1] > 0) ^ (np.random.default_rng(6).random(4000) < 0.02)
    frame, model = asked(X, y, epsilon=0.5, params={"steps": 50})
    with_sizes = np.mean(model.predict(frame) == y)
    monkeypatch.setattr("dpcore_baselines.descent.sizes.sizes_tell", lambda *_: False)
    _, model = asked(X, y, epsilon=0.5, params={"steps": 50})
    # .90 are of the commoner class, and .98 follow the rule.
    assert with_sizes > 0.96 > np.mean(model.predict(frame) == y) + 0.02

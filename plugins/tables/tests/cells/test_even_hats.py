"""Hats that follow from the number that rows hold: their bits, blocks, stores, and schemas."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpcore import Schema
from dpcore.plugin import Problem
from dpcore.plugin.parts import Dataset, dataset_from_arrays
from dpcore_tables.curves import curved, curved_schema
from dpcore_tables.kinds.even_hats import even_hats
from dpcore_tables.store import convert

LABEL = {"y": {"kind": "label", "classes": [0, 1]}}
AGE = {"kind": "numeric", "lower": 0, "upper": 70, "knots": 8}
PAY = {"kind": "numeric", "lower": 1, "upper": 128, "scale": "log", "knots": 8, "indicator": True}
SCHEMA = Schema.from_dict({"columns": {"age": AGE, "pay": PAY} | LABEL})


def hats_by_hand(x, n_hats):
    """Return max(0, 1 - |(n_hats - 1) x - k|) of each knot k, from whole numbers of grid steps."""
    steps = np.round(np.ldexp(x, Problem.FEATURE_BITS)).astype(int)[:, np.newaxis] * (n_hats - 1)
    away = np.abs(steps - np.arange(n_hats) * 2**Problem.FEATURE_BITS)
    return np.maximum(0, 2**Problem.FEATURE_BITS - away) / 2.0**Problem.FEATURE_BITS


def test_rows_hold_the_number_alone_and_hats_follow_from_it_exactly():
    cells = np.random.default_rng(3).uniform(-5, 90, 400)
    frame = pd.DataFrame({"age": cells, "pay": np.resize([1.0, 50.0, np.nan], 400), "y": 1})
    rows = dataset_from_arrays(frame, None, schema=SCHEMA).X
    assert rows.numeric.shape == (400, 1 + 2 + 8 + 1)  # pay has an indicator and no fill
    X = rows.toarray()
    assert np.array_equal(X[:, 1:9], hats_by_hand(X[:, 0], 8))
    assert (X[:, 1:9].sum(axis=1) == 1).all()


@pytest.mark.parametrize(
    "columns",
    [{"age": AGE}, {"age": AGE, "k": {"kind": "categorical", "categories": ["False", "True"]}}],
)
def test_blocks_of_hats_that_follow_answer_as_blocks_of_stored_ones(columns):
    rng, n = np.random.default_rng(1), 300
    schema = Schema.from_dict({"columns": columns | LABEL})
    frame = pd.DataFrame(
        {"age": rng.uniform(0, 70, n), "k": np.resize(["True", "False", "x"], n), "y": 1}
    )
    data = dataset_from_arrays(frame[[*columns, "y"]], None, schema=schema)
    stored = data.X.unfolded()
    assert len(data.X.layout.hats) == 1 and not len(stored.layout.hats)
    (block,), (twin,) = (replace(data, X=X).table().blocks for X in (data.X, stored))
    w = np.round(rng.normal(size=(4, schema.n_features)) * 2**10) / 2**10
    c = np.round(rng.normal(size=(4, n)) * 2**10) / 2**10
    for some in (slice(0, 1), slice(0, 4)):
        assert np.array_equal(block.margins_at(w[some]), twin.margins_at(w[some]))
        assert np.array_equal(block.weighted_sum(c[some]), twin.weighted_sum(c[some]))
    assert np.array_equal(block.weighted_sum(c[0]), twin.weighted_sum(c[0]))
    assert np.allclose(block.weighted_moments(c[0]), twin.weighted_moments(c[0]), rtol=1e-12)
    for norm in ("l1", "l2", "linf"):
        assert np.array_equal(block.row_norms(norm), twin.row_norms(norm))
    assert np.array_equal(block.rows(), twin.rows())
    some = np.arange(0, n, 7)
    assert np.array_equal(block.take(some).rows(), twin.rows()[some])


def test_hats_that_are_read_at_the_wrong_knot_would_be_seen():
    x = np.array([0.0, 3 / 7, 0.5, 1.0])
    shifted = np.roll(even_hats(np.floor(x * 2**16) / 2**16, 8), 1, axis=1)
    assert not np.array_equal(shifted, hats_by_hand(np.floor(x * 2**16) / 2**16, 8))
    assert np.array_equal(
        even_hats(np.floor(x * 2**16) / 2**16, 8), hats_by_hand(np.floor(x * 2**16) / 2**16, 8)
    )


def lines_of(schema):
    columns = [
        {key: of for key, of in column.items() if key != "knots"}
        for column in schema.to_dict()["columns"]
    ]
    return Schema.from_dict({"columns": columns})


def test_lines_become_rows_with_hats_without_being_encoded_again(tmp_path):
    schema = Schema.from_dict(
        {"columns": {"age": AGE, "k": {"kind": "categorical", "categories": ["a", "b"]}} | LABEL}
    )
    frame = pd.DataFrame({"age": np.arange(71.0), "k": np.resize(["a", "b"], 71), "y": 1})
    lines = dataset_from_arrays(frame, None, schema=lines_of(schema))
    assert curved_schema(lines.schema) == schema
    rows = curved(lines.X, schema)
    assert rows.numeric is lines.X.numeric
    at_once = dataset_from_arrays(frame, None, schema=schema).X
    assert np.array_equal(rows.toarray(), at_once.toarray())
    plain = {"age": AGE} | LABEL
    numbers = dataset_from_arrays(
        frame[["age", "y"]], schema=lines_of(Schema.from_dict({"columns": plain}))
    )
    bent = curved(numbers.X, Schema.from_dict({"columns": plain}))
    assert np.array_equal(bent.toarray()[:, :9], at_once.toarray()[:, :9])
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    convert(path, tmp_path / "rows.dpcore", schema=lines.schema)
    stored = Dataset.from_file(tmp_path / "rows.dpcore", None)
    (piece,) = curved(stored.X, schema).pieces()
    assert np.array_equal(piece.toarray(), at_once.toarray())


@pytest.mark.parametrize(
    "column",
    [
        {"kind": "numeric", "lower": 0, "upper": 1},
        {"kind": "numeric", "lower": 0, "upper": 9, "indicator": True},
        {"kind": "numeric", "bins": [1, 2]},
    ],
)
def test_numbers_that_stay_lines_where_nobody_chose(column):
    schema = Schema.from_dict({"columns": {"x": column} | LABEL})
    assert curved_schema(schema) == schema


def test_a_norm_of_rows_without_hats_leaves_them_their_room():
    schema = Schema.from_dict({"row_norm": 1.25, "columns": lines_of(SCHEMA).to_dict()["columns"]})
    assert curved_schema(schema).row_norm == pytest.approx(np.sqrt(1.25**2 + 1))

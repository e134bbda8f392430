"""Numbers with knots beside their bounds: features, lengths of rows, and the model's file."""

import numpy as np
import pandas as pd
import pytest

from dpcore import Schema, fit, load_model
from dpcore.plugin import InvalidInputError, Problem
from dpcore.plugin.parts import dataset_from_arrays
from dpcore_tables.schemas import with_curves
from dpcore_tables.store import convert

LABEL = {"y": {"kind": "label", "classes": [0, 1]}}
AGE = {"kind": "numeric", "lower": 0, "upper": 70, "knots": 8}
PAY = {"kind": "numeric", "lower": 1, "upper": 128, "scale": "log", "knots": 8, "indicator": True}
SCHEMA = Schema.from_dict({"columns": {"age": AGE, "pay": PAY} | LABEL})
FRAME = pd.DataFrame({"age": [0.0, 15.0, 80.0], "pay": [1.0, 12.0, np.nan], "y": [0, 1, 1]})


def rows_of(schema, frame=FRAME):
    X = dataset_from_arrays(frame, None, schema=schema).X
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def test_a_curve_is_the_number_and_a_hat_for_each_knot():
    names = SCHEMA.feature_names
    assert names[:9] == ("age", *(f"age@{10 * k}" for k in range(8)))
    assert names[9:11] == ("pay", "pay is empty")
    X, steps = rows_of(SCHEMA), 2.0**-Problem.FEATURE_BITS
    hats = np.eye(8)[[0, 1, 7]]
    hats[1, 1:3] = 0.5
    assert np.abs(X[:, 1:9] - hats).max() <= 7 * steps
    assert np.abs(X[:, 0] - [0, 15 / 70, 1]).max() <= steps
    # 12 is at 3.585 of the seven halvings between 1 and 128; an empty cell is at none.
    assert X[1, 11 + 3] == pytest.approx(1 - 0.58496, abs=1e-4)
    assert X[1, 11 + 4] == pytest.approx(0.58496, abs=1e-4)
    assert X[2, 9:19].tolist() == [0, 1, *np.zeros(8)]


@pytest.mark.parametrize("keys", [{}, {"fill": 5.0}, {"indicator": True}, {"scale": "log"}])
def test_no_row_is_longer_than_the_schema_says(keys):
    column = AGE | {"lower": 1} | keys
    schema = Schema.from_dict({"columns": {"age": column} | LABEL})
    assert schema.raw_norm_bound == pytest.approx(np.sqrt(3))
    cells = np.linspace(-1, 80, 500)
    if "fill" in keys or "indicator" in keys:
        cells[::7] = np.nan
    X = rows_of(schema, pd.DataFrame({"age": cells, "y": np.arange(500) % 2}))
    assert np.square(X).sum(axis=1).max() <= 3


def test_a_curve_that_counts_for_a_line_is_one():
    X, at = rows_of(SCHEMA), np.arange(8) / 7
    assert X[:, 1:9] @ at == pytest.approx(X[:, 0], abs=2.0**-14)


def test_the_schema_is_written_as_it_is_read():
    assert Schema.from_dict(SCHEMA.to_dict()) == SCHEMA
    assert Schema.from_toml(SCHEMA.to_toml()) == SCHEMA
    lines = {
        name: {k: v for k, v in c.items() if k != "knots"}
        for name, c in {"age": AGE, "pay": PAY}.items()
    }
    assert with_curves(Schema.from_dict({"columns": lines | LABEL})) == SCHEMA


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"knots": 2}, "3 to 64 knots"),
        ({"knots": 65}, "3 to 64 knots"),
        ({"knots": 8, "upper": 1.0, "lower": 1.0 - 2.0**-53}, "too near each other"),
        ({"knots": 8, "lower": "private", "scale": "log"}, "Expected public bounds"),
        ({"knots": [0, 1]}, "knots or lower and upper"),
        ({"knots": True}, "knots"),
    ],
)
def test_what_makes_no_curve_is_refused(keys, said):
    with pytest.raises(InvalidInputError, match=said):
        Schema.from_dict({"columns": {"age": AGE | keys} | LABEL})


def test_a_model_of_curves_predicts_alike_from_its_file_and_a_store(tmp_path):
    rng = np.random.default_rng(5)
    age, pay = rng.uniform(0, 70, 3000), rng.uniform(1, 128, 3000)
    frame = pd.DataFrame({"age": age, "pay": pay, "y": (np.abs(age - 35) < 15).astype(int)})
    model = fit(frame, schema=SCHEMA, epsilon=50.0, delta=1e-6, seed=1)
    assert "2 numeric columns have curves" in model.status
    odds = model.decision_function(frame)
    assert np.mean((odds > 0) == (frame["y"] == 1)) > 0.9  # 0.57 are of one class
    model.save(tmp_path / "model.json")
    assert np.array_equal(load_model(tmp_path / "model.json").decision_function(frame), odds)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    convert(str(tmp_path / "rows.csv"), str(tmp_path / "rows.dpcore"), schema=SCHEMA)
    stored = fit(str(tmp_path / "rows.dpcore"), epsilon=50.0, delta=1e-6, seed=1)
    assert np.array_equal(stored.w, model.w)


def test_rows_of_a_store_are_scored_by_a_model_with_hats_of_its_own(tmp_path):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"age": rng.uniform(0, 70, 600), "pay": rng.uniform(1, 128, 600)})
    frame["y"] = ((frame.age - 35).abs() < 20).astype(int)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    columns = {name: {k: of for k, of in c.items() if k in ("kind", "lower", "upper")}
               for name, c in (("age", AGE), ("pay", PAY))}  # fmt: skip
    schema = Schema.from_dict({"columns": columns | LABEL})
    store, other = str(tmp_path / "rows.dpcore"), str(tmp_path / "other.dpcore")
    convert(tmp_path / "rows.csv", store, schema)
    options = {"algo": "dp-gd", "params": {"curves": "all"}, "epsilon": 20.0, "delta": 1e-6}
    model = fit(store, seed=1, **options)
    assert model.schema != schema and (model.w[1:9] != 0).any()
    found = model.predict(store)
    assert np.array_equal(found, model.predict(str(tmp_path / "rows.csv")))
    wider = {"age": columns["age"] | {"upper": 71}, "pay": columns["pay"]}
    convert(tmp_path / "rows.csv", other, Schema.from_dict({"columns": wider | LABEL}))
    with pytest.raises(InvalidInputError, match="with another schema"):
        model.predict(other)
    # Those who fit do not get hats that nobody asked for.
    with pytest.raises(InvalidInputError, match="with another schema"):
        fit(store, schema=model.schema, seed=1, **options)

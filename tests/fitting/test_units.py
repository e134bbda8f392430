"""Fits whose guarantee is for units of several rows, from the schema to the model file."""

import json

import numpy as np
import pandas as pd
import pytest

import dpcore
from dpcore.errors import InvalidInputError
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.settings import Settings
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.commands import DataRequest, Run
from dpcore_lab.compare.data_rows import Rows
from dpcore_lab.compare.notes import notes_of
from dpcore_lab.compare.settings import Comparison
from dpcore_tables.statistics import open_session

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
KEYS = {
    "columns": {
        "x": {"kind": "numeric", "lower": 0, "upper": 1},
        "y": {"kind": "label", "classes": ["n", "p"]},
    }
}
UNITS = {"unit": "id", "rows_per_unit": 3}


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    x = rng.random(1200)
    labels = np.where(x + 0.2 * rng.normal(size=x.size) > 0.5, "p", "n")
    return pd.DataFrame({"id": [f"p{i % 240}" for i in range(1200)], "x": x, "y": labels})


@pytest.fixture
def file(frame, tmp_path):
    frame.to_csv(tmp_path / "rows.csv", index=False)
    schema = dpcore.Schema.from_dict({**KEYS, **UNITS})
    (tmp_path / "schema.toml").write_text(schema.to_toml())
    return tmp_path / "rows.csv", tmp_path / "schema.toml"


def test_pure_epsilon_has_an_algorithm_for_units_where_nobody_names_one(frame, file):
    pure = {"epsilon": 4.0, "delta": 0.0}
    fits = [dpcore.fit(frame, schema={**KEYS, **UNITS}, **pure)]
    fits.append(dpcore.fit(frame, schema=KEYS, **UNITS, **pure))
    assert [fit.algo["name"] for fit in fits] == ["privgene"] * 2
    assert dpcore.fit(frame[["x", "y"]], schema=KEYS, **pure).algo["name"] == "objpert"
    path, schema = file
    compared = Comparison(("auto",), (str(path),), (1.0,), delta=0.0, schema=str(schema))
    assert compared.settings("auto", 1.0).units and DataRequest(str(path), schema).has_units
    assert not compared.settings("dp-gd", 1.0).units and not DataRequest(str(path)).has_units
    assert DataRequest(str(path), unit="id").has_units


@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
@pytest.mark.parametrize("algo", ["auto", "dp-agd", "privgene"])
def test_algorithms_of_sums_run_over_units(frame, algo, relation, tmp_path):
    model = dpcore.fit(frame, schema={**KEYS, **UNITS}, algo=algo, epsilon=4.0, relation=relation)
    privacy = model.privacy
    assert privacy["private"] and privacy["epsilon"] == 4.0
    assert "of any one value of 'id'" in privacy["sentence"]
    assert privacy["units"]["rows_per_unit"] == 3
    model.save(tmp_path / "m.json")
    kept = dpcore.load_model(tmp_path / "m.json")
    assert kept.schema.units == model.schema.units and kept.privacy["units"] == privacy["units"]
    # Whose rows are scored does not matter: with the ids, or without them.
    assert np.array_equal(kept.predict(frame), kept.predict(frame.drop(columns="id")))
    report = model.report
    assert report.get("units_train") == (240 if relation == "replace-one" else None)
    assert "n_train" not in report


def test_an_algorithm_of_samples_runs_over_units(frame):
    params = {"steps": 4, "sampling_probability": 0.5}
    model = dpcore.fit(frame, schema={**KEYS, **UNITS}, algo="sgd-adv", epsilon=8.0, params=params)
    assert model.privacy["releases"] == {"count": 1, "gradient": 4}
    assert model.privacy["units"]["rows_per_unit"] == 3


def test_units_may_be_named_beside_the_schema(frame, file):
    path, _ = file
    for rows in (frame, path):
        model = dpcore.fit(rows, schema=KEYS, unit="id", rows_per_unit=2, epsilon=4.0)
        assert model.privacy["units"]["rows_per_unit"] == 2
    with pytest.raises(InvalidInputError, match="beside a schema"):
        dpcore.fit(frame[["x"]].to_numpy(), frame.y == "p", unit="id", rows_per_unit=2)
    with pytest.raises(InvalidInputError, match="A store has the units of the schema"):
        DataRequest("rows.dpcore", unit="id").load(ADD)
    with pytest.raises(InvalidInputError, match="The schema's unit is 'id'"):
        dpcore.fit(frame, schema={**KEYS, **UNITS}, unit="x", rows_per_unit=2)


@pytest.mark.parametrize("algo", ["objpert", "outpert", "rsgd-ar", "nonprivate", "a-ddp"])
def test_algorithms_of_a_theorem_for_one_row_are_refused_with_those_that_fit(frame, algo):
    relation = "replace-one" if algo in ("rsgd-ar", "a-ddp") else "add-or-remove-one"
    with pytest.raises(InvalidInputError, match="units of several rows.*these run.*dp-gd") as told:
        dpcore.fit(frame, schema={**KEYS, **UNITS}, algo=algo, l2=0.01, relation=relation)
    assert not hasattr(told.value, "__notes__")  # nothing was charged


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_the_number_of_rows_is_never_public(file, relation):
    data = DataRequest(str(file[0]), file[1]).load(relation)
    plan = make_plan(Settings(relation=relation.value))
    problem = Run(plan, data.train).ready().problem
    assert (problem.n, problem.n_public, problem.rows_per_unit) == (None, None, 3)
    assert problem.rows_changed == (3 if relation is ADD else 6)
    assert problem.unsure_capacity == problem.capacity


def test_rows_of_a_unit_are_chosen_once_before_rows_are_held_out(file):
    request = DataRequest(str(file[0]), file[1], test_fraction=0.25)
    plan = make_plan(Settings(epsilon=4.0))
    training = Run.train(plan, request)
    assert set(training.diagnostics) >= {"train_loss", "test_accuracy"}
    data = request.load(ADD)
    for part in (data.train, data.test):
        assert np.bincount(part.units).tolist() == [3] * part.n_units
    assert data.train.n_units + data.test.n_units == 240
    seeded = [request.load(ADD, seed=1).train for _ in range(2)]
    assert np.array_equal(seeded[0].y, seeded[1].y)


def test_a_second_file_needs_no_ids(frame, file, tmp_path):
    frame.drop(columns="id").to_csv(tmp_path / "test.csv", index=False)
    data = DataRequest(str(file[0]), file[1], test=tmp_path / "test.csv").load(ADD)
    assert data.test is not None and data.test.n_units == 1200


def test_folds_of_a_comparison_go_by_unit_in_every_process(file):
    comparison = Comparison(("dp-gd",), (str(file[0]),), (1.0,), schema=str(file[1]), folds=4)
    folds = [Rows(comparison, b"k" * 32).fold(str(file[0]), 1) for _ in range(2)]
    for fold in folds:
        assert fold.train.n_units + fold.data.train.take(_not_in(fold)).n_units == 240
    assert np.array_equal(folds[0].train.y, folds[1].train.y)


def _not_in(fold):
    """Return the rows of the data that are not trained on, by their features."""
    trained = {tuple(row) for row in fold.train.X}
    return np.array([tuple(row) not in trained for row in fold.data.train.X])


def test_a_session_of_statistics_counts_units(frame):
    with open_session(
        frame, schema={**KEYS, **UNITS, "rows": 700}, epsilon=1e4, relation="replace-one"
    ) as session:
        assert abs(session.count(share=0.5) - 720) < 10
        statement = session.statement()
    assert statement["n0"] == 700 and "by others (at most 3 of either)" in statement["sentence"]


def test_the_statement_of_rows_is_as_it_was(frame):
    privacy = dpcore.fit(frame.drop(columns="id"), schema=KEYS, epsilon=4.0).privacy
    assert "units" not in privacy and "any one row" in privacy["sentence"]
    assert json.dumps(privacy)


def test_a_note_of_a_comparison_says_what_is_protected():
    row = {"data": "d", "algorithm": "a", "status": "fitted", "unit_of_protection": "one row"}
    assert notes_of([row], []) == []
    unit = row | {"unit_of_protection": "all rows of one value of 'id'"}
    expected = "d: protected, and on one side of a fold: all rows of one value of 'id'."
    assert notes_of([row, unit], []) == [expected]


def test_labels_may_be_given_apart_from_the_frame(frame):
    X, y, schema = frame[["id", "x"]], frame["y"], {**KEYS, **UNITS}
    model = dpcore.fit(X, y, schema=schema, algo="dp-gd", epsilon=4.0, params={"steps": 3})
    assert model.privacy["units"]["rows_per_unit"] == 3
    assert len(model.predict(X)) == len(model.predict(X[["x"]])) == 1200
    opened = open_session(X, y, schema=schema, epsilon=50.0)
    assert abs(opened.count(share=0.5) - 720) < 100


def test_no_rows_of_a_unit_are_refused(frame):
    with pytest.raises(InvalidInputError, match="rows_per_unit=0"):
        dpcore.fit(frame, schema=KEYS, unit="id", rows_per_unit=0)

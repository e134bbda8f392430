"""Kinds of column of a distribution of its own: trained, predicted, exported, described, named."""

from types import SimpleNamespace

import numpy as np
import onnx.reference
import pandas as pd
import pytest
from postal import hooks

from dpcore import Schema, fit, load_model
from dpcore.errors import DpcoreError, InvalidInputError
from dpcore.registry import catalogue
from dpcore_report.onnx.model import graph_bytes
from dpcore_tables.schemas import reference

LABEL = 'y = { kind = "label", classes = ["no", "yes"] }\n'
SCHEMA = '[columns]\ncode = { kind = "postal-code" }\n' + LABEL
CLOCK = '[columns]\nat = { kind = "clock" }\n' + LABEL
ROWS = pd.DataFrame(
    {"code": ["3012", "8001", "8057", "x"] * 50, "y": ["no", "yes", "yes", "no"] * 50}
)


class _Point:
    """An entry point, where the distribution is not installed."""

    name, dist, module = "postal", None, hooks.__name__

    def load(self):
        return hooks


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    points = [*catalogue.metadata.entry_points(group=catalogue.GROUP)]
    if all(point.name != "postal" for point in points):
        points.append(_Point())
    registry = catalogue.Registry.of(points)
    monkeypatch.setattr("dpcore.data.schema.keys.load_registry", lambda kind: registry)
    monkeypatch.setattr(
        "dpcore.data.schema.keys.Registry", SimpleNamespace(in_turn=lambda kind: (registry,))
    )


def fitted(schema, rows=ROWS):
    return fit(
        rows, schema=Schema.from_toml(schema), epsilon=4.0, algo="dp-gd", params={"steps": "9"}
    )


def test_it_is_trained_predicted_described_and_named(tmp_path):
    model = fitted(SCHEMA)
    assert model.feature_names[0] == "code=10xx" and len(model.feature_names) == 90
    assert model.schema.raw_norm_bound == np.sqrt(2.0)
    assert list(model.predict(ROWS[["code"]][:3])) == ["no", "yes", "yes"]
    assert model.privacy["parts_not_from_dpcore"] == ["postal.kinds:Postal"]
    model.save(tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").schema == model.schema
    assert 'kind = "postal-code": a Swiss postal code by its first two digits' in reference()


def test_the_export_has_the_same_margins():
    model = fitted(SCHEMA)
    graph = onnx.reference.ReferenceEvaluator(graph_bytes(model))
    cells = {"code": ROWS[["code"]].to_numpy(dtype=str)}
    margins = graph.run(["log_odds"], cells)[0].ravel()
    np.testing.assert_array_equal(margins, model.decision_function(ROWS[["code"]]))


def test_a_function_of_a_cell_is_trained_and_no_graph():
    rows = pd.DataFrame({"at": ["00:00", "12:30", "23:59"] * 40, "y": ["no", "no", "yes"] * 40})
    model = fitted(CLOCK, rows)
    assert model.privacy["parts_not_from_dpcore"] == ["postal.kinds:Clock"]
    with pytest.raises(InvalidInputError, match="computes no function of a text"):
        graph_bytes(model)


def test_a_cell_without_a_reading_is_a_bad_row_and_not_quoted():
    rows = pd.DataFrame({"at": ["07:30", "27:99"], "y": ["no", "yes"]})
    with pytest.raises(DpcoreError, match="no time of the day, such as 07:30") as told:
        fitted(CLOCK, rows)
    assert "27:99" not in str(told.value)


def test_a_schema_without_the_package_says_which_word_is_unknown(monkeypatch):
    core = catalogue.core_registry()
    monkeypatch.setattr("dpcore.data.schema.keys.load_registry", lambda kind: core)
    monkeypatch.setattr(
        "dpcore.data.schema.keys.Registry", SimpleNamespace(in_turn=lambda kind: (core,))
    )
    with pytest.raises(InvalidInputError, match="no column-kind 'postal-code'.* Known: drop, "):
        Schema.from_toml(SCHEMA)

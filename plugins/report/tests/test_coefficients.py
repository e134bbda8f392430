"""Coefficients in the units of columns, against what a unit more does to a prediction."""

import json
import math
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from dpcore import Schema, fit, load_model
from dpcore.cli import app
from dpcore.errors import InvalidInputError, RegistryError
from dpcore.plugin.parts import Model, PrivacyStatement, load_registry
from dpcore_report.coefficients import summary_of

PRIVACY = PrivacyStatement(
    epsilon=1.0,
    delta=1e-8,
    relation="replace-one",
    accountant="zcdp",
    conversion="tight",
    unit="rho",
    budget=0.01,
    spent=0.009,
    releases={"count": 2},
).to_dict()
COLUMNS = {
    "age": {"kind": "numeric", "lower": 16, "upper": 80, "fill": 30, "indicator": True},
    "pay": {"kind": "numeric", "lower": 1, "upper": 1024, "scale": "log"},
    "day": {"kind": "date", "lower": "2024-01-01", "upper": "2024-03-05", "parts": ["month"]},
    "size": {"kind": "ordinal", "levels": ["s", "m", "l"]},
    "ill": {"kind": "boolean"},
    "town": {"kind": "categorical", "categories": ["Bern", "Genf"], "indicator": True},
    "bin": {"kind": "numeric", "bins": [0, 5]},
    "bent": {"kind": "numeric", "knots": [0, 4, 8]},
    "hash": {"kind": "hashed", "buckets": 2},
    "y": {"kind": "label", "classes": ["no", "yes"]},
}
CROSSES = [{"columns": ["ill", "size"]}]
ROW = {
    **{"age": 30.0, "pay": 8.0, "day": "2024-01-10", "size": "s", "ill": "no", "town": "Bern"},
    **{"bin": -1.0, "bent": 0.0, "hash": "a"},
}


def model(columns=COLUMNS, crosses=CROSSES, classes=1, loss="logistic", **keys):
    schema = Schema.from_dict({"columns": columns, "crosses": crosses, **keys})
    w = np.random.default_rng(3).uniform(-2, 2, size=(classes, schema.n_features))
    return Model(
        w=np.round(w if classes > 1 else w[0], 6),
        schema=schema,
        loss=loss,
        l2=0.0,
        algo={"name": "stub"},
        privacy=PRIVACY,
        ledger=(),
        status="Done.",
        details={},
        versions={},
    )


def found(summary, column, level="", of_class=None):
    (coefficient,) = [
        c
        for c in summary.coefficients
        if (c.column, c.level, c.of_class) == (column, level, of_class)
    ]
    return coefficient


def moved(fitted, changes, row=ROW):
    """Return what a change of cells adds to a row's score."""
    rows = pd.DataFrame([row, {**row, **changes}])
    before, after = fitted.decision_function(rows)
    return after - before


@pytest.mark.parametrize(
    ("column", "after", "unit", "width"),
    [
        ("age", 31.0, "1", 64),
        ("pay", 16.0, "doubling", 10),
        ("day", "2024-01-11", "day", 64),
        ("bent", None, None, None),
    ],
)
def test_a_unit_more_adds_the_coefficient(column, after, unit, width):
    fitted = model()
    if after is None:  # A knot's coefficient is what the column adds there.
        at = [found(fitted.summary(), "bent", f"at {knot}").per_unit for knot in (0, 4, 8)]
        assert moved(fitted, {"bent": 6.0}) == pytest.approx((at[1] + at[2]) / 2 - at[0], abs=1e-3)
        return
    coefficient = found(fitted.summary(), column)
    assert coefficient.unit == unit
    assert moved(fitted, {column: after}) == pytest.approx(coefficient.per_unit, abs=1e-4)
    # Uniform on an interval: variance (width)^2 / 12.
    deviation = width / math.sqrt(12)
    assert coefficient.per_deviation == pytest.approx(coefficient.per_unit * deviation)
    # The twin that takes the coefficient of the encoded feature for that of a unit.
    assert moved(fitted, {column: after}) != pytest.approx(width * coefficient.per_unit, abs=1e-2)


def test_a_step_of_levels_adds_the_coefficient_and_its_crosses():
    fitted = model()
    summary = fitted.summary()
    step = found(summary, "size")
    assert step.unit == "level" and step.per_deviation is not None
    cross = [found(summary, "ill*size", f"false*{size}").per_unit for size in ("s", "m")]
    expected = step.per_unit + cross[1] - cross[0]
    assert moved(fitted, {"size": "m"}) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("column", "after", "levels"),
    [
        ("town", "Genf", ("Bern", "Genf")),
        ("town", "", ("Bern", "is empty")),
        ("bin", 5.0, ("<0", ">=5")),
        ("bin", 2.0, ("<0", "[0,5)")),
    ],
)
def test_another_level_adds_the_difference_of_two_coefficients(column, after, levels):
    fitted = model()
    one, other = (found(fitted.summary(), column, level) for level in levels)
    assert one.unit == "if so" and one.per_deviation is None
    expected = other.per_unit - one.per_unit
    assert moved(fitted, {column: after}) == pytest.approx(expected, abs=1e-4)


def test_a_truth_value_and_an_empty_cell_are_levels():
    fitted = model(crosses=[])
    summary = fitted.summary()
    assert moved(fitted, {"ill": "yes"}) == pytest.approx(found(summary, "ill").per_unit, abs=1e-4)
    empty = found(summary, "age", "is empty")
    assert moved(fitted, {"age": ""}) == pytest.approx(empty.per_unit, abs=1e-4)
    month = found(summary, "day", "month=Feb")
    assert month.unit == "if so" and found(summary, "hash", "#1").unit == "if so"


def test_a_regression_is_in_the_unit_of_its_label():
    columns = {**COLUMNS, "y": {"kind": "label", "lower": 100.0, "upper": 900.0}}
    fitted = model(columns, loss="squared")
    fitted = replace(fitted, w=fitted.w / 16)  # Both predictions are between the bounds.
    coefficient = found(fitted.summary(), "age").per_unit
    assert moved(fitted, {"age": 31.0}) == pytest.approx(coefficient, abs=0.05)
    assert found(fitted.summary(), "intercept").per_unit == fitted.intercept_
    assert (
        fitted.summary()
        .notes[0]
        .endswith("in the unit of 'y', before it is held to the label's bounds.")
    )


def test_the_intercept_is_the_score_of_a_row_at_its_lower_bounds():
    columns = {name: COLUMNS[name] for name in ("pay", "town", "y")}
    fitted = model(columns, crosses=[])
    (score,) = fitted.decision_function(pd.DataFrame([{"pay": 1.0, "town": "elsewhere"}]))
    assert found(fitted.summary(), "intercept").per_unit == pytest.approx(score, abs=1e-6)


def test_every_coefficient_is_there_once_and_of_several_classes_each():
    fitted = model()
    assert len(fitted.summary().coefficients) == fitted.w.size
    columns = {**COLUMNS, "y": {"kind": "label", "classes": ["a", "b", "c"]}}
    wide = model(columns, classes=3, loss="softmax")
    summary = wide.summary()
    assert len(summary.coefficients) == wide.w.size
    of_b = found(summary, "pay", of_class="b")
    scores = wide.decision_function(pd.DataFrame([ROW, {**ROW, "pay": 16.0}]))
    assert scores[1, 1] - scores[0, 1] == pytest.approx(of_b.per_unit, abs=1e-4)


def test_rows_that_are_scaled_down_have_a_note_and_smaller_effects():
    assert not any("scaled down" in note for note in model().summary().notes)
    fitted = model(row_norm=1.0)
    (note,) = [note for note in fitted.summary().notes if "scaled down" in note]
    assert "a row that is no longer than 1 as encoded" in note
    per_unit = found(fitted.summary(), "pay").per_unit
    assert abs(moved(fitted, {"pay": 16.0})) < 0.9 * abs(per_unit)


def test_unnamed_columns_have_no_range():
    label = {"y": COLUMNS["y"]}
    fitted = model(label, crosses=[], width=2, row_norm=512.0)
    summary = fitted.summary()
    assert [c.column for c in summary.coefficients] == ["x1", "x2", "intercept"]
    assert summary.coefficients[0].per_deviation is None
    first, second = fitted.decision_function(np.array([[1.0, 5.0], [2.0, 5.0]]))
    assert second - first == pytest.approx(summary.coefficients[0].per_unit, abs=1e-3)
    assert any("no longer than 512" in note for note in summary.notes)


def test_it_prints_as_a_table_without_empty_columns():
    text = repr(summary_of(model(crosses=[])))
    head, *rows = text.splitlines()
    assert head.split() == ["column", "level", "unit", "per", "unit", "per", "deviation"]
    assert rows[0].startswith("age ")
    assert "the log odds of 'yes'" in text and "They have no intervals" in text


def test_the_command_prints_the_table_and_json(tmp_path):
    path = tmp_path / "m.json"
    model().save(path)
    run = CliRunner().invoke(app, ["summary", str(path)])
    assert run.exit_code == 0
    assert "per deviation" in run.output and "doubling" in run.output
    run = CliRunner().invoke(app, ["summary", str(path), "--json"])
    told = json.loads(run.output)
    assert told == json.loads(json.dumps(load_model(path).summary().to_dict()))
    missing = CliRunner().invoke(app, ["summary", str(tmp_path / "none.json")])
    assert missing.exit_code == 2 and "Cannot read model file" in missing.output


def test_the_table_of_a_sparse_model_leaves_out_zeros_and_has_the_largest_first(tmp_path):
    columns = {f"c{k:04}": {"kind": "numeric", "lower": 0, "upper": 1} for k in range(3000)}
    columns["y"] = COLUMNS["y"]
    wide, w = model(columns, ()), np.zeros(3001)
    w[[2, 1500, 2999, 3000]] = 1.0, -3.0, 2.0, -0.5
    sparse = replace(wide, w=w)
    _, rows = sparse.summary().cells()
    assert [row[0] for row in rows] == ["c1500", "c2999", "c0002", "intercept"]
    sparse.save(tmp_path / "m.json")
    shown = CliRunner().invoke(app, ["summary", str(tmp_path / "m.json")]).output
    assert "2,997 of 3,001 coefficients are zero" in shown and shown.count("\n") < 40
    told = CliRunner().invoke(app, ["summary", str(tmp_path / "m.json"), "--json"])
    names = [each["column"] for each in json.loads(told.output)["coefficients"]]
    assert names == [*list(columns)[:3000], "intercept"]
    w[:1600] = 1.0  # more than half: a model whose table is in the schema's order
    dense = replace(wide, w=w).summary()
    assert len(dense.cells()[1]) == 3001 and "are zero" not in " ".join(dense.notes)


def test_a_model_without_the_package_says_what_to_install(monkeypatch):
    none = type(load_registry())(())
    monkeypatch.setattr("dpcore.registry.step_class.load_registry", lambda kind: none)
    with pytest.raises(
        RegistryError, match=r"intervals\. .* is in dpcore-report: pip install .*\.$"
    ):
        model().predict_interval([])


def test_knots_of_a_logarithmic_scale_are_in_the_unit_of_the_cells():
    pay = {"kind": "numeric", "lower": 1, "upper": 1024, "scale": "log", "knots": 3}
    label = {"kind": "label", "classes": ["no", "yes"]}
    schema = Schema.from_dict({"columns": {"pay": pay, "y": label}})
    rows = pd.DataFrame({"pay": [1.0, 900.0] * 50, "y": ["no", "yes"] * 50})
    fitted = fit(rows, schema=schema, algo="dp-gd", seed=1, params={"steps": 5})
    levels = [each.level for each in fitted.summary().coefficients if each.column == "pay"]
    assert levels == ["", "at 1", "at 32", "at 1024"]


def test_a_summary_is_a_frame_with_a_row_for_each_coefficient():
    fitted = model()
    summary = fitted.summary()
    frame = summary.to_frame()
    assert [*frame.columns] == ["column", "level", "unit", "per_unit", "per_deviation"]
    assert frame["per_unit"].tolist() == [each.per_unit for each in summary.coefficients]
    assert frame["per_deviation"].isna().tolist() == [
        each.per_deviation is None for each in summary.coefficients
    ]
    several = model(
        classes=3, columns=COLUMNS | {"y": {**COLUMNS["y"], "classes": ["a", "b", "c"]}}
    )
    of_classes = several.summary().to_frame()
    assert len(of_classes) == 3 * len(frame) and set(of_classes["of_class"]) == {"a", "b", "c"}
    covariance = (0.01 * np.eye(fitted.w.size)).tolist()
    known = replace(fitted, intervals={"estimate": fitted.w.tolist(), "covariance": covariance})
    with_intervals = known.summary().to_frame()
    assert {"estimate", "error", "low", "high"} < {*with_intervals.columns}
    assert (with_intervals["low"] < with_intervals["high"]).all()


def test_a_summary_is_read_as_a_frame_is():
    summary = model().summary()
    frame = summary.to_frame()
    assert [*summary.columns] == [*summary] == [*frame.columns] and len(summary) == len(frame)
    assert summary["per_unit"] == frame["per_unit"].tolist()
    assert pd.DataFrame(dict(summary)).equals(frame)
    with pytest.raises(InvalidInputError, match="no column 'per unit'. Did you mean per_unit"):
        summary["per unit"]


def test_a_notebook_shows_the_table_and_its_notes_as_text():
    odd = "<script>&\x1b"
    columns = {"town": {"kind": "categorical", "categories": ["Bern", odd]}, "y": COLUMNS["y"]}
    summary = model(columns, crosses=[]).summary()
    text = summary._repr_html_()
    assert "<script" not in text and "\x1b" not in text
    assert r"<td>&lt;script&gt;&amp;\x1b</td>" in text and "<p>A coefficient is" in text
    assert text.count("<tr>") == 1 + len(summary.coefficients) and "<details>" not in text
    # A table of many rows is folded.
    levels = [f"level {k}" for k in range(120)]
    columns["town"] = {"kind": "categorical", "categories": levels}
    assert model(columns, crosses=[]).summary()._repr_html_().startswith("<details><summary>121")


def test_without_pandas_a_frame_is_refused_and_the_rest_is_there(monkeypatch):
    summary = model().summary()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InvalidInputError, match="pip install pandas"):
        summary.to_frame()
    assert "<table>" in summary._repr_html_() and repr(summary)
    assert set(dict(summary)) == {*summary.columns} and max(summary["per_unit"])

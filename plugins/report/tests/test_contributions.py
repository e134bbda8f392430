"""Contributions of columns against the scores of rows."""

import numpy as np
import pandas as pd
import pytest

from dpcore import Schema, fit
from dpcore_report.pictures.contributions import contributions_of

COLUMNS = {
    "age": {"kind": "numeric", "lower": 10, "upper": 80, "knots": 8},
    "pay": {"kind": "numeric", "lower": 1, "upper": 100, "scale": "log", "fill": 1.0},
    "sex": {"kind": "categorical", "categories": ["f", "m"]},
    "kept": {"kind": "boolean"},
}
ROWS = pd.DataFrame(
    {"age": [10.0, 25.0, 80.0], "pay": [1.0, 10.0, 90.0], "sex": ["f", "m", "f"], "kept": True}
)


def model_of(label):
    schema = Schema.from_dict({"columns": COLUMNS | {"y": label}})
    y = np.resize(label.get("classes", [2.5]), 300)
    rows = pd.concat([ROWS] * 100, ignore_index=True).assign(y=y)
    return fit(rows, schema=schema, epsilon=50.0, algo="dp-gd", seed=1, params={"steps": 5})


@pytest.mark.parametrize(
    "label",
    [
        {"kind": "label", "classes": ["no", "yes"]},
        {"kind": "label", "classes": ["a", "b", "c"]},
        {"kind": "label", "lower": 0, "upper": 10},
    ],
)
def test_contributions_add_up_to_the_scores_of_rows(label):
    model = model_of(label)
    total = np.zeros((len(np.atleast_2d(model.w)), len(ROWS)))
    for of in contributions_of(model):
        cells = ROWS[of.column]
        if isinstance(of.cells, tuple):
            place = [of.cells.index(str(cell).lower()) for cell in cells]
            total += of.added[:, place]
        else:
            total += [np.interp(cells, of.cells, added) for added in of.added]
    found = np.atleast_2d(model.decision_function(ROWS).T)
    intercept = np.reshape(model.intercept_, (-1, 1))
    held = np.clip(total + intercept, *(label.get("lower", -np.inf), label.get("upper", np.inf)))
    assert held == pytest.approx(found, abs=0.05 * np.abs(total).max() + 1e-3)


def test_a_truth_value_has_two_levels_and_no_cells_between_them():
    # It was drawn as a line from 0 to 1.
    model = model_of({"kind": "label", "classes": ["no", "yes"]})
    (kept,) = (of for of in contributions_of(model) if of.column == "kept")
    assert kept.cells == ("false", "true")
    own = model.summary().to_frame().set_index("column").loc["kept"].per_unit
    assert kept.added.tolist() == [[0.0, pytest.approx(own, abs=1e-4)]]


def test_a_date_adds_as_a_number_and_by_each_of_its_parts():
    joined = {"kind": "date", "lower": "2020-01-01", "upper": "2021-12-31", "parts": ["weekday"]}
    label = {"kind": "label", "classes": ["no", "yes"]}
    schema = Schema.from_dict({"columns": {"joined": joined, "y": label}})
    days = ["2020-01-01", "2020-07-04", "2021-12-31"]
    rows = pd.DataFrame({"joined": days * 100, "y": ["no", "yes", "yes"] * 100})
    model = fit(rows, schema=schema, epsilon=50.0, algo="dp-gd", seed=1, params={"steps": 5})
    number, weekday = contributions_of(model)
    assert (number.column, weekday.column) == ("joined", "joined.weekday")
    assert weekday.cells == ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
    at = np.array(days, dtype="datetime64[D]").astype(float)
    places = [weekday.cells.index(name) for name in ("Wed", "Sat", "Fri")]
    total = np.interp(at, number.cells, number.added[0]) + weekday.added[0, places]
    assert total + model.intercept_ == pytest.approx(model.decision_function(rows[:3]), abs=1e-3)

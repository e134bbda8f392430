"""Dates in a graph, as days since 1970-01-01, against the model's own reading of them as texts."""

import numpy as np
import onnxruntime
import pandas as pd
import pytest

from dpcore import Schema
from dpcore.plugin.parts import Model
from dpcore_report.onnx import dates
from dpcore_report.onnx.model import graph_bytes

SINCE = np.datetime64("1970-01-01", "D")
ONE_DAY = np.timedelta64(1, "D")
DAY = {"kind": "date", "lower": "1899-12-30", "upper": "2024-03-01"}
BY = {"parts": ["weekday", "year", "month"]}
TWO = {"kind": "label", "classes": ["no", "yes"]}


def model_of(column, **schema):
    schema = Schema.from_dict({"columns": {"x": column, "y": TWO}, **schema})
    w = np.random.default_rng(0).normal(size=schema.w_shape) * 3
    privacy = {"private": True, "why_not_private": [], "sentence": "Nothing."}
    names = {"algo": {}, "versions": {}, "details": {}, "ledger": (), "status": "", "l2": 0.0}
    others = {"loss": "logistic", "multiclass": None, "privacy": privacy}
    return Model(w=w, schema=schema, **others, **names)


def days(seed=4):
    """Return days of all years, at ends of months, and many within a hundred years."""
    rng = np.random.default_rng(seed)
    ends = pd.date_range("1890-01-31", "2030-01-01", freq="MS").to_numpy().astype("datetime64[D]")
    first, last = np.datetime64("0001-01-01", "D"), np.datetime64("9999-12-31", "D")
    wide = rng.integers(int((first - SINCE).astype(int)), int((last - SINCE).astype(int)), 3000)
    edges = [first, last, np.datetime64("1900-02-28"), np.datetime64("2000-02-29"), SINCE]
    near = SINCE + np.arange(-30000, 22000, 7) * ONE_DAY
    found = [ends, ends - ONE_DAY, SINCE + wide * ONE_DAY, near, np.array(edges, "datetime64[D]")]
    return np.concatenate(found)


def against_dates(model, extra=()):
    """Return the margins of the model and of its graph, of dates and of numbers of days."""
    at = days()
    frame = pd.DataFrame({"x": [*map(str, at), *["" for _ in extra]]})
    cells = np.array([*(at - SINCE).astype(np.float64), *extra])
    session = onnxruntime.InferenceSession(graph_bytes(model), providers=["CPUExecutionProvider"])
    return model.decision_function(frame), session.run(["log_odds"], {"x": cells[:, None]})[0][:, 0]


@pytest.mark.some_fast
@pytest.mark.parametrize("parts", [{}, BY, {"parts": ["month"]}], ids=["day", "all", "month"])
@pytest.mark.parametrize(
    "empty", [{}, {"fill": "2020-02-29"}, {"indicator": True}], ids=["refused", "fill", "own"]
)
def test_dates_are_days_since_1970(empty, parts):
    model = model_of({**DAY, **empty, **parts}, missing=["-8", ""])
    expected, found = against_dates(model, [np.nan])
    assert np.isnan(found[-1]) == (not empty)
    np.testing.assert_array_equal(found, expected)
    # Of no day there is no score; the time of a day is left out.
    session = onnxruntime.InferenceSession(graph_bytes(model), providers=["CPUExecutionProvider"])
    odd = np.array([np.inf, -np.inf, 1e300, -719163.0, 2932897.0, 10.75, 10.0, -8.0])
    margins = session.run(["log_odds"], {"x": odd[:, None]})[0][:, 0]
    assert np.isnan(margins[:5]).all() and not np.isnan(margins[5:]).any()
    assert margins[5] == margins[6]


def test_a_month_that_begins_a_day_late_is_found(monkeypatch):
    right = dates._month

    def shifted(graph, days):
        return right(graph, graph.op("Sub", days, 1.0))

    monkeypatch.setattr(dates, "_month", shifted)
    expected, found = against_dates(model_of({**DAY, **BY}))
    assert (expected != found).sum() > 100

"""A ledger of two runs, and a model with intervals and a private evaluation."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpcore import Ledger, Schema, fit
from dpcore_ledger import TableLedger, Terms

COLUMNS = {
    "age": {"kind": "numeric", "lower": 0, "upper": 10},
    "town": {"kind": "categorical", "categories": ["Bern", "Basel"]},
    "seen": {"kind": "date", "lower": "2020-01-01", "upper": "2021-01-01", "parts": ["month"]},
    "y": {"kind": "label", "classes": ["no", "yes"]},
}
BIN = {"from": 0.4, "to": 0.6, "came_true": {"value": 0.5, "low": 0.4, "high": 0.7}}
SWALLOWED = {"from": 0.6, "to": 1.0, "came_true": dict.fromkeys(("value", "low", "high"))}


@pytest.fixture
def model():
    """A model of a number, levels and a date with its months."""
    cells = {"age": [1.0, 9.0], "town": ["Bern", "Basel"], "seen": ["2020-03-01"] * 2}
    rows = pd.DataFrame(cells | {"y": ["no", "yes"]}).sample(100, replace=True, random_state=1)
    schema = Schema.from_dict({"columns": COLUMNS})
    fitted = fit(rows, schema=schema, algo="dp-gd", epsilon=1.0, params={"steps": 1})
    w = np.linspace(-1.0, 2.0, fitted.w.size)
    intervals = {"estimate": (w + 0.1).tolist(), "covariance": (0.01 * np.eye(w.size)).tolist()}
    evaluation = {"calibration": [BIN, SWALLOWED]}
    return replace(fitted, w=w, intervals=intervals, evaluation=evaluation)


@pytest.fixture
def unnamed():
    """A model of an unnamed feature, without an evaluation."""
    return fit([[0.0], [1.0]] * 50, [0, 1] * 50, classes=(0, 1), algo="dp-gd", epsilon=1.0)


@pytest.fixture
def ledger(tmp_path):
    """The path of a ledger of two runs of an analyst whose name no picture has."""
    path = tmp_path / "l.json"
    TableLedger.create(path, Terms.of(2.0, 1e-6)).close()
    X, y = np.resize([[0.0], [1.0]], (100, 1)), np.resize([0, 1], 100)
    for _ in range(2):
        given = {"params": {"steps": 1}, "ledger": Ledger(str(path), analyst="Zoe")}
        fit(X, y, classes=(0, 1), bounds=(0, 1), algo="dp-gd", epsilon=0.5, **given)
    return path

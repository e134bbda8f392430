"""How often intervals are given: said, or refused, before anything is charged."""

import csv
import logging
from pathlib import Path

import numpy as np
import pytest

from dpcore import Intervals, fit
from dpcore.errors import InvalidInputError
from dpcore.plugin.parts import LocalEngine
from dpcore_report.intervals import forecast

pytestmark = pytest.mark.filterwarnings("ignore::dpcore.errors.DpcoreWarning")
RESULTS = Path(__file__).parents[4] / "bench" / "results" / "interval_forecast.csv"


def fitted(epsilon, **others):
    rng = np.random.default_rng(0)
    X = rng.random((4000, 2))
    y = (rng.random(4000) < X[:, 0]).astype(int)
    public = {"classes": (0, 1), "bounds": (0, 1), "row_norm": None, "n0": 4000}
    asked = {"algo": "dp-gd", "params": {"steps": 5}, "also": [Intervals(0.4)]}
    return fit(X, y, epsilon=epsilon, delta=1e-6, **{**public, **asked, **others})


def test_a_run_that_would_hardly_get_any_is_refused_before_the_rows_are_asked(monkeypatch):
    def answer(*_):
        raise AssertionError("The rows were asked.")

    monkeypatch.setattr(LocalEngine, "answer", answer)
    with pytest.raises(InvalidInputError, match=r"columns, 0% got them\. .*anyway=True"):
        fitted(0.05)


def test_it_is_made_where_it_is_told_to():
    model = fitted(0.05, also=[Intervals(0.4, anyway=True)])
    assert "why_not" in model.intervals


def test_nothing_is_said_where_public_facts_do_not_tell():
    assert fitted(0.05, n0=None).intervals is not None
    # An l2 term above the noise: the rows do not decide.
    assert "estimate" in fitted(0.5, l2=10.0).intervals


def test_a_run_says_how_often_such_fits_get_some(caplog):
    with caplog.at_level(logging.INFO, logger="dpcore"):
        fitted(30.0)
    assert any("93% got them" in record.message for record in caplog.records)


def test_the_shares_are_those_that_were_measured():
    lines = RESULTS.read_text().splitlines()
    rows = csv.DictReader(line for line in lines if not line.startswith("# "))
    cells = [(float(row["clearness"]), float(row["with_intervals"])) for row in rows]
    ends = [least for least, _ in forecast._SHARES[1:]] + [np.inf]
    for (least, share), end in zip(forecast._SHARES, ends, strict=True):
        found = [given for value, given in cells if least <= value < end]
        assert share == pytest.approx(np.mean(found), abs=0.005) and len(found) >= 70

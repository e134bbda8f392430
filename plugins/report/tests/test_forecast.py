"""Forecasts turned round: the epsilon or the rows at which a share is kept."""

import math
import re
import warnings

import numpy as np
import pandas as pd
import pytest

from dpcore import fit
from dpcore.errors import InvalidInputError
from dpcore.plugin import Settings
from dpcore_report.forecast import Forecast

FORECAST = Forecast(Settings(), 30)


def test_rows_and_epsilon_are_where_the_share_is_kept_first():
    rows = FORECAST.rows_for(0.7, 0.5)
    assert FORECAST.kept(0.5, math.ceil(rows)) >= 0.7 > FORECAST.kept(0.5, math.floor(rows * 0.98))
    epsilon = FORECAST.epsilon_for(0.7, 5000)
    assert FORECAST.kept(epsilon, 5000) >= 0.7 > FORECAST.kept(epsilon * 0.98, 5000)


def test_more_rows_a_larger_epsilon_and_fewer_columns_keep_more():
    kept = FORECAST.kept(0.3, 3000)
    assert FORECAST.kept(0.3, 6000) > kept < FORECAST.kept(0.6, 3000)
    assert Forecast(Settings(), 60).kept(0.3, 3000) < kept
    assert Forecast(Settings(relation="replace-one"), 30).kept(0.3, 3000) < kept


@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
@pytest.mark.parametrize(("loss", "kind"), [("logistic", "class"), ("ridge", "number")])
def test_units_of_several_rows_have_the_forecast_that_their_run_has(relation, loss, kind):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"who": np.arange(400) // 4, "x": rng.random(400), "z": rng.random(400)})
    frame["y"] = rng.integers(0, 2, 400)
    label = {"classes": [0, 1]} if kind == "class" else {"lower": 0, "upper": 1}
    number = {"kind": "numeric", "lower": 0, "upper": 1}
    columns = {"x": number, "z": number, "y": {"kind": "label", **label}}
    needed = {}
    for k in (None, 4):
        keys = {} if k is None else {"unit": "who", "rows_per_unit": k}
        asked = dict(schema={**keys, "rows": 400, "columns": columns}, loss=loss, epsilon=0.05)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fit(frame if k else frame.drop(columns="who"), relation=relation, seed=1, **asked)
        told = " ".join(str(each.message) for each in caught)
        (found,) = re.findall(r"about ([\d,]+) rows are needed", told)
        needed[k] = int(found.replace(",", ""))
        forecast = Forecast(Settings(loss=loss, relation=relation), 3, k)
        exact = forecast.utility(0.05, 400).rows_needed
        assert exact <= needed[k] < 1.1 * exact  # two digits, rounded up
    # A forecast for one row is that of another run: the twin.
    assert needed[4] == pytest.approx(4 * needed[None], rel=0.1)


def test_several_classes_have_a_range_and_two_that_many_columns():
    softmax = Settings(loss="softmax")
    told = Forecast(softmax, 30, classes=6).utility(1.0, 3000)
    low, high = told.between
    assert 0 < low < told.kept < high < 1
    assert told.kept == pytest.approx(Forecast(softmax, 60, classes=3).kept(1.0, 3000))
    assert Forecast(softmax, 30, classes=12).kept(1.0, 3000) < told.kept


@pytest.mark.parametrize("loss", ["logistic", "ridge"])
def test_steps_and_rows_held_out_are_what_a_fit_does_not_have(loss):
    settings = Settings(loss=loss)
    whole = Forecast(settings, 30)
    less = Forecast(settings, 30, beside=0.36)  # leaves 0.8 of mu
    assert less.utility(0.5, 5000).rows_needed == pytest.approx(
        whole.utility(0.5, 5000).rows_needed / 0.8, abs=2
    )
    held = Forecast(settings, 30, held_out=0.2)
    assert held.kept(0.5, 5000) == pytest.approx(whole.kept(0.5, 4000))
    assert less.kept(0.5, 5000) == pytest.approx(whole.kept(0.5, 4000), abs=1e-3)
    told = held.asked | less.asked
    assert (told["held_out"], told["beside"]) == (0.2, 0.36)
    for given in ({"beside": 1.0}, {"held_out": -0.1}, {"classes": 1}):
        with pytest.raises(InvalidInputError, match="Expected"):
            Forecast(settings, 30, **given)


def test_a_share_that_no_size_keeps_is_infinite():
    assert FORECAST.rows_for(1.5, 1.0) == FORECAST.epsilon_for(1.5, 1000) == math.inf


@pytest.mark.parametrize(
    ("forecast", "rows", "text"),
    [
        (Forecast(Settings(loss="quantile"), 30), 100, "no forecast for the loss quantile"),
        (Forecast(Settings(delta=0.0), 30), 100, "delta > 0"),
        (FORECAST, 0, "Expected rows=0"),
    ],
)
def test_what_has_no_forecast_is_refused(forecast, rows, text):
    with pytest.raises(InvalidInputError, match=text):
        forecast.kept(1.0, rows)
    with pytest.raises(InvalidInputError, match="features=0"):
        Forecast(Settings(), 0)
    with pytest.raises(InvalidInputError, match="rows_per_unit=0"):
        Forecast(Settings(), 30, 0)

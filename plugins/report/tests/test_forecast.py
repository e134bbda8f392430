"""Forecasts turned round: the epsilon or the rows at which a share is kept."""

import math

import pytest

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


def test_a_share_that_no_size_keeps_is_infinite():
    assert FORECAST.rows_for(1.5, 1.0) == FORECAST.epsilon_for(1.5, 1000) == math.inf


@pytest.mark.parametrize(
    ("forecast", "rows", "text"),
    [
        (Forecast(Settings(loss="quantile"), 30), 100, "no forecast for the loss quantile"),
        (Forecast(Settings(loss="softmax"), 30), 100, "no forecast for the loss softmax"),
        (Forecast(Settings(delta=0.0), 30), 100, "delta > 0"),
        (FORECAST, 0, "Expected rows=0"),
    ],
)
def test_what_has_no_forecast_is_refused(forecast, rows, text):
    with pytest.raises(InvalidInputError, match=text):
        forecast.kept(1.0, rows)
    with pytest.raises(InvalidInputError, match="features=0"):
        Forecast(Settings(), 0)

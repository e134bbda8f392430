"""Estimators whose guarantee is for units of several rows."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer

from dpcore.errors import InvalidInputError
from dpcore_sklearn import (
    PrivateLogisticRegression,
    PrivateRidge,
    PublicScaler,
    make_pipeline,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*fits in this process")
COLUMNS = {
    "x": {"kind": "numeric", "lower": 0, "upper": 1},
    "y": {"kind": "label", "classes": ["n", "p"]},
}
UNITS = {"unit": "id", "rows_per_unit": 3}
CLASSES = {"bounds": {"x": (0, 1)}, "classes": ("n", "p")}
WAYS = {
    "a schema's keys": {"schema": {"columns": COLUMNS, **UNITS}},
    "beside a schema": {"schema": {"columns": COLUMNS}, **UNITS},
    "beside bounds": {**CLASSES, **UNITS},
}
X = np.random.default_rng(0).random(1200)
FRAME = pd.DataFrame({"id": [f"p{i % 240}" for i in range(1200)], "x": X})
LABELS = np.where(X > 0.5, "p", "n")


@pytest.mark.parametrize("way", WAYS)
def test_the_column_of_ids_is_no_feature(way):
    fitted = PrivateLogisticRegression(epsilon=4.0, **WAYS[way]).fit(FRAME, LABELS)
    privacy = fitted.model_.privacy
    assert "all rows of a value of 'id'" in privacy["sentence"]
    assert privacy["units"]["rows_per_unit"] == 3 and privacy["private"]
    assert fitted.n_features_in_ == 1 and fitted.feature_names_in_.tolist() == ["x"]
    assert fitted.model_.feature_names_in_.tolist() == ["x"] and fitted.coef_.shape == (1, 1)
    with_ids, without = fitted.predict(FRAME), fitted.predict(FRAME[["x"]])
    assert with_ids.tolist() == without.tolist() and with_ids.shape == (1200,)
    assert fitted.score(FRAME[["x"]], LABELS) == fitted.score(FRAME, LABELS)


@pytest.mark.parametrize("kind", [pl.from_pandas, pa.Table.from_pandas])
def test_other_frames_are_those_of_pandas(kind):
    made = PrivateLogisticRegression(epsilon=4.0, random_state=3, **CLASSES, **UNITS)
    own, other = made.fit(FRAME, LABELS).coef_, clone(made).fit(kind(FRAME), LABELS)
    assert np.array_equal(own, other.coef_)
    assert other.predict(kind(FRAME)).tolist() == other.predict(FRAME[["x"]]).tolist()
    assert other.feature_names_in_.tolist() == ["x"]


def test_parameters_are_kept_in_clones():
    made = PrivateRidge(bounds={"x": (0, 1)}, target_bounds=(0, 1), **UNITS)
    assert made.get_params() == clone(made).get_params()
    assert made.get_params().items() >= UNITS.items()
    fitted = clone(made).set_params(rows_per_unit=2).fit(FRAME, X)
    assert fitted.model_.privacy["units"]["rows_per_unit"] == 2


def test_a_pipeline_hands_the_ids_on():
    columns = [("n", PublicScaler(bounds={"x": (0, 1)}), ["x"])]
    last = PrivateLogisticRegression(epsilon=4.0, **CLASSES, **UNITS)
    with pytest.raises(InvalidInputError, match=r"set_output\(transform='pandas'\)"):
        make_pipeline(ColumnTransformer(columns), last).fit(FRAME, LABELS)
    handed_on = ColumnTransformer(
        [*columns, ("id", "passthrough", ["id"])], verbose_feature_names_out=False
    )
    pipe = make_pipeline(handed_on.set_output(transform="pandas"), last).fit(FRAME, LABELS)
    assert pipe[-1].model_.privacy["units"]["rows_per_unit"] == 3
    assert pipe[-1].feature_names_in_.tolist() == ["x"] and pipe.predict(FRAME).shape == (1200,)


@pytest.mark.parametrize(
    ("changes", "rows", "error", "message"),
    [
        ({}, FRAME[["x"]], InvalidInputError, r"'id' of ids.*\('id', 'passthrough', \['id'\]\)"),
        ({"rows_per_unit": None}, FRAME, InvalidInputError, "rows_per_unit"),
        ({"unit": None}, FRAME[["x"]], InvalidInputError, "unit"),
        (
            {"bounds": (0, 1)},
            FRAME[["x"]].to_numpy(),
            InvalidInputError,
            "no frame with the column .id. of ids",
        ),
        ({"bounds": {"id": (0, 1), "x": (0, 1)}}, FRAME, InvalidInputError, "id"),
    ],
)
def test_what_does_not_go_together_is_refused(changes, rows, error, message):
    made = PrivateLogisticRegression(**{**CLASSES, **UNITS, **changes})
    with pytest.raises(error, match=message):
        made.fit(rows, LABELS)

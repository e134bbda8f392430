"""Frames of polars and pyarrow in estimators and transformers: those of pandas, names included."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import DataConversionWarning

from dpcore.errors import DataError
from dpcore_sklearn import (
    PrivateLogisticRegression,
    PrivateRidge,
    PublicEncoder,
    PublicScaler,
    make_pipeline,
)

PANDAS = pd.DataFrame({"age": [10.0, 50.0, 90.0] * 40, "city": ["Bern", "Basel", "Genf"] * 40})
LABELS = pd.Series(["no", "yes", "no"] * 40)
OTHERS = {"polars": pl.from_pandas, "arrow": lambda frame: pa.Table.from_pandas(frame)}
COLUMNS = {"bounds": {"age": (0, 100)}, "categories": {"city": ["Bern", "Basel"]}}
SCHEMA = {
    "columns": {
        "age": {"kind": "numeric", "lower": 0, "upper": 100},
        "city": {"kind": "categorical", "categories": ["Bern", "Basel"]},
        "hired": {"kind": "label", "classes": ["no", "yes"]},
    }
}
PUBLIC = [{**COLUMNS, "classes": ("no", "yes")}, {"schema": SCHEMA}]


def labels_of(kind):
    return {"polars": pl.Series(LABELS.tolist()), "arrow": pa.chunked_array([LABELS.tolist()])}[
        kind
    ]


@pytest.mark.filterwarnings("ignore:.*fits in this process")
@pytest.mark.parametrize("public", PUBLIC, ids=["bounds", "schema"])
@pytest.mark.parametrize("kind", OTHERS)
def test_an_estimator_takes_them_as_frames(kind, public):
    made = PrivateLogisticRegression(**public, random_state=3)
    own = clone(made).fit(PANDAS, LABELS)
    frame, labels = OTHERS[kind](PANDAS), labels_of(kind)
    other = made.fit(frame, labels)
    assert other.feature_names_in_.tolist() == ["age", "city"]
    assert np.array_equal(other.coef_, own.coef_)
    assert other.model_.privacy == own.model_.privacy
    assert other.model_.privacy["typed_by"] == "frame"
    assert other.predict(frame).tolist() == own.predict(PANDAS).tolist()
    assert other.predict(PANDAS).tolist() == own.predict(frame).tolist()
    assert other.score(frame, labels) == own.score(PANDAS, LABELS)
    with pytest.raises(ValueError, match="feature names"):
        other.predict(frame.select(["city", "age"]))


@pytest.mark.filterwarnings("ignore:.*fits in this process")
@pytest.mark.parametrize("kind", OTHERS)
def test_classes_and_targets_of_them(kind):
    frame = OTHERS[kind](PANDAS[["age"]])
    seen = PrivateLogisticRegression(bounds=(0, 100), classes="from-labels")
    assert seen.fit(frame, labels_of(kind)).classes_.tolist() == ["no", "yes"]
    target = OTHERS[kind](PANDAS[["age"]])
    ridge = PrivateRidge(bounds=(0, 100), target_bounds=(0, 100))
    with pytest.warns(DataConversionWarning):
        ridge.fit(frame, target)
    with pytest.raises(DataError, match="y of 1 dimension, found 2"):
        ridge.fit(frame, OTHERS[kind](PANDAS))


@pytest.mark.parametrize("kind", OTHERS)
def test_transformers_take_them(kind):
    frame = OTHERS[kind](PANDAS)
    for transformer, column in (
        (PublicScaler(bounds={"age": (0, 100)}), "age"),
        (PublicEncoder(categories={"city": ["Bern", "Basel"]}), "city"),
    ):
        own = transformer.fit_transform(PANDAS[[column]])
        assert np.array_equal(
            clone(transformer).fit(frame.select([column])).transform(frame.select([column])), own
        )
        assert transformer.feature_names_in_.tolist() == [column]


@pytest.mark.filterwarnings("ignore:.*fits in this process")
def test_a_pipeline_of_polars():
    frame = pl.from_pandas(PANDAS)
    columns = make_column_transformer(
        (PublicScaler(bounds={"age": (0, 100)}), ["age"]),
        (PublicEncoder(categories={"city": ["Bern", "Basel"]}), ["city"]),
    )
    model = PrivateLogisticRegression(bounds=(0, 1), classes=("no", "yes"))
    pipe = make_pipeline(columns, model).fit(frame, labels_of("polars"))
    assert pipe.predict(frame).shape == (120,)


def test_a_lazy_frame_is_refused():
    with pytest.raises(DataError, match="pass frame.collect"):
        PrivateRidge(bounds=(0, 1), target_bounds=(0, 1)).fit(pl.from_pandas(PANDAS).lazy(), LABELS)

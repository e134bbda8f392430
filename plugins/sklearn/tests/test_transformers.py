"""Transformers treat each cell by itself, as a schema does, and learn nothing."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer

from dpcore import Schema
from dpcore.data.arrays import features_from_arrays
from dpcore.errors import DataError, InvalidInputError
from dpcore_sklearn import PublicEncoder, PublicScaler

FRAME = pd.DataFrame({"age": [17, 50.5, 200], "city": ["Basel", "Genf", None]})
BOUNDS, CITIES = {"age": (17, 117)}, {"city": ["Bern", "Basel"]}


def test_numbers_are_clamped_and_scaled():
    scaler = PublicScaler(bounds=BOUNDS).fit(FRAME[["age"]])
    assert scaler.transform(FRAME[["age"]]).tolist() == [[0.0], [0.335], [1.0]]
    assert scaler.get_feature_names_out().tolist() == ["age"]
    assert PublicScaler(bounds=(0, [1, 2])).fit_transform([[3, 1]]).tolist() == [[1.0, 0.5]]


def test_categories_are_features_and_others_none():
    encoder = PublicEncoder(categories=CITIES).fit(FRAME[["city"]])
    assert encoder.transform(FRAME[["city"]]).tolist() == [[0, 1], [0, 0], [0, 0]]
    assert encoder.get_feature_names_out().tolist() == ["city=Bern", "city=Basel"]
    both = PublicEncoder(categories=[["a", "b"], [1, 2.5]])
    assert both.fit_transform([["b", 2.5], ["c", 1.0]]).tolist() == [[0, 1, 0, 1], [0, 0, 1, 0]]
    assert both.get_feature_names_out().tolist() == ["x1=a", "x1=b", "x2=1", "x2=2.5"]
    assert both.get_feature_names_out(["u", "v"]).tolist() == ["u=a", "u=b", "v=1", "v=2.5"]


@pytest.mark.parametrize("categories", [{"city": "A1"}, ["A1"], "A", {"city": {"A": 1}}, [5]])
def test_categories_that_are_no_list_are_refused(categories):
    with pytest.raises(InvalidInputError, match="categories of column 'city' to be a list of publ"):
        PublicEncoder(categories=categories).fit(FRAME[["city"]])


def test_the_encoding_is_that_of_a_schema():
    columns = {
        "age": {"kind": "numeric", "lower": 17, "upper": 117},
        "city": {"kind": "categorical", "categories": CITIES["city"]},
        "y": {"kind": "label", "classes": [0, 1]},
    }
    encoded = features_from_arrays(
        FRAME, Schema.from_dict({"columns": columns, "intercept": False})
    )[0]
    both = ColumnTransformer(
        [
            ("s", PublicScaler(bounds=BOUNDS), ["age"]),
            ("e", PublicEncoder(categories=CITIES), ["city"]),
        ]
    ).fit_transform(FRAME)
    # A model's features are truncated to a grid.
    assert np.allclose(both, encoded.toarray(), atol=2.0**-15)


@pytest.mark.parametrize(
    ("transformer", "column"),
    [(PublicScaler(bounds=BOUNDS), "age"), (PublicEncoder(categories=CITIES), "city")],
)
def test_they_learn_nothing_from_rows(transformer, column):
    one = clone(transformer).fit(FRAME[[column]])
    other = clone(transformer).fit(FRAME[[column]].iloc[:0])
    assert pickle.dumps(one) == pickle.dumps(other)
    assert {name for name in vars(one) if name.endswith("_")} == {
        "feature_names_in_",
        "n_features_in_",
    }
    alone = [one.transform(FRAME[[column]].iloc[[i]]) for i in range(3)]
    assert np.array_equal(np.vstack(alone), other.transform(FRAME[[column]]))


def test_frames_come_out_where_asked_for():
    for transformer, column in (
        (PublicScaler(bounds=BOUNDS), "age"),
        (PublicEncoder(categories=CITIES), "city"),
    ):
        out = transformer.set_output(transform="pandas").fit_transform(FRAME[[column]])
        assert out.columns.tolist() == transformer.get_feature_names_out().tolist()
        assert out.index.equals(FRAME.index)


@pytest.mark.parametrize(
    ("transformer", "X", "message"),
    [
        (PublicScaler(), [[1]], "Expected public bounds"),
        (PublicScaler(bounds=(0, [1, 2])), [[1]], "one for each of 1 columns"),
        (PublicEncoder(), [["a"]], "Expected public categories of each column"),
        (PublicEncoder(categories=[["a"]]), [["a", "b"]], "each of 2 columns, found 1"),
        (PublicEncoder(categories={"x": ["a"]}), [["a"]], "No column 'x' for categories"),
        (PublicEncoder(categories={"x1": ["a"]}), [["a", "b"]], "'x2' has neither bounds nor"),
    ],
)
def test_parameters_that_do_not_fit_are_refused_before_any_cell(transformer, X, message):
    with pytest.raises(InvalidInputError, match=message):
        transformer.fit(X)


@pytest.mark.parametrize("cell", [np.nan, np.inf, "Xq-secret", None])
def test_a_cell_that_is_no_number_is_refused_without_its_value(cell):
    scaler = PublicScaler(bounds=(0, 1)).fit([[0.5]])
    with pytest.raises(DataError, match="column 'x1': a cell is NaN, infinite") as caught:
        scaler.transform([[0.5], [cell]])
    assert "secret" not in str(caught.value)


def test_an_empty_cell_is_what_the_fill_says():
    cells = [[0.5, 30], [None, ""], [np.nan, " "]]
    out = PublicScaler(bounds=([0, 20], [1, 40]), fill={"x2": 90, "x1": 0.25}).fit_transform(cells)
    assert out.tolist() == [[0.5, 0.5], [0.25, 1], [0.25, 1]]
    same = PublicScaler(bounds=(0, 1), fill=0.25).fit(cells)
    assert same.transform(cells)[1].tolist() == [0.25, 0.25]
    with pytest.raises(DataError, match=r"a cell is NaN, infinite.*PublicScaler\(fill="):
        same.transform([[0.5, 0.5], ["old", 1]])


@pytest.mark.parametrize(
    ("fill", "message"),
    [
        ("a", "Expected fill of column 'x1' to be a finite number"),
        (np.inf, "Expected fill of column 'x1' to be a finite number"),
        ({"x9": 1}, "No column 'x9' for fill"),
    ],
)
def test_a_fill_is_checked_before_any_cell(fill, message):
    with pytest.raises(InvalidInputError, match=message):
        PublicScaler(bounds=(0, 1), fill=fill).fit([[1]])


def test_categories_as_text_are_not_met_by_numbers():
    # 2139 may have been "02139" in the file.
    encoder = PublicEncoder(categories=[["02139", "10001"]]).fit(np.array([[2139]]))
    with pytest.raises(DataError, match="what is listed for it is text"):
        encoder.transform(np.array([[2139]]))

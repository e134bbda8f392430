"""Frames of pandas, polars, pyarrow, and of anything that speaks Arrow: the rows of a text file."""

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpcore import Schema, fit
from dpcore.data.arrays import features_from_arrays
from dpcore.errors import DataError, InvalidInputError
from dpcore.plugin.parts import Dataset, dataset_from_arrays
from dpcore_tables.schemas.template import schema_template

SCHEMA = Schema.from_toml("""
[columns]
age = { kind = "numeric", lower = 0, upper = 100, indicator = true }
zip = { kind = "hashed", buckets = 8 }
town = { kind = "categorical", categories = ["Bern", "Basel"] }
born = { kind = "date", lower = 1950-01-01, upper = 2010-12-31, parts = ["month"] }
flag = { kind = "boolean" }
y = { kind = "label", classes = ["false", "true"] }
""")
COLUMNS = {
    "age": [25.0, None, 50.0],
    "zip": ["02139", "K1A", "02139"],
    "town": ["Bern", "Genf", None],
    "born": [dt.date(1980, 6, 15), dt.date(1940, 1, 1), dt.date(2000, 12, 31)],
    "flag": [True, False, True],
    "y": [True, False, True],
}


class Stream:
    """A table that says nothing of itself but its stream of Arrow."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def viewed(table):
    """Return the table with its text as polars hands it out: views, and dictionaries of them."""
    town = table["town"].cast(pa.string_view()).dictionary_encode()
    place = table.schema.get_field_index("zip")
    table = table.set_column(place, "zip", table["zip"].cast(pa.string_view()))
    return table.set_column(table.schema.get_field_index("town"), "town", town)


TABLE = pa.table(COLUMNS)
FRAMES = {
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "a table": lambda: TABLE,
    "a batch": lambda: TABLE.to_batches()[0],
    "a reader": lambda: TABLE.to_reader(max_chunksize=1),
    "a stream": lambda: Stream(TABLE),
    "views": lambda: Stream(viewed(TABLE)),
}


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    path = tmp_path_factory.mktemp("frames") / "f.csv"
    pd.DataFrame(COLUMNS).to_csv(path, index=False)
    return Dataset.from_file(path, SCHEMA)


@pytest.mark.parametrize("name", FRAMES)
def test_every_frame_has_the_rows_of_the_text_file(name, expected):
    data = dataset_from_arrays(FRAMES[name](), schema=SCHEMA)
    assert np.array_equal(data.X.toarray(), expected.X.toarray())
    assert data.y.tolist() == expected.y.tolist() and data.typed_by == "frame"
    X, _ = features_from_arrays(FRAMES[name](), SCHEMA)
    assert np.array_equal(X.toarray(), expected.X.toarray())


def test_polars_has_the_rows_of_the_text_file(expected):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(COLUMNS).with_columns(polars.col("town").cast(polars.Categorical))
    nan = frame.with_columns(polars.col("age").fill_null(float("nan")))
    for some in (frame, nan):
        X = dataset_from_arrays(some, schema=SCHEMA).X.toarray()
        assert np.array_equal(X, expected.X.toarray())
    apart = dataset_from_arrays(frame.drop("y"), frame["y"], schema=SCHEMA)
    assert apart.y.tolist() == expected.y.tolist()
    assert schema_template(frame, "y") == schema_template(TABLE, "y")


@pytest.mark.parametrize("labels", [TABLE["y"], TABLE["y"].combine_chunks(), [True, False, True]])
def test_labels_of_arrow_beside_a_frame(labels, expected):
    data = dataset_from_arrays(TABLE.drop_columns("y"), labels, schema=SCHEMA)
    assert data.y.tolist() == expected.y.tolist()
    with pytest.raises(InvalidInputError, match="leave y out"):
        dataset_from_arrays(TABLE, labels, schema=SCHEMA)


def test_a_fit_of_a_stream_predicts_truth_values():
    model = fit(FRAMES["a reader"](), schema=SCHEMA, epsilon=5.0)
    assert model.classes == (False, True)
    assert model.predict(Stream(TABLE)).tolist() == model.predict(FRAMES["pandas"]()).tolist()
    assert "given the frame's column types" in model.privacy["sentence"]


def test_streams_that_are_no_frames_are_refused():
    with pytest.raises(DataError, match="no table of named columns"):
        dataset_from_arrays(Stream(TABLE["age"]), schema=SCHEMA)
    needed = "A frame needs a schema.* Estimators with scikit-learn's interface take bounds"
    with pytest.raises(InvalidInputError, match=needed):
        dataset_from_arrays(TABLE)
    with pytest.raises(DataError, match="the frame: no column 'zip'"):
        dataset_from_arrays(TABLE.drop_columns("zip"), schema=SCHEMA)
    with pytest.raises(DataError, match="column 'born' is of type int64, and its kind is date"):
        numbers = TABLE.set_column(3, "born", pa.array([1, 2, 3]))
        dataset_from_arrays(numbers, schema=SCHEMA)
    with pytest.raises(DataError, match="the frame, row 2, column 'age'.*set fill = VALUE"):
        columns = [c.to_dict() | {"name": c.name} for c in SCHEMA.columns]
        del columns[0]["indicator"]
        dataset_from_arrays(TABLE, schema=Schema.from_dict({"columns": columns}))


def test_the_rows_of_a_dask_frame_are_not_at_hand():
    class Elsewhere(pd.DataFrame):
        def __dask_graph__(self):
            return {}

    with pytest.raises(DataError, match=r"of a Dask frame are not at hand: pass frame.compute\(\)"):
        features_from_arrays(Elsewhere(COLUMNS), SCHEMA)

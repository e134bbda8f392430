"""Frames that are no table of cells: DataError or InvalidInputError, and nothing is spent."""

import datetime as dt

import polars as pl
import pyarrow as pa
import pytest

from dpcore import fit
from dpcore.errors import DataError
from dpcore.plugin.parts import ChargeLog

SCHEMA = {
    "columns": {
        "age": {"kind": "numeric", "lower": 0, "upper": 100},
        "town": {"kind": "categorical", "categories": ["Bern", "Basel"]},
        "y": {"kind": "label", "classes": ["no", "yes"]},
    }
}
TABLE = {"age": [1, 2], "town": ["Bern", "Basel"], "y": ["no", "yes"]}
ODD = {
    "lists": pl.Series([[1], [2]]),
    "structs": pl.Series([{"a": 1}, {"a": 2}]),
    "times": pl.Series([dt.time(1), dt.time(2)]),
    "spans": pl.Series([dt.timedelta(1), dt.timedelta(2)]),
    "arrays": pl.Series([[1], [2]], dtype=pl.Array(pl.Int64, 1)),
    "objects": pl.Series([object(), object()], dtype=pl.Object),
}


@pytest.fixture(autouse=True)
def unspent(monkeypatch):
    def charge(*_):
        raise AssertionError("a refusal has to come before the first charge")

    monkeypatch.setattr(ChargeLog, "charge", charge)


@pytest.mark.parametrize("column", TABLE)
@pytest.mark.parametrize("kind", ODD)
def test_types_of_polars_that_are_no_cells(kind, column):
    frame = pl.DataFrame(TABLE).with_columns(ODD[kind].alias(column))
    with pytest.raises(DataError, match=f"column '{column}'"):
        fit(frame, schema=SCHEMA)


def test_numbers_where_text_is_listed_are_refused():
    frame = pl.DataFrame(TABLE).with_columns(pl.Series("town", [1, 2]))
    with pytest.raises(DataError, match="column 'town' is of type int64.*Keep the column as text"):
        fit(frame, schema=SCHEMA)


class Broken:
    """A stream of Arrow that ends early, or begins with something else."""

    def __init__(self, batches, schema):
        self._reader = pa.RecordBatchReader.from_batches(schema, batches)

    def __arrow_c_stream__(self, requested_schema=None):
        return self._reader.__arrow_c_stream__(requested_schema)


def ends_early():
    yield pa.record_batch(TABLE)
    raise OSError("the connection is gone")


def other_columns():
    yield pa.record_batch(TABLE)
    yield pa.record_batch({"age": [3]})


@pytest.mark.parametrize("batches", [ends_early, other_columns])
def test_a_stream_that_ends_early(batches):
    with pytest.raises(DataError, match="the frame: "):
        fit(Broken(batches(), pa.record_batch(TABLE).schema), schema=SCHEMA)


class NoTable:
    def __arrow_c_stream__(self, requested_schema=None):
        return pa.chunked_array([[1, 2]]).__arrow_c_stream__(requested_schema)


class NoCapsule:
    def __arrow_c_stream__(self, requested_schema=None):
        return "a stream"


@pytest.mark.parametrize("stream", [NoTable, NoCapsule])
def test_a_stream_that_is_none(stream):
    with pytest.raises(DataError, match="this stream of Arrow is no table of named columns"):
        fit(stream(), schema=SCHEMA)


def test_a_table_with_a_name_twice():
    table = pa.table([[1], [2], ["Bern"], ["no"]], names=["age", "age", "town", "y"])
    with pytest.raises(DataError, match="duplicate column name 'age'"):
        fit(table, schema=SCHEMA)


def test_a_lazy_frame_is_named():
    with pytest.raises(DataError, match="collect"):
        fit(pl.DataFrame(TABLE).lazy(), schema=SCHEMA)

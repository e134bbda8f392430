"""The rule of the data for every kind of column: a cell's features are those of the cell alone.

All kinds read the same cells, side by side: together, and each cell in a table of its own.
"""

import dataclasses
import datetime as dt
import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpcore import Schema
from dpcore.errors import DataError
from dpcore_tables.cells import features
from dpcore_tables.cells.cell_values import convert_column, validate_rows
from dpcore_tables.memory.columns import typed_cells
from dpcore_tables.memory.frames import frame_of, frame_table
from dpcore_tables.raw.raw_table import RawTable
from dpcore_tables.readers import as_objects
from dpcore_tables.readers.parquet import ParquetFile
from dpcore_tables.readers.text import TextFile
from dpcore_tables.statistics.raw_cells import RawCells

NUMBER = {"kind": "numeric", "lower": -5, "upper": 2e6}
CODES = {"kind": "categorical", "categories": ["02139", "True", "1"]}
DATE = {"kind": "date", "lower": "2000-01-01", "upper": "2030-12-31"}
KINDS = {
    "filled": NUMBER | {"fill": 7},
    "filled and marked": NUMBER | {"fill": 7, "indicator": True},
    "marked": NUMBER | {"indicator": True},
    "log": {"kind": "numeric", "lower": 0.5, "upper": 4e12, "scale": "log", "fill": 3},
    "bins": {"kind": "numeric", "bins": [-1, 1, 2.5, 1e9], "indicator": True},
    "knots": {"kind": "numeric", "knots": [-3, 1, 2.25, 1e13], "indicator": True},
    "code, marked": CODES | {"indicator": True},
    "code, filled": CODES | {"fill": "True"},
    "number, filled": {"kind": "categorical", "categories": [1, 2.5], "fill": 2.5},
    "ordinal": {"kind": "ordinal", "levels": ["1", "2", "-3", "4006381333931"], "fill": "2"},
    "ordinal text": {"kind": "ordinal", "levels": ["02139", "other"], "indicator": True},
    "boolean": {"kind": "boolean", "indicator": True},
    "hashed": {"kind": "hashed", "buckets": 8, "indicator": True},
    "hashed numbers": {"kind": "hashed", "buckets": 8, "numbers": True, "fill": 1},
    "date": DATE | {"indicator": True, "parts": ["year", "month", "weekday"]},
    "date as written": DATE | {"fill": "2020-02-29", "format": "%d.%m.%Y"},
}
SCHEMA = Schema.from_dict(
    {"missing": ["", "NA"], "columns": KINDS | {"y": {"kind": "label", "classes": [0, 1]}}}
)
CELLS = [
    1, 2, -3, 4006381333931, 2139, 1.0, 2.5, 0.1, -0.0, 10**36, -(10**400), 2**53 + 1,
    True, np.False_, None, np.nan, pd.NA, pd.NaT, np.inf, np.float32(0.1),
    decimal.Decimal("0.10"), decimal.Decimal("sNaN"),
    "1", "02139", "other", "True", " 2 ", "2.5", "NA", "nan", "yes", "OFF", "", "K1A", "+7", "１",
    "1e999", b"1", b"\xff", "2020-02-29", "2020-02-30", "1969-12-31T23:59:59Z", "29.02.2020",
    dt.date(2020, 2, 29), dt.datetime(1969, 12, 31, 23, 59, 59), pd.Timestamp("2020-03-01"),
    dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=5))), np.datetime64("NaT", "s"),
    np.datetime64("2020-01-01T12"), pd.Timestamp("2020-01-01", tz="UTC"), 3j, [1],
]  # fmt: skip


def bits(raw, notation=SCHEMA.notation):
    """Return, for each row, what becomes of its cell in each column: bits, "bad" for a fault, None
    for a column that is refused for its type."""
    table = []
    for column in SCHEMA.features:
        try:
            cells = raw.columns[column.name]
            values, fault, _ = convert_column(cells, column, notation, "f")
        except DataError:
            table.append([None] * raw.n_rows)
            continue
        bad = np.zeros(raw.n_rows, dtype=bool) if fault is None else fault
        parts = features.features_of(column.encoding, values[~bad])
        found = iter([tuple(part[i].tobytes() for part in parts) for i in range((~bad).sum())])
        table.append(["bad" if is_bad else next(found) for is_bad in bad])
    return list(zip(*table, strict=True))


def check_rule(read, cells, notation=SCHEMA.notation):
    """Assert that the cells together have the bits that they have alone, from first to last, and
    the other way round."""
    alone = [bits(read([cell]), notation) for cell in cells]
    assert all(len(rows) == 1 for rows in alone)
    expected = [rows[0] for rows in alone]
    assert bits(read(cells), notation) == expected
    assert bits(read(cells[::-1]), notation) == expected[::-1]
    if all(cell is not None for cell in expected[0]):
        assert len(set(expected)) > 3  # some cells differ


def named(cells, n_rows):
    return RawTable(dict.fromkeys(KINDS, cells), n_rows, "f", str)


DTYPES = ["object", "int64", "float64", "bool", "Int64", "str", "datetime64[ns]",
          "datetime64[us, UTC]", pd.ArrowDtype(pa.string()),
          pd.CategoricalDtype(as_objects([1, 2.5, "1", "True", "other"]))]  # fmt: skip


def series(cells, dtype):
    """Return a column of a declared type, or None where it does not hold such cells."""
    if "str" in str(dtype) and not all(c is None or isinstance(c, str) for c in cells):
        return None
    try:
        return pd.Series(as_objects(cells), dtype=object).astype(dtype)
    except Exception:  # pandas names no set of errors for casts that it does not know
        return None


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_frames_and_lists(dtype):
    held = []
    for cell in CELLS:
        if series([*held, cell], dtype) is not None:
            held.append(cell)
    assert len(held) > 3
    check_rule(lambda cells: named(typed_cells(series(cells, dtype)), len(cells)), held)


ARROW = [
    pa.int64(), pa.float64(), pa.float32(), pa.bool_(), pa.string(), pa.large_binary(),
    pa.decimal128(38, 5), pa.dictionary(pa.int32(), pa.string()), pa.date32(), pa.date64(),
    pa.dictionary(pa.int8(), pa.int64()), pa.timestamp("s"), pa.timestamp("ns"),
    pa.timestamp("us", tz="Asia/Tokyo"),
]  # fmt: skip


def arrow(cells, kind):
    try:
        return pa.array(list(cells), kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None


@pytest.mark.some_fast
@pytest.mark.parametrize("kind", ARROW, ids=str)
def test_parquet_files(kind, tmp_path):
    path = str(tmp_path / "t.parquet")

    def read(cells):
        columns = dict.fromkeys(KINDS, arrow(cells, kind))
        pq.write_table(pa.table(columns | {"y": pa.array([0] * len(cells))}), path)
        (raw,) = ParquetFile(path, SCHEMA).pieces()
        return raw

    held = [cell for cell in CELLS if arrow([cell], kind) is not None]
    assert len(held) > 2
    check_rule(read, held)


@pytest.mark.parametrize("kind", [pa.float64(), pa.string_view(), pa.date32()], ids=str)
def test_streams_of_arrow(kind):
    def read(cells):
        columns = dict.fromkeys(KINDS, arrow(cells, kind)) | {"y": [0] * len(cells)}
        frame = frame_of(pa.table(columns).to_reader(max_chunksize=2))
        return frame_table(frame, SCHEMA, True, True, str)

    check_rule(read, [cell for cell in CELLS if arrow([cell], kind) is not None])


@pytest.mark.slow
@pytest.mark.parametrize(
    "keys", [{}, {"decimal": ",", "thousands": ".", "separator": ";"}], ids=len
)
@pytest.mark.parametrize("drop", [False, True])
def test_text_files(drop, keys):
    schema = dataclasses.replace(SCHEMA, **keys)
    mark = schema.separator

    def read(cells):
        lines = [mark.join([cell] * len(KINDS) + ["0"]) for cell in cells]
        head = mark.join(f'"{name}"' for name in [*KINDS, "y"])
        content = "\n".join([head, *lines]) + "\n"
        return TextFile("t.csv", schema, drop=drop).read(content.encode("utf-8"))

    texts = [cell for cell in CELLS if isinstance(cell, str)]
    texts += [str(cell) for cell in CELLS if not isinstance(cell, (str, bytes, list))]
    texts += ['"a,b"', '"a;b"', '"1"', "9" * 5000, '"1,5"', '"2.139,0"', '"1.234.567"']
    check_rule(read, texts, schema.notation)


def test_a_cell_is_counted_in_one_bin_at_most_by_itself():
    """The sensitivity of a schema's check rests on it: -inf was below its bound and no number."""
    cells = [*CELLS, -np.inf, "-1e999", dt.date(1, 1, 1), dt.date(9999, 12, 31)]

    def counts(some):
        raw = named(as_objects(some), len(some))
        columns = {**raw.columns, "y": as_objects([0] * len(some))}
        return RawCells(dataclasses.replace(raw, columns=columns), SCHEMA).counts()

    alone = [counts([cell]) for cell in cells]
    assert (np.array(alone)[:, 1:].reshape(len(cells), -1, 4).sum(axis=2) <= 1).all()
    assert counts(cells).tolist() == np.sum(alone, axis=0).tolist()


def test_a_feature_that_takes_its_bounds_from_the_cells_breaks_the_rule(monkeypatch):
    def of_all(column, values):
        return (values - values.min(initial=0.0),)

    monkeypatch.setattr(features, "features_of", of_all)
    with pytest.raises(AssertionError):
        check_rule(lambda cells: named(as_objects(cells), len(cells)), [1, 2.5, -3, 2139])


LENGTHS = {
    "a feature, short": ("a", 2),
    "a feature of one cell": ("a", 1),
    "a feature, long": ("a", 4),
    "a label, short": ("y", 2),
    "an id, short": ("who", 2),
    "an id of one cell": ("who", 1),
}


@pytest.mark.parametrize("name", LENGTHS)
def test_columns_of_other_lengths_than_the_rows_are_refused(name):
    # A reader's fault: a cell would be another row's, or every row's.
    schema = Schema.from_toml(
        'unit = "who"\nrows_per_unit = 2\n[columns]\n'
        'a = { kind = "numeric", lower = 0, upper = 1 }\n'
        'y = { kind = "label", classes = ["no", "yes"] }\n'
        'who = { kind = "drop" }\n'
    )
    columns = {
        "a": np.array([0.1, 0.2, 0.3]),
        "y": as_objects(["no", "yes", "no"]),
        "who": as_objects(["u", "v", "w"]),
    }
    validate_rows(RawTable(columns, 3, "rows.mine", str), schema)
    column, length = LENGTHS[name]
    wrong = {**columns, column: np.resize(columns[column], length)}
    with pytest.raises(DataError, match=rf"rows.mine: column '{column}' has not one cell for each"):
        validate_rows(RawTable(wrong, 3, "rows.mine", str), schema)

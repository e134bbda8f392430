"""The kinds of column: what their cells become, and that a row is no longer than they say."""

import dataclasses
import datetime as dt
import hashlib
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore import Schema, fit, load_model
from dpcore.data.schema.features.encoding import Encoding
from dpcore.data.schema.features.transforms import (
    Affine,
    Bin,
    Clip,
    Hash,
    Hat,
    Log,
    Lookup,
    Number,
    OneHot,
    binary_log,
)
from dpcore.data.schema.installed import column_from_dict
from dpcore.errors import DataError, InvalidInputError
from dpcore.plugin import Problem
from dpcore.plugin.parts import Dataset, dataset_from_arrays
from dpcore_tables.cells.features import hats
from dpcore_tables.statistics import CategoricalColumn, column_of
from dpcore_tables.store import convert

LABEL = {"y": {"kind": "label", "classes": [0, 1]}}
DATE = {"kind": "date", "lower": "2020-01-01", "upper": "2023-12-31"}
KINDS = {
    "log": {"kind": "numeric", "lower": 1, "upper": 1024, "scale": "log"},
    "bins": {"kind": "numeric", "bins": [18, 30.5], "indicator": True},
    "knots": {"kind": "numeric", "knots": [0, 1, 3], "fill": 2, "indicator": True},
    "size": {"kind": "ordinal", "levels": ["S", "M", "L"], "fill": "M"},
    "flag": {"kind": "boolean", "indicator": True},
    "zip": {"kind": "hashed", "buckets": 4},
    "day": DATE | {"parts": ["year", "month", "weekday"], "indicator": True},
}
DOCUMENT = {
    "columns": KINDS | LABEL,
    "crosses": [{"columns": ["bins", "flag"]}, {"columns": ["zip", "size", "flag"]}],
}
SCHEMA = Schema.from_dict(DOCUMENT)
ROWS = """log,bins,knots,size,flag,zip,day,y
32,17,.5,L,no,02139,2021-12-31,1
5000,,,,,,,0
1,30.5,9,S,TRUE,é,1999-02-28T23:59,0
"""


def schema_of(column, **keys):
    return Schema.from_dict({"columns": {"x": column} | LABEL, **keys})


def encoded(column, cells):
    """Return the features of objects as cells, without the intercept."""
    frame = pd.DataFrame({"x": pd.Series(cells, dtype=object), "y": 0})
    X = dataset_from_arrays(frame, schema=schema_of(column)).X
    return (X if isinstance(X, np.ndarray) else X.toarray())[:, :-1].tolist()


def features(rows, schema=SCHEMA):
    """Return, for each row, its features that are not 0, by name, without the intercept."""
    names = schema.feature_names[:-1]
    return [{n: x for n, x in zip(names, row, strict=False) if x} for row in rows.tolist()]


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text(ROWS)
    return path


def bucket(text, n):
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") % n


def test_every_kind_in_a_row(csv):
    first, empty, last = features(Dataset.from_file(csv, SCHEMA).X.toarray())
    zips = [f"zip=#{bucket(word, 4)}" for word in ("02139", "é")]
    assert first == {
        "log": 0.5, "bins=<18": 1, "knots@0": 0.5, "knots@1": 0.5, "size": 1, zips[0]: 1,
        "day": pytest.approx(730 / 1460, abs=2**-16), "day.year=2021": 1, "day.month=Dec": 1,
        "day.weekday=Fri": 1, "bins*flag=<18*false": 1,
        f"zip*size*flag=#{bucket('02139', 4)}*L*false": 1,
    }  # fmt: skip
    assert empty == {
        "log": 1, "bins is empty": 1, "knots@1": 0.5, "knots@3": 0.5, "knots is empty": 1,
        "size": 0.5, "flag is empty": 1, "day is empty": 1, "bins*flag=empty*empty": 1,
    }  # fmt: skip
    assert last == {
        "bins=>=30.5": 1, "knots@3": 1, "flag": 1, zips[1]: 1, "day.year=2020": 1,
        "day.month=Feb": 1, "day.weekday=Sun": 1, "bins*flag=>=30.5*true": 1,
        f"zip*size*flag=#{bucket('é', 4)}*S*true": 1,
    }  # fmt: skip
    assert len(SCHEMA.feature_names) == SCHEMA.n_features == len(set(SCHEMA.feature_names))


def test_every_source_has_the_same_rows(csv, tmp_path):
    whole = Dataset.from_file(csv, SCHEMA).X.toarray()
    frame = pd.read_csv(csv, dtype=str)
    assert np.array_equal(dataset_from_arrays(frame, schema=SCHEMA).X.toarray(), whole)
    words = {"zip": str, "flag": str}
    typed = pd.read_csv(csv, parse_dates=["day"], dtype=words, date_format="ISO8601")
    typed["flag"] = typed["flag"].map({"no": False, "TRUE": True}).astype("boolean")
    typed.to_parquet(tmp_path / "f.parquet")
    assert np.array_equal(dataset_from_arrays(typed, schema=SCHEMA).X.toarray(), whole)
    assert np.array_equal(Dataset.from_file(tmp_path / "f.parquet", SCHEMA).X.toarray(), whole)
    convert(csv, tmp_path / "f.dpcore", SCHEMA)
    stored = Dataset.from_file(tmp_path / "f.dpcore", None)
    assert stored.schema == SCHEMA
    with stored.X.block(0) as rows:
        assert np.array_equal(rows.toarray(), whole)
    with pytest.raises(InvalidInputError, match="converted with another schema"):
        Dataset.from_file(
            tmp_path / "f.dpcore", dataclasses.replace(SCHEMA, crosses=SCHEMA.crosses[:1])
        )


def test_a_model_of_every_kind_predicts_from_its_file(csv, tmp_path):
    model = fit(str(csv), schema=SCHEMA, epsilon=50.0, seed=1)
    model.save(tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    assert again.schema == SCHEMA and again.feature_names == SCHEMA.feature_names[:-1]
    assert np.array_equal(again.decision_function(str(csv)), model.decision_function(str(csv)))


def test_a_schema_of_every_kind_comes_back():
    assert Schema.from_toml(SCHEMA.to_toml()) == SCHEMA == Schema.from_dict(SCHEMA.to_dict())
    native = SCHEMA.to_toml().replace('"2020-01-01"', "2020-01-01")
    assert native != SCHEMA.to_toml() and Schema.from_toml(native) == SCHEMA


# The largest squares of rows, by kind: what fill and indicator can make of them.
SQUARES = {"log": 1, "bins": 1, "knots": 2, "size": 1, "flag": 1, "zip": 1, "day": 4}


@pytest.mark.parametrize("name", KINDS)
def test_the_square_of_a_kind_is_the_largest_of_its_rows(name):
    column = column_from_dict(name, KINDS[name])
    assert column.square == SQUARES[name]
    cells = {
        "size": ["S", "M", "L", None],
        "flag": [True, False, None],
        "zip": list("abcdef"),
        "day": [dt.date(2018, 1, 1) + dt.timedelta(97 * k) for k in range(30)] + [None],
    }
    X = np.array(encoded(KINDS[name], cells.get(name, [*np.linspace(0, 1100, 500), 1.5, 5000])))
    if name in ("bins", "knots"):
        X = np.vstack([X, encoded(KINDS[name], [None])])
    steps = (X * 2**Problem.FEATURE_BITS).astype(object)
    assert (steps == X * 2**Problem.FEATURE_BITS).all()
    largest = (steps**2).sum(axis=1).max()
    assert largest <= column.square * 4**Problem.FEATURE_BITS
    if name != "knots":
        assert largest > (column.square - 0.01) * 4**Problem.FEATURE_BITS


def test_a_row_that_is_longer_than_its_columns_say_is_refused(csv):
    """The twin: a kind that states less than its features add up to."""
    rows = Dataset.from_file(csv, SCHEMA)
    rows.table()
    short = Schema.from_dict(DOCUMENT)
    stated = dataclasses.replace(short.encoded, square=6)
    object.__setattr__(short, "known", stated)
    object.__setattr__(rows, "schema", short)
    with pytest.raises(InvalidInputError, match="below what the columns allow"):
        rows.table()


ENDS = st.floats(-1e12, 1e12)


@settings(deadline=None)
@given(st.lists(ENDS, min_size=2, max_size=5, unique=True), st.lists(ENDS, max_size=20))
def test_hats_are_shares_of_one(knots, cells):
    knots = tuple(sorted(knots))
    out = hats(np.array([*knots, *cells]), knots)
    steps = np.trunc(out * 2**Problem.FEATURE_BITS).astype(np.int64)
    assert (steps >= 0).all() and ((steps > 0).sum(axis=1) <= 2).all()
    assert (steps.sum(axis=1) <= 2**Problem.FEATURE_BITS).all()
    assert np.array_equal(out[: len(knots)], np.eye(len(knots)))


@settings(deadline=None)
@given(st.lists(st.floats(5e-324, 1e308), min_size=1))
def test_the_logarithm_is_one_and_takes_each_number_alone(values):
    found = binary_log(np.array(values))
    expected = [math.log2(x) for x in values]
    assert found == pytest.approx(expected, rel=2e-15, abs=2e-16)
    assert found.tolist() == [float(binary_log(np.array([x]))[0]) for x in values]
    assert binary_log(np.array(values)[::-1])[::-1].tolist() == found.tolist()
    powers = 2.0 ** np.arange(-30, 31)
    assert binary_log(powers).tolist() == list(range(-30, 31))


@settings(max_examples=40, deadline=None)
@given(st.dates(dt.date(1, 1, 1)), st.sampled_from(["{:%Y-%m-%d}", "{:%Y-%m-%d} 23:59:59.9+02:00"]))
def test_parts_of_dates_are_the_calendars(day, form):
    column = DATE | {"parts": ["year", "month", "weekday"]}
    text = form.format(day).zfill(len(form.format(dt.date(2000, 1, 1))))
    schema = schema_of(column)
    for cell in (text, day, dt.datetime(day.year, day.month, day.day, 23, 59)):
        frame = pd.DataFrame({"x": pd.Series([cell], dtype=object), "y": 0})
        (found,) = features(dataset_from_arrays(frame, schema=schema).X.toarray(), schema)
        year = min(max(day.year, 2020), 2023)
        clamped = min(max(day, dt.date(2020, 1, 1)), dt.date(2023, 12, 31))
        assert set(found) - {"x"} == {
            f"x.year={year}", f"x.month={day:%b}", f"x.weekday={day:%a}"
        }  # fmt: skip
        share = Fraction((clamped - dt.date(2020, 1, 1)).days, 1460)
        assert found.get("x", 0.0) == pytest.approx(float(share), abs=2**-16)


def test_dates_as_they_are_written():
    column = DATE | {"format": "%d.%m.%Y", "fill": "2020-01-01"}
    assert encoded(column, ["1.1.2020", "31.12.2023", "", None]) == [[0], [1], [0], [0]]
    for cell in ("2020-01-01", "30.2.2020", "1.1.20", "１.1.2020", 20200101, 1.5, True):
        with pytest.raises(DataError, match=r"row 1, column 'x': .*written as %d.%m.%Y"):
            encoded(column, [cell])
    zoned = dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1)))  # 2023 in UTC
    assert encoded(DATE, [zoned, pd.Timestamp(zoned)]) == [[1], [1]]
    for end, hours in ((dt.datetime.min, 14), (dt.datetime.max, -12)):  # beyond Python's in UTC
        with pytest.raises(DataError, match=r"row 2, column 'x'"):
            encoded(DATE, [zoned, end.replace(tzinfo=dt.timezone(dt.timedelta(hours=hours)))])


def test_the_hash_is_what_is_stated():
    column = column_from_dict("x", {"kind": "hashed", "buckets": 1000}).encoding.reading
    # Of `printf %s 02139 | b2sum -l 64`.
    assert hashlib.blake2b(b"02139", digest_size=8).hexdigest() == "49ff8fa274b9868e"
    assert column.bucket("02139") == column.bucket(" 02139 ") == bucket("02139", 1000)
    described = {"kind": "hashed", "buckets": 1000, "numbers": True}
    numbers = column_from_dict("x", described).encoding.reading
    assert numbers.bucket(0.0) == numbers.bucket(-0.0) == numbers.bucket(0)
    both = {"kind": "hashed", "buckets": 64, "numbers": True}
    cells = [2139, 2139.0, "2139", "02139", " 2139 "]
    assert len({tuple(row) for row in encoded(both, cells)}) == 1
    assert encoded(both, ["x", None, np.inf]) == [[0] * 64] * 3


@pytest.mark.parametrize("cells", [pd.Series([2139, 2140]), pd.Series([2139.0, None])])
def test_numbers_that_may_have_been_text_are_not_hashed_as_text(cells):
    frame = pd.DataFrame({"x": cells, "y": 0})
    with pytest.raises(DataError, match="'x' is of type .*Set numbers = true"):
        dataset_from_arrays(frame, schema=schema_of({"kind": "hashed", "buckets": 4}))


@pytest.mark.parametrize(
    ("column", "cell", "text"),
    [
        ({"kind": "ordinal", "levels": ["a", "b"]}, "cherry", "none of the levels"),
        ({"kind": "ordinal", "levels": ["a", "b"]}, "", "the cell is empty; fill it in"),
        ({"kind": "ordinal", "levels": [1, 2, 5]}, "333", "none of the levels"),
        ({"kind": "boolean"}, "ja", "no truth value, such as true, yes or 1"),
        ({"kind": "boolean"}, "222", "no truth value"),
        ({"kind": "boolean", "fill": True}, "maybe", "no truth value"),
        (DATE, "2021-02-29", "no date that is written as 2024-02-29"),
        (DATE | {"indicator": True}, "soon", "no date"),
        (DATE, "", "the cell is empty"),
        ({"kind": "numeric", "bins": [1, 2]}, "xyz", "not a finite number"),
        ({"kind": "numeric", "knots": [1, 2]}, "inf", "not a finite number"),
    ],
)
def test_cells_that_cannot_be(tmp_path, column, cell, text):
    (tmp_path / "f.csv").write_text(f"x,y\n{cell},0\n")
    with pytest.raises(DataError, match=f"line 2, column 'x': .*{text}") as caught:
        Dataset.from_file(tmp_path / "f.csv", schema_of(column))
    said = str(caught.value).replace(str(tmp_path), "").replace("such as true, yes or 1", "")
    assert not cell or cell not in said
    assert Dataset.from_file(tmp_path / "f.csv", schema_of(column), bad_rows="drop").y.size == 0


NUMBER = {"kind": "numeric", "lower": 0, "upper": 1}
BAD_COLUMNS = [
    (NUMBER | {"scale": "log"}, "0 < lower"),
    ({"kind": "numeric", "lower": 1, "upper": 1 + 1e-9, "scale": "log"}, "not too near"),
    (NUMBER | {"scale": "sqrt"}, "scale of column 'x' to be linear or log"),
    (NUMBER | {"bins": [1]}, "bins or lower and upper"),
    ({"kind": "numeric", "bins": [1], "knots": [1, 2]}, "one of bins and knots"),
    ({"kind": "numeric", "bins": []}, "bins of column 'x' to be 1 or more"),
    ({"kind": "numeric", "bins": [2, 1]}, "ascending"),
    ({"kind": "numeric", "bins": "1,2"}, "list of numbers"),
    ({"kind": "numeric", "bins": [1, math.nan]}, "finite number"),
    ({"kind": "numeric", "bins": [1], "fill": 1, "indicator": True}, "not both"),
    ({"kind": "numeric", "knots": [1]}, "2 or more"),
    ({"kind": "numeric", "knots": [-1e308, 1.5e308]}, "too far apart"),
    ({"kind": "ordinal", "levels": ["a"]}, "two levels or more"),
    ({"kind": "ordinal", "levels": ["a", "a"]}, "Duplicate values among the levels"),
    ({"kind": "ordinal", "categories": ["a", "b"]}, "Unknown key 'categories'"),
    ({"kind": "ordinal", "levels": ["a", "b"], "fill": "c"}, "one of its values"),
    ({"kind": "ordinal", "levels": ["a", ""]}, "also in missing"),
    ({"kind": "boolean", "fill": "yes"}, "fill of column 'x' to be true or false"),
    ({"kind": "boolean", "fill": 1}, "true or false"),
    ({"kind": "hashed"}, "Missing buckets"),
    ({"kind": "hashed", "buckets": 1}, "2 <= buckets"),
    ({"kind": "hashed", "buckets": 2.5}, "whole number"),
    ({"kind": "hashed", "buckets": 2**21}, "2 <= buckets"),
    ({"kind": "hashed", "buckets": 8, "fill": 3}, "fill of column 'x' to be text"),
    ({"kind": "date", "lower": "2020-01-01"}, "Missing upper"),
    (DATE | {"lower": "private"}, "Missing lower in column .*private ones are for numbers only"),
    (DATE | {"upper": "2020-13-01"}, "to be a date, as in 2024-02-29"),
    (DATE | {"upper": dt.datetime(2022, 1, 1, 12)}, "to be a date"),
    (DATE | {"upper": "2019-01-01"}, "lower=2020-01-01 < upper=2019-01-01"),
    (DATE | {"upper": "FILL-IN"}, "still to be filled in"),
    (DATE | {"parts": ["day"]}, "some of year, month, weekday"),
    (DATE | {"parts": ["year", "year"]}, "some of year, month, weekday"),
    (DATE | {"format": "%d.%m"}, "%Y, %m and %d once each"),
    (DATE | {"format": "%d %b %Y"}, "%Y, %m and %d once each"),
    (DATE | {"fill": 3}, "fill of column 'x' to be a date"),
]


@pytest.mark.parametrize(("column", "text"), BAD_COLUMNS)
def test_columns_that_cannot_be(column, text):
    with pytest.raises(InvalidInputError, match=text) as caught:
        schema_of(column)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("crosses", "text"),
    [
        (3, "Expected crosses to be a list"),
        ([3], "every entry of crosses to be a table"),
        ([{"columns": "x"}], "a list of names"),
        ([{"columns": ["x"]}], "two different columns"),
        ([{"columns": ["x", "x"]}], "two different columns"),
        ([{"columns": ["x", "z"], "kind": "a"}], "Unknown key 'kind' in an entry of crosses"),
        ([{"columns": ["x", "w"]}], "no column 'w' to cross"),
        ([{"columns": ["x", "y"]}], "no column 'y' to cross"),
        ([{"columns": ["x", "n"]}], "give a number bins"),
        ([{"columns": ["x", "z"]}] * 2, "no two alike"),
        ([{"columns": ["g", "h"]}], "more than 2\\^20 levels"),
    ],
)
def test_crosses_that_cannot_be(crosses, text):
    columns = {"x": {"kind": "boolean"}, "z": {"kind": "boolean"}, "n": NUMBER}
    columns |= dict.fromkeys("hg", {"kind": "hashed", "buckets": 2**11})
    with pytest.raises(InvalidInputError, match=text):
        Schema.from_dict({"columns": columns | LABEL, "crosses": crosses})


def test_queries_read_columns_of_levels():
    found = column_of(SCHEMA, "bins")
    assert found == CategoricalColumn((1, 2, 3, 4), ("<18", "[18,30.5)", ">=30.5", ""))
    assert column_of(SCHEMA, "log").scale == "log" and column_of(SCHEMA, "day").unit == "day"
    with pytest.raises(InvalidInputError, match="No statistic takes column"):
        column_of(SCHEMA, "knots")


def test_whole_numbers_come_back_as_such(tmp_path):
    column = {"kind": "categorical", "categories": [1, 2, 2.5, 2**60]}
    schema = schema_of(column)
    assert list(map(repr, schema.features[0].categories)) == ["1", "2", "2.5", repr(2.0**60)]
    assert schema.feature_names[:2] == ("x=1", "x=2")
    frame = pd.DataFrame({"x": [1, 2, 3] * 10, "y": [0, 1, 1] * 10})
    model = fit(frame, schema=schema, epsilon=10.0, seed=0)
    model.save(tmp_path / "m.json")
    for some in (model, load_model(tmp_path / "m.json")):
        assert repr(some.classes) == "(0, 1)"
        assert some.predict(frame).dtype == np.int64


NUMBERS = "finite and to ascend"
PLACES = "a level for each place"


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda: Bin((3.0, 1.0, 2.0)), NUMBERS),  # A search starts where the last one ended.
        (lambda: Bin(()), NUMBERS),
        (lambda: Hat((0.0, 5.0, 2.0)), NUMBERS),
        (lambda: Hat((0.0, 1.0, 1.0)), NUMBERS),  # NaN at 1 alone.
        (lambda: Hat((0.0, math.nan, 1.0)), NUMBERS),
        (lambda: Hat((0.0,)), NUMBERS),
        (lambda: Affine(1.0, 1.0), NUMBERS),
        (lambda: Affine(-1.7e308, 1.7e308), NUMBERS),
        (lambda: Clip(1.0, 0.0), NUMBERS),
        (lambda: Log(0.0, 1.0), NUMBERS),
        (lambda: Encoding(Lookup(("a", "b"), (0, 2)), ((OneHot("uv"),),)), PLACES),
        (lambda: Encoding(Lookup(("a", "b", "c")), ((OneHot("uv"),),)), PLACES),
        (lambda: Encoding(Lookup(("a", "b")), ((OneHot("uv"),), (OneHot("uv"),))), PLACES),
        (lambda: Encoding(Lookup(("a", "b")), ((OneHot("uv"),),), fill=2.0), PLACES),
        (lambda: Encoding(Hash(64), ((OneHot("uv"),),)), PLACES),
        (lambda: Encoding(Hash(0), ((OneHot("uv"),),)), PLACES),
        (lambda: Encoding(Number(), (Affine.between(0.0, 1.0),), fill=math.nan), PLACES),
    ],
)
def test_what_would_give_a_cell_no_feature_of_its_own_is_refused_with_the_schema(made, told):
    with pytest.raises(InvalidInputError, match=told):
        made()

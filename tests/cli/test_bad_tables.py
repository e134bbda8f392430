"""Schemas, rows and sources that cannot be: one clear line, status 2, nothing spent or written."""

import gzip
import io
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

pytestmark = pytest.mark.usefixtures("charged")

LABEL = 'label = { kind = "label", classes = ["no", "yes"] }\n'
COLUMNS = [
    ('kind = "numeric", knots = [0, 10, 5]', "to be 2 or more numbers in ascending order"),
    ('kind = "numeric", knots = [5]', "to be 2 or more numbers in ascending order"),
    ('kind = "numeric", bins = [1, 1]', "to be 1 or more numbers in ascending order"),
    ('kind = "numeric", bins = ["low"]', "bins of column 'x' to be a finite number"),
    ('kind = "numeric", bins = 3', "bins of column 'x' to be a list of numbers"),
    ('kind = "numeric", knots = [0, 1], upper = 3', "knots or lower and upper"),
    ('kind = "numeric", lower = 0, upper = 1, scale = "log"', "whose scale is log"),
    ('kind = "numeric", lower = 1, upper = 2, scale = "log10"', "to be linear or log"),
    ('kind = "numeric", lower = 0, upper = 1, fill = nan', "fill of column 'x' to be a finite"),
    ('kind = "numeric", lower = 1, upper = 0', "Expected lower=1.0 < upper=0.0"),
    ('kind = "date", lower = "2020-02-30", upper = 2021-01-01', "lower of column 'x' to be a date"),
    ('kind = "date", lower = 2021-01-01, upper = 2020-01-01', "< upper=2020-01-01"),
    ('kind = "date", lower = 2020-01-01', "Missing upper in column 'x'"),
    (
        'kind = "date", lower = 2020-01-01, upper = 2021-01-01, parts = ["hour"]',
        "year, month, week",
    ),
    ('kind = "date", lower = 2020-01-01, upper = 2021-01-01, format = "%d.%m"', "%Y, %m and %d"),
    ('kind = "hashed", buckets = 0', "Expected 2 <= buckets=0 <= 2^20 in column 'x'"),
    ('kind = "hashed", buckets = 2.5', "buckets of column 'x' to be a whole number"),
    ('kind = "hashed"', "Missing buckets in column 'x'"),
    ('kind = "hashed", buckets = 2, fill = 3', "fill of column 'x' to be text"),
    ('kind = "ordinal", levels = ["low"]', "two levels or more in column 'x'"),
    ('kind = "ordinal", levels = ["low", "mid"], fill = "high"', "to be one of its values"),
    ('kind = "boolean", fill = "yes"', "fill of column 'x' to be true or false"),
    ('kind = "boolean", missing = "NA"', "missing of column 'x' to be a list of texts"),
    ('kind = "categorical", categories = ["a"], missing = ["a"]', "is also in missing"),
    ('kind = "categorical", categories = ["a"], fill = "a", indicator = true', "not both"),
    ('kind = "bool"', "Expected kind of column 'x' to be one that is installed"),
]
TOPS = {
    'decimal = ";"': "Expected decimal=';'",
    'decimal = ","\nthousands = ","': "and not the decimal's",
    'separator = ";;"': "to be one character",
    "missing = [-9]": "missing of the schema to be a list of texts",
    "crosses = 3": "Expected crosses to be a list of tables",
    'crosses = [{ columns = ["city", "zip"] }]': "has no column 'zip' to cross",
    'crosses = [{ columns = ["age", "city"] }]': "it has no levels",
    'crosses = [{ columns = ["city"] }]': "two different columns or more",
    'wildcards = ["x*"]': "wildcards to be names of columns",
}
CELLS = {
    "no-such-day": ('kind = "date", lower = 2020-01-01, upper = 2021-01-01', "2020-02-30", "date"),
    "another-format": ('kind = "date", lower = 2020-01-01, upper = 2021-01-01', "1.2.2020", "date"),
    "no-level": ('kind = "ordinal", levels = ["low", "high"]', "mid", "none of the levels"),
    "no-truth-value": ('kind = "boolean"', "maybe", "no truth value"),
    "no-value": ('kind = "boolean"', "n/a", 'the cell is "n/a"'),
    "no-date": ('kind = "date", lower = 2020-01-01, upper = 2021-01-01', "", "set fill = VALUE"),
}


def with_column(folder, column, cell="1", keys=""):
    text = f"{keys}\n[columns]\nx = {{ {column} }}\n{LABEL}"
    (folder / "schema.toml").write_text(text)
    (folder / "rows.csv").write_text(f"x,label\n{cell},no\n")
    return sorted(folder.iterdir())


@pytest.mark.parametrize(("column", "text"), COLUMNS)
def test_columns(train, folder, column, text):
    before = with_column(folder, column)
    refused(train("--out", "m.json"), text, folder, before)


@pytest.mark.parametrize("keys", TOPS)
def test_keys_of_the_table(train, folder, keys):
    (folder / "schema.toml").write_text(keys + (folder / "schema.toml").read_text())
    refused(train("--out", "m.json"), TOPS[keys], folder, sorted(folder.iterdir()))


@pytest.mark.parametrize("case", CELLS)
def test_cells(train, folder, case):
    column, cell, text = CELLS[case]
    before = with_column(folder, column, cell)
    result = train("--out", "m.json")
    refused(result, "line 2, column 'x': ", folder, before)
    assert text in result.stderr


WILD = '[columns]\n"x*" = { kind = "numeric", lower = 0, upper = 1 }\n' + LABEL


def test_a_wildcard_that_means_no_column(train, folder):
    (folder / "schema.toml").write_text(WILD + '"*" = { kind = "drop" }\n')
    text = "The schema's 'x*' stands for no column"
    refused(train("--out", "m.json"), text, folder, sorted(folder.iterdir()))


def test_a_wildcard_without_a_header(train, folder):
    (folder / "schema.toml").write_text("header = false\n" + WILD)
    refused(train("--out", "m.json"), "has no header", folder, sorted(folder.iterdir()))


@pytest.mark.parametrize("content", ["", "\n\n", "age,city,label", "\x00"])
def test_standard_input_without_rows(train, folder, monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
    before = sorted(folder.iterdir())
    result = train("--data", "-", "--relation", "replace-one", "--out", "m.json")
    refused(result, "dpcore: ", folder, before)


FRAME = {"age": [1, 2], "city": ["Bern", "Bern"], "label": ["no", "yes"]}
TYPES = {
    "lists": pa.array([[1], [2]]),
    "structs": pa.array([{"a": 1}, {"a": 2}]),
    "times": pa.array([1, 2], pa.time64("us")),
    "spans": pa.array([1, 2], pa.duration("s")),
    "bytes of one size": pa.array([b"no", b"no"], pa.binary(2)),
}


@pytest.mark.some_fast
@pytest.mark.parametrize("column", ["age", "city", "label"])
@pytest.mark.parametrize("kind", TYPES)
def test_types_of_parquet_that_are_no_cells(train, folder, kind, column):
    pq.write_table(pa.table({**FRAME, column: TYPES[kind]}), folder / "f.parquet")
    before = sorted(folder.iterdir())
    result = train("--data", "f.parquet", "--out", "m.json")
    refused(result, f"column '{column}'", folder, before)


def test_folders_and_patterns(train, folder):
    (folder / "empty").mkdir()
    (folder / "mixed").mkdir()
    pq.write_table(pa.table(FRAME), folder / "mixed" / "a.parquet")
    pq.write_table(pa.table({**FRAME, "age": ["1", "old"]}), folder / "mixed" / "b.parquet")
    before = sorted(folder.iterdir())
    for data, text in (
        ("empty", "has no Parquet file"),
        ("empty/*.parquet", "no such file"),
        ("mixed", "column 'age'"),
        ("mixed/[b].parquet", "column 'age'"),
        ("mixed/[b]*", "let it end in"),
    ):
        refused(train("--data", data, "--out", "m.json"), text, folder, before)


def test_text_that_is_not_as_its_name_says(train, folder):
    text = (folder / "rows.csv").read_text()
    (folder / "cut.csv.gz").write_bytes(gzip.compress(text.encode())[:-9])
    (folder / "none.csv.gz").write_text(text)
    (folder / "wide.csv").write_text(text, encoding="utf-16")
    before = sorted(folder.iterdir())
    for name in ("cut.csv.gz", "none.csv.gz", "wide.csv"):
        refused(train("--data", name, "--out", "m.json"), name, folder, before)


def test_semicolons_and_decimal_commas(train, folder):
    (folder / "rows.csv").write_text("age;city;label\n1,5;Bern;no\n")
    before = sorted(folder.iterdir())
    refused(train("--out", "m.json"), 'separator = ";"', folder, before)
    (folder / "schema.toml").write_text('separator = ";"\n' + (folder / "schema.toml").read_text())
    refused(train("--out", "m.json"), 'decimal = "," in the schema', folder, before)

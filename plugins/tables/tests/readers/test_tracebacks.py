"""No error about a file's rows carries a cell, or a library's error that may quote one.

Each format is damaged in odd places around a canary and read in every way that dpcore reads rows.
"""

import gzip
import io

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from canaries import NUMBER, WORD, leaks_of, raised_by
from typer.testing import CliRunner

import dpcore
from dpcore import Schema
from dpcore.cli import app
from dpcore.errors import DataError, DpcoreError, replacing
from dpcore.plugin.parts import Dataset
from dpcore_tables.files.passthrough_column import passthrough_column
from dpcore_tables.schemas.from_data import document_from_data, schema_from_data
from dpcore_tables.schemas.template import schema_template
from dpcore_tables.statistics import check_schema, open_session
from dpcore_tables.store import convert, convert_partitions

COLUMNS = """
[columns]
age = { kind = "numeric", lower = 0, upper = 100 }
city = { kind = "categorical", categories = ["Bern", "Basel"] }
day = { kind = "date", lower = 2000-01-01, upper = 2030-01-01 }
y = { kind = "label", classes = ["no", "yes"] }
"""
NAMED = COLUMNS + 'id = { kind = "drop" }\n'
UNITS = 'unit = "id"\nrows_per_unit = 2\n' + COLUMNS
WIDE = 'width = 2\nrow_norm = 1.0\nseparator = "whitespace"\nheader = false\n' + (
    '[columns]\nlabel = { kind = "label", classes = [0, 1] }\n'
)
HEAD, ROW = "id,age,city,day,y", "7,41,Bern,2020-01-01,no"


def csv_of(*lines, head=HEAD):
    return "\n".join([head, ROW, *lines, ROW, ""]).encode()


def parquet_of(**odd):
    columns = {"id": [7, 8], "age": [41.0, 42.0], "city": ["Bern", "Basel"]}
    columns |= {"day": ["2020-01-01"] * 2, "y": ["no", "yes"]} | odd
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def npz_of(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **{"X": np.ones((2, 2)), "y": np.array([0, 1])} | arrays)
    return buffer.getvalue()


def not_utf8(*texts):
    return pa.array([text.encode() + b"\xff" for text in texts]).view(pa.string())


BAD = WORD.encode() + b"\xff"
TEXT = {
    "too many cells": csv_of(f"7,41,Bern,2020-01-01,no,{WORD}"),
    "too few cells": csv_of(f"7,41,{WORD}"),
    "one cell": csv_of(WORD),
    "an open quote": csv_of(f'7,41,"{WORD},2020-01-01,no'),
    "a quote within": csv_of(f'7,41,"{WORD}"{NUMBER}",2020-01-01,no'),
    "no UTF-8": csv_of("7,41,Bern,2020-01-01,no").replace(b"Bern", BAD),
    "no UTF-8 in an id": csv_of().replace(b"7,", BAD + b",", 1),
    "a NUL": csv_of(f"7,4\0{NUMBER},{WORD},2020-01-01,no"),
    "a word for a number": csv_of(f"7,{WORD},Bern,2020-01-01,no"),
    "a word for a date": csv_of(f"7,41,Bern,{WORD},no"),
    "a word for a label": csv_of(f"7,41,Bern,2020-01-01,{WORD}"),
    "a number for a label": csv_of(f"7,41,Bern,2020-01-01,{NUMBER}"),
    "a long number": csv_of(f"7,{'9' * 5000}{NUMBER},Bern,2020-01-01,no"),
    "a day that is none": csv_of(f"7,41,{WORD},2020-02-31,no"),
    "an empty id": csv_of(f",41,{WORD},2020-01-01,no"),
    "an id that is none": csv_of(f"{WORD}\t\x01,41,Bern,2020-01-01,no"),
}
FILES: dict[str, tuple] = {f"{name}.csv": (NAMED, content) for name, content in TEXT.items()}
FILES |= {f"{name} of units.csv": (UNITS, content) for name, content in TEXT.items()}
FILES |= {
    "tabs.tsv": (NAMED, TEXT["too many cells"].replace(b",", b"\t")),
    "cut.csv.gz": (NAMED, gzip.compress(csv_of(*[f"7,41,{WORD},2020-01-01,no"] * 99))[:-9]),
    "damaged.csv.gz": (NAMED, b"\x1f\x8b" + BAD),
    "blanks.txt": (WIDE, f"1 2 0\n1 {WORD} 0\n".encode()),
    "wide.txt": (WIDE, f"1 2 0\n1 2 {WORD} {NUMBER} 0\n".encode()),
    "a value.libsvm": (WIDE, f"0 1:2\n1 1:{WORD}\n".encode()),
    "an index.libsvm": (WIDE, f"0 1:2\n1 {NUMBER}:1\n".encode()),
    "a long index.libsvm": (WIDE, f"0 1:2\n1 {'9' * 5000}{NUMBER}:1\n".encode()),
    "no UTF-8.libsvm": (WIDE, b"0 1:2\n1 1:" + BAD + b"\n"),
    "a label.libsvm": (WIDE, f"0 1:2\n{WORD} 1:1\n".encode()),
    "no label.libsvm": (WIDE, f"0 1:2\n1:1 2:{WORD}\n".encode()),
    "text.parquet": (NAMED, parquet_of(age=[WORD, "1"])),
    "lists.parquet": (NAMED, parquet_of(city=[[WORD], ["Bern"]])),
    "structs.parquet": (NAMED, parquet_of(y=[{"a": WORD}, {"a": "no"}])),
    "no UTF-8.parquet": (NAMED, parquet_of(city=not_utf8(WORD, "Bern"))),
    "labels no UTF-8.parquet": (NAMED, parquet_of(y=not_utf8(WORD, "no"))),
    "ids no UTF-8.parquet": (UNITS, parquet_of(id=not_utf8(WORD, "7"))),
    "ids.parquet": (UNITS, parquet_of(id=[float(NUMBER), 1.5])),
    "truths.parquet": (NAMED, parquet_of(y=[True, False])),
    "numbers for dates.parquet": (NAMED, parquet_of(day=[NUMBER, 1])),
    "far times.parquet": (NAMED, parquet_of(day=pa.array([NUMBER, 1], pa.timestamp("s")))),
    "fine times.parquet": (NAMED, parquet_of(day=pa.array([NUMBER, 1], pa.timestamp("ns")))),
    "far times for ids.parquet": (UNITS, parquet_of(id=pa.array([NUMBER, 1], pa.timestamp("s")))),
    "decimals.parquet": (NAMED, parquet_of(y=pa.array([NUMBER, 1]).cast(pa.decimal128(30, 2)))),
    "cut.parquet": (NAMED, parquet_of(city=[WORD, "Bern"])[:-20]),
    "a damaged page.parquet": (NAMED, parquet_of(city=[WORD] * 2).replace(WORD[:8].encode(), b"")),
    "objects.npz": (WIDE, npz_of(X=np.array([[WORD, 1], [1, 2]], object))),
    "words.npz": (WIDE, npz_of(X=np.array([[WORD, "1"], ["1", "2"]]))),
    "labels.npz": (WIDE, npz_of(y=np.array([WORD, "1"]))),
    "many labels.npz": (WIDE, npz_of(y=np.full((2, 2), NUMBER))),
    "a damaged header.npz": (WIDE, npz_of().replace(b"'descr'", WORD[:7].encode(), 1)),
    "parts.npz": (
        WIDE,
        npz_of(data=[1.0], indices=[NUMBER], indptr=[0, 1, 1], shape=[2, NUMBER]),
    ),
    "a sparse index.npz": (WIDE, None),
    "a store.dpcore": (None, None),
}


def content_of(name, folder):
    """Return the schema and the bytes of a file, those of a store or a sparse matrix made here."""
    schema, content = FILES[name]
    if name == "a sparse index.npz":
        buffer = io.BytesIO()
        np.savez(buffer, data=[1.0], indices=[NUMBER], indptr=[0, 1, 1], shape=[2, 2], y=[0, 1])
        content = buffer.getvalue()
    elif name == "a store.dpcore":
        (folder / "whole.csv").write_bytes(csv_of(f"7,41,{WORD},2020-01-01,no"))
        convert(folder / "whole.csv", folder / "whole.dpcore", Schema.from_toml(NAMED))
        content = (folder / "whole.dpcore").read_bytes()
        content = content[:4100] + WORD.encode() + content[4100 + len(WORD) :]
    return schema, content


MODELS = {}


def model_of(schema):
    """Return a model of a schema, to score rows by."""
    if schema not in MODELS:
        read = Schema.from_toml(schema)
        if read.width is None:
            rows = pa.table({"id": [7], "age": [4], "city": ["Bern"], "day": ["2020-01-01"]})
            rows = rows.append_column("y", pa.array(["no"]))
            MODELS[schema] = dpcore.fit(rows, schema=read, epsilon=1.0, seed=1)
        else:
            MODELS[schema] = dpcore.fit(np.ones((2, 2)), [0, 1], schema=read, epsilon=1.0, seed=1)
    return MODELS[schema]


def command_line(*asked):
    """Run a command, and raise with all that it printed, by any way, where it is refused."""
    done = CliRunner().invoke(app, [*map(str, asked)])
    if done.exit_code:
        raise DpcoreError(done.output)


def ways(path, text):
    """Yield ways in which dpcore reads rows, by name."""
    schema = None if text is None else Schema.from_toml(text)
    yield "fit", lambda: dpcore.fit(path, schema=schema, epsilon=1.0, seed=1)
    yield "load_file", lambda: Dataset.from_file(path, schema)
    yield "load_file, dropped", lambda: Dataset.from_file(path, schema, bad_rows="drop")
    if path.suffix == ".dpcore":
        return
    yield "fit of units", lambda: dpcore.fit(path, schema=schema, epsilon=1.0, unit="id", seed=1)
    yield "open_session", lambda: open_session(path, schema=schema, epsilon=1.0, seed=1)
    yield "check_schema", lambda: check_schema(str(path), schema)
    yield "schema_from_data", lambda: schema_from_data(path, "y")
    yield "document_from_data", lambda: document_from_data(path, "y")
    yield "schema_template", lambda: schema_template(path, "y")
    yield "predict", lambda: model_of(text).predict(path)
    yield "refused", lambda: model_of(text).predict(path, bad_rows="refuse")
    yield "convert", lambda: convert(path, path.with_suffix(".dpcore"), schema)
    yield "passthrough_column", lambda: list(passthrough_column(str(path), schema, "day"))
    yield "train", lambda: command_line("train", "--data", path, "--schema", path.parent / "s.toml")


@pytest.mark.some_fast
@pytest.mark.parametrize("name", FILES)
def test_no_error_about_a_file_carries_a_cell(tmp_path, name):
    text, content = content_of(name, tmp_path)
    path = tmp_path / name
    path.write_bytes(content)
    if text is not None:
        (tmp_path / "s.toml").write_text(text)
    errors = {way: raised_by(act) for way, act in ways(path, text)}
    errors = {way: error for way, error in errors.items() if error is not None}
    assert errors, "a file in which nothing is wrong says nothing of errors"
    assert {way: type(error) for way, error in errors.items()} == {
        way: type(error) for way, error in errors.items() if isinstance(error, DpcoreError)
    }
    assert {way: found for way, error in errors.items() if (found := leaks_of(error))} == {}


@pytest.mark.slow
def test_the_process_of_a_conversion_tells_no_cell(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "a.parquet").write_bytes(parquet_of(age=[WORD, "1"]))
    schema = Schema.from_toml(NAMED)
    error = raised_by(lambda: convert_partitions(tmp_path / "parts", tmp_path / "out", schema))
    assert isinstance(error, DataError)
    assert leaks_of(error) == []


def quoted(content):
    pacsv.read_csv(io.BytesIO(content))


def within_the_handler(content):
    """The broken twin: as the reader of CSV was."""
    try:
        quoted(content)
    except pa.ArrowInvalid:
        check_widths()


def check_widths():
    raise DataError("rows.csv, line 3: 6 cells, expected 5.")


def hidden(content):
    """A twin that hides it from Python's own tracebacks alone."""
    try:
        quoted(content)
    except pa.ArrowInvalid:
        raise DataError("rows.csv, line 3: 6 cells, expected 5.") from None


def replaced(content):
    with replacing(pa.ArrowInvalid, by=lambda _: DataError("line 3: 6 cells, expected 5.")):
        quoted(content)


@pytest.mark.parametrize("twin", [within_the_handler, hidden])
def test_a_reader_that_raises_within_the_handler_is_found(twin):
    error = raised_by(lambda: twin(TEXT["too many cells"]))
    assert isinstance(error, DataError)
    assert WORD in leaks_of(error) and "ArrowInvalid" in leaks_of(error)
    assert leaks_of(raised_by(lambda: replaced(TEXT["too many cells"]))) == []


def test_replacing_lets_other_errors_and_their_chains_be():
    def ours():
        try:
            raise KeyError(WORD)
        except KeyError as error:
            raise TypeError("of the caller's own") from error

    def act():
        with replacing(ValueError, by=lambda _: DataError("")):
            ours()

    error = raised_by(act)
    assert type(error) is TypeError and isinstance(error.__cause__, KeyError)

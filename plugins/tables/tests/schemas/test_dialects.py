"""How a codebook of Frictionless Data or CSV on the Web says that its file is written."""

import json
import tomllib

import openpyxl
import pandas as pd
import pytest

from dpcore import Schema
from dpcore.errors import DataError, InvalidInputError
from dpcore.plugin.parts import Dataset
from dpcore_tables.schemas import schema_template

FIELDS = [
    {"name": "größe", "type": "number", "constraints": {"minimum": 0, "maximum": 250}},
    {"name": "ort", "type": "string", "constraints": {"enum": ["Köln", "a,b"]}},
    *({"name": f"x{k}", "type": "boolean"} for k in range(9)),
    {"name": "ja", "type": "integer", "constraints": {"enum": [0, 1]}},
]
NAMES = ";".join(field["name"] for field in FIELDS)
CELLS = f"180;Köln;{';'.join('1' * 9)};1\n-;a,b;{';'.join('0' * 9)};0\n"
DIALECT = {"delimiter": ";", "nullSequence": "-", "quoteChar": '"', "lineTerminator": "\n"}


@pytest.fixture
def rows(tmp_path):
    (tmp_path / "rows.csv").write_bytes(f"{NAMES}\n{CELLS}".encode("cp1252"))
    return tmp_path / "rows.csv"


def package(rows, dialect=DIALECT, **keys):
    book = rows.with_name("datapackage.json")
    resource = {"path": "rows.csv", "dialect": dialect, "schema": {"fields": FIELDS}, **keys}
    book.write_text(json.dumps({"resources": [resource]}))
    return book


def test_a_resource_says_how_its_file_is_written(rows):
    text = schema_template(rows, "ja", package(rows, encoding="windows-1252"))
    found = tomllib.loads(text)
    assert (found["separator"], found["encoding"], found["missing"]) == (";", "cp1252", ["", "-"])
    assert "x*" in found["columns"]
    filled = Schema.from_toml(text.replace('"größe" = { ', '"größe" = { fill = 170, '))
    assert Dataset.from_file(rows, filled).y.tolist() == [1, -1]
    # A header of one column is not searched for another separator than the one that is said.
    one = package(rows, {"delimiter": "|"}, encoding="cp1252")
    with pytest.raises(InvalidInputError, match="none of the columns of the rows"):
        schema_template(rows, None, one)


def test_a_file_without_a_header_has_the_fields_for_names(rows):
    rows.write_bytes(CELLS.encode())
    text = schema_template(rows, "ja", package(rows, {**DIALECT, "header": False}))
    found = tomllib.loads(text)
    # Each is listed: no name in the file says what a wildcard would stand for.
    assert found["header"] is False and [*found["columns"]] == NAMES.split(";")
    filled = Schema.from_toml(text.replace('"größe" = { ', '"größe" = { fill = 170, '))
    assert Dataset.from_file(rows, filled).y.tolist() == [1, -1]
    with pytest.raises(DataError, match="No such file"):
        schema_template(rows.with_name("none.csv"), None, package(rows, {"header": False}))


def test_what_is_said_in_the_command_comes_first(rows):
    rows.write_bytes(f"{NAMES}\n{CELLS}".encode("cp850"))
    text = schema_template(rows, "ja", package(rows, encoding="cp1252"), encoding="cp850")
    assert tomllib.loads(text)["encoding"] == "cp850"


REFUSED = {
    "quoteChar": ["'", "no"],
    "doubleQuote": [False],
    "escapeChar": ["\\"],
    "lineTerminator": [";"],
    "skipInitialSpace": [True],
    "headerRows": [[1, 2], 3],
    "commentRows": [[2]],
    "commentChar": ["#"],
    "delimiter": ["::", "", "a", 3],
    "header": ["no"],
    "nullSequence": [3],
}


@pytest.mark.parametrize("key", REFUSED)
def test_a_key_that_is_not_read_is_refused_by_name(rows, key):
    for value in REFUSED[key]:
        with pytest.raises(InvalidInputError, match=f"datapackage.json.*key '{key}'"):
            schema_template(rows, "ja", package(rows, {**DIALECT, key: value}, encoding="cp1252"))


@pytest.mark.parametrize("name", ["utf-16", "SECRET", "shift_jis"])
def test_an_encoding_that_is_not_read_is_refused_without_its_text(rows, name):
    with pytest.raises(InvalidInputError, match="key 'encoding': expected utf-8") as told:
        schema_template(rows, "ja", package(rows, encoding=name))
    assert name not in str(told.value).replace("utf-8", "")


def test_a_dialect_is_of_text_alone(rows):
    frame = pd.read_csv(rows, sep=";", encoding="cp1252")
    frame.to_parquet(rows.with_name("rows.parquet"))
    book = package(rows, {"quoteChar": "'", "delimiter": ";", "header": False}, encoding="utf-16")
    for source in (frame, rows.with_name("rows.parquet")):
        found = tomllib.loads(schema_template(source, "ja", book))
        assert not {"separator", "encoding", "header"} & {*found}


COLUMNS = [
    {"titles": "größe", "datatype": {"base": "number", "minimum": 0, "maximum": 250}},
    {"titles": "ort", "datatype": "string"},
    *({"titles": f"x{k}", "datatype": "boolean"} for k in range(9)),
    {"titles": "ja", "datatype": "boolean"},
]
DESCRIBED = {"delimiter": ";", "encoding": "windows-1252", "lineTerminators": ["\n"], "trim": False}


def metadata(rows, dialect=DESCRIBED, of_group=False):
    book = rows.with_name("metadata.json")
    table = {"url": "rows.csv", "tableSchema": {"columns": COLUMNS}}
    whole = {"tables": [table]} if of_group else table
    book.write_text(json.dumps({**whole, "dialect": dialect}))
    return book


@pytest.mark.parametrize("of_group", [False, True])
def test_csv_on_the_web_says_how_its_file_is_written(rows, of_group):
    found = tomllib.loads(schema_template(rows, "ja", metadata(rows, of_group=of_group)))
    assert (found["separator"], found["encoding"]) == (";", "cp1252")
    assert found["columns"]["größe"]["upper"] == 250


@pytest.mark.parametrize("keys", [{"headerRowCount": 0}, {"header": False}])
def test_csv_on_the_web_without_a_header_has_the_columns_for_names(rows, keys):
    rows.write_bytes(CELLS.encode())
    found = tomllib.loads(schema_template(rows, "ja", metadata(rows, {"delimiter": ";", **keys})))
    assert found["header"] is False and [*found["columns"]] == NAMES.split(";")


DESCRIBED_OTHERWISE = {
    "commentPrefix": ["#"],
    "headerRowCount": [2, True, "1"],
    "lineTerminators": [["|"]],
    "skipColumns": [1],
    "skipRows": [3],
    "trim": [True, "start"],
    "quoteChar": ["'"],
    "encoding": ["utf-16", 3],
}


@pytest.mark.parametrize("key", DESCRIBED_OTHERWISE)
def test_a_key_of_csv_on_the_web_that_is_not_read_is_refused_by_name(rows, key):
    for value in DESCRIBED_OTHERWISE[key]:
        with pytest.raises(InvalidInputError, match=f"metadata.json, key 'dialect', key '{key}'"):
            schema_template(rows, "ja", metadata(rows, {**DESCRIBED, key: value}))
    with pytest.raises(InvalidInputError, match="'header' says otherwise"):
        schema_template(rows, "ja", metadata(rows, {"header": True, "headerRowCount": 0}))
    with pytest.raises(InvalidInputError, match="key 'dialect': expected an object"):
        schema_template(rows, "ja", metadata(rows, "https://example.org/dialect.json"))


def test_a_sheet_is_the_dialects(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["other"])
    sheet = book.create_sheet("Members")
    sheet.append([field["name"] for field in FIELDS])
    book.save(rows := tmp_path / "rows.xlsx")
    text = schema_template(rows, "ja", package(rows, {"sheetName": "Members"}))
    assert "rows.xlsx#Members" in text and tomllib.loads(text)["columns"]["größe"]["upper"] == 250
    address = f"excel://{rows}#Members"
    assert schema_template(address, "ja", package(rows, {"sheetName": "Members"})) == text
    for dialect, told in [
        ({"sheetName": "None"}, "no sheet 'None'"),
        ({"sheetNumber": 2}, "key 'sheetNumber': name the sheet"),
        ({"sheetName": 3}, "key 'sheetName': expected a text"),
    ]:
        with pytest.raises(InvalidInputError, match=told):
            schema_template(rows, "ja", package(rows, dialect))
    with pytest.raises(InvalidInputError, match="it is not the sheet of"):
        schema_template(f"excel://{rows}#Sheet", "ja", package(rows, {"sheetName": "Members"}))

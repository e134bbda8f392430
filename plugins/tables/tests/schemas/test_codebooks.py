"""Codebooks in their forms: what follows from an entry, and what is wrong with one."""

import json
import random
import re
import tomllib

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from golden.command import dpcore

from dpcore import Schema
from dpcore.errors import DpcoreError, InvalidInputError
from dpcore.plugin.parts import Dataset
from dpcore_tables.schemas import schema_template
from dpcore_tables.schemas.codebooks.reading import read_codebook

ROWS = "age,city,member,born,level,code,id,paid\n17,Bern,yes,2001-02-03,low,02139,1,0\n"
WANTED = {
    "age": {"kind": "numeric", "lower": 18, "upper": 90, "missing": ["-9"]},
    "city": {"kind": "categorical", "categories": ["Bern", "<=50K"]},
    "member": {"kind": "boolean", "indicator": True},
    "born": {"kind": "date", "lower": "1900-01-01", "upper": "2024-02-29"},
    "level": {"kind": "ordinal", "levels": ["low", "high"]},
    "code": {"kind": "categorical", "categories": ["02139", "8001"]},
    "id": {"kind": "drop"},
    "paid": {"kind": "label", "classes": [0, 1]},
}
CSV = """Variable;Type;Min;Max;Values;Missing;Empty;Question
age;integer;18;90;;-9;;How old?
city;category;;;"Bern | <=50K";;;
member;bool;;;;;yes;
born;date;1900-01-01;2024-02-29;;;;
level;ordinal;;;"low|high";;;
code;text;;;"02139=Cambridge | 8001=Zurich";;;
id;id;;;;;;
paid;;;;"0=no; 1=yes";;;
gone;number;0;1;;;;
"""
TOML = """[columns]
age = { type = "integer", lower = 18, upper = 90, missing = ["-9"] }
city = { labels = ["Bern", "<=50K"] }
member = { type = "boolean", empty = true }
born = { type = "date", lower = 1900-01-01, upper = 2024-02-29 }
level = { type = "ordinal", labels = ["low", "high"] }
code = { type = "text", labels = { 02139 = "Cambridge", 8001 = "Zurich" } }
id = { type = "drop" }
paid = { labels = { 0 = "no", 1 = "yes" } }
"""
FIELDS = [
    {
        "name": "age",
        "type": "integer",
        "constraints": {"minimum": 18, "maximum": 90},
        "missingValues": ["-9"],
    },
    {"name": "city", "type": "string", "constraints": {"enum": ["Bern", "<=50K"]}},
    {"name": "member", "type": "boolean", "constraints": {"required": False}},
    {
        "name": "born",
        "type": "date",
        "constraints": {"minimum": "1900-01-01", "maximum": "2024-02-29"},
    },
    {"name": "level", "type": "string", "categories": ["low", "high"], "categoriesOrdered": True},
    {"name": "code", "type": "string", "constraints": {"enum": ["02139", "8001"]}},
    {"name": "id", "type": "integer"},
    {
        "name": "paid",
        "type": "integer",
        "categories": [{"value": 0, "label": "no"}, {"value": 1, "label": "yes"}],
    },
]
SCHEMA = {"fields": FIELDS, "primaryKey": "id", "missingValues": ["", "NA"]}
PACKAGE = {"resources": [{"path": "other.csv"}, {"path": "a/rows.csv", "schema": SCHEMA}]}
CSVW = {
    "@context": "http://www.w3.org/ns/csvw",
    "url": "rows.csv",
    "tableSchema": {
        "null": "-9",
        "columns": [
            {
                "titles": {"en": "age"},
                "name": "a_g_e",
                "datatype": {"base": "integer", "minimum": "18", "maxInclusive": 90},
            },
            {"name": "member", "datatype": "boolean", "required": False, "null": []},
            {
                "titles": ["born"],
                "null": [],
                "datatype": {
                    "base": "date",
                    "format": "yyyy-MM-dd",
                    "minimum": "1900-01-01",
                    "maximum": "2024-02-29",
                },
            },
        ],
    },
}
FORMS = {
    "book.csv": CSV,
    "book.toml": TOML,
    "schema.json": json.dumps(SCHEMA),
    "datapackage.json": json.dumps(PACKAGE),
    "rows.csv-metadata.json": json.dumps(CSVW),
}


@pytest.fixture
def rows(tmp_path):
    (tmp_path / "rows.csv").write_text(ROWS)
    return tmp_path / "rows.csv"


def write(rows, name, text):
    book = rows.with_name(name)
    book.write_bytes(text if isinstance(text, bytes) else text.encode())
    return book


def columns(rows, book, target="paid"):
    return tomllib.loads(schema_template(rows, target, book))["columns"]


@pytest.mark.parametrize("name", FORMS)
def test_a_codebook_fills_in_what_it_says(rows, name):
    found = columns(rows, write(rows, name, FORMS[name]))
    if "metadata" in name:  # CSV on the Web has no lists of values.
        assert {k: found[k] for k in ("age", "member", "born")} == {
            k: WANTED[k] for k in ("age", "member", "born")
        }
        assert "FILL-IN" in found["city"]["categories"]
        return
    assert found == WANTED
    schema = Schema.from_toml(schema_template(rows, "paid", rows.with_name(name)))
    assert ("NA" in schema.missing) == (name in ("schema.json", "datapackage.json"))
    with_two = write(rows, "rows.csv", ROWS + "30,<=50K,,2001-02-03,high,8001,2,1\n")
    assert Dataset.from_file(with_two, schema).y.tolist() == [-1, 1]


def test_a_number_to_predict_has_bounds_and_a_whole_one_of_two_values_classes(rows):
    book = write(rows, "b.csv", "column,type,lower,upper\nage,number,0,90\nid,integer,0,1\n")
    assert columns(rows, book, "age")["age"] == {"kind": "label", "lower": 0, "upper": 90}
    assert columns(rows, book, "id")["id"] == {"kind": "label", "classes": [0, 1]}
    frame = pd.DataFrame({"x": [1], "y": [0.5]})
    for source in (frame, pa.table({"x": [1], "y": [0.5]})):
        label = tomllib.loads(schema_template(source, "y"))["columns"]["y"]
        assert label == {"kind": "label", "lower": "FILL-IN", "upper": "FILL-IN"}
        label = tomllib.loads(schema_template(source, "x"))["columns"]["x"]
        assert label == {"kind": "label", "classes": ["FILL-IN", "FILL-IN"]}


def test_truth_values_to_predict_are_classes_by_the_type_that_rows_declare():
    book = {"fields": [{"name": "y", "type": "boolean"}]}
    for cells, classes in (([True], ["false", "true"]), ([0.0], [0, 1])):
        found = pa.table({"y": cells, "x": [1]})
        assert _label_by(book, found) == {"kind": "label", "classes": classes}
    words = _label_by(book, pa.table({"y": ["TRUE"], "x": [1]}))["classes"]
    assert words == [["false", "False", "FALSE", "0"], ["true", "True", "TRUE", "1"]]


def _label_by(book, table, name="y"):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "schema.json")
        path.write_text(json.dumps(book))
        return tomllib.loads(schema_template(table, name, path))["columns"][name]


def test_a_format_of_dates_and_words_for_truth_are_those_of_csv_on_the_web(rows):
    kinds = {"born": {"base": "date", "format": "dd.MM.yyyy"}}
    kinds |= {"member": {"base": "boolean", "format": "ja|nein"}}
    document = {"tableSchema": {"columns": [{"name": k, "datatype": v} for k, v in kinds.items()]}}
    found = columns(rows, write(rows, "m.json", json.dumps(document)))
    assert found["born"]["format"] == "%d.%m.%Y"
    assert found["member"] == {"kind": "categorical", "categories": ["nein", "ja"]}


def test_columns_are_dropped_by_name_and_pattern(rows):
    found = tomllib.loads(schema_template(rows, "paid", drop=["c*", "id"]))["columns"]
    assert [name for name, table in found.items() if table["kind"] == "drop"] == [
        "city",
        "code",
        "id",
    ]
    with pytest.raises(
        InvalidInputError, match=r"no column 'cty' to be dropped. Did you mean city"
    ):
        schema_template(rows, "paid", drop=["cty"])
    assert schema_template(rows, "paid", drop="id") == schema_template(rows, "paid", drop=["id"])


FAULTS = {
    "column,type\nage,nmber\n": "line 2, column 'type': expected a type, one of number",
    "column,lower\n\nage,1\ncity,x\n": "line 4, column 'lower': expected a finite number",
    "column,lower,upper\nage,80,18\n": "line 2: column 'lower' has no number below that of",
    "column,lower\nage,1e999\n": "line 2, column 'lower': expected a finite number",
    "column,type,upper\nborn,date,31.12.2020\n": "line 2, column 'upper': expected a date",
    "column,labels\ncity,a|b|a\n": "line 2, column 'labels': two labels are equal",
    'column,labels\ncity,"a,b"\n': "line 2, column 'labels': one label, with a comma",
    "column,labels\ncity\n": "line 2: 1 cells, expected 2",
    "column,labels\nage,1\nage,2\n": "line 3: column 'age' has an entry already",
    'column,labels\nage,"1\n': "line 2: a cell cannot be read",
    "column,empty\nage,maybe\n": "line 2, column 'empty': expected yes or no",
    "column,type,kind\nage,,\n": "line 1: two columns are for 'type'",
    "column,type\n,text\n": "line 2: no name of a column",
    "column,type\nheight,number\n": "describes none of the columns",
    b"column,type\nage,\xff\n": "line 2: the bytes are not UTF-8",
    "": "line 1: expected the header of a codebook",
}


@pytest.mark.parametrize("text", FAULTS)
def test_a_fault_is_named_by_line_and_column_without_its_text(rows, text):
    book = write(rows, "book.csv", text)
    with pytest.raises(InvalidInputError) as told:
        schema_template(rows, "paid", book)
    message = str(told.value)
    assert f"{book}" in message and FAULTS[text] in message
    assert not re.search("nmber|1e999|31.12|maybe|height", message)


OTHERS = {
    "b.toml": ("[columns]\nage = { tpe = 1 }", "entry 1: expected a table of type"),
    "c.toml": ("[columns\n", r"line 1"),
    "d.toml": ("[columns]\nage = { lower = true }", "entry 1, key 'lower': expected a finite"),
    "e.toml": ("[columns]\nage = { labels = 3 }", "entry 1, key 'labels': expected a list"),
    "f.json": ('{"fields": [{"name": "age",}]}', r"line 1, column \d+: this is no JSON"),
    "g.json": ('{"fields": [{"name": "age", "name": "b"}]}', "no JSON, or it has a key twice"),
    "h.json": ('{"fields": [{"nam": "age"}]}', "field 1, key 'name': no name"),
    "i.json": ('{"fields": [3]}', "key 'fields': expected a list of objects"),
    "j.json": ('{"fields": {}}', "key 'fields': expected a list of objects"),
    "k.json": ("[]", "expected an object"),
    "l.json": ("{}", "neither a Table Schema"),
    "m.json": ('{"tables": [{"url": "a"}, {"url": "b"}]}', "not one of them has the file"),
    "n.json": ('{"tableSchema": {"columns": [{}]}}', "column 1: neither titles nor a name"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_fault_of_a_document_has_its_place(rows, name):
    text, message = OTHERS[name]
    with pytest.raises(InvalidInputError, match=message) as told:
        schema_template(rows, "paid", write(rows, name, text))
    assert str(rows.with_name(name)) in str(told.value)


@pytest.mark.parametrize("name", ["b.csv", "b.toml", "b.json"])
def test_rows_that_are_taken_for_a_codebook_are_not_quoted(rows, name):
    # The file of rows may be named by mistake, or the header of a codebook be that of rows.
    secrets = [f"SECRET{k}" for k in range(30)]
    for head in ("age,city,paid", "name,type,lower", "column,labels,upper"):
        lines = [",".join(secrets[k : k + 3]) for k in range(0, 30, 3)]
        with pytest.raises(DpcoreError) as told:
            schema_template(rows, "paid", write(rows, name, "\n".join([head, *lines])))
        assert "SECRET" not in str(told.value)


@pytest.mark.parametrize("name", FORMS)
def test_a_mutated_codebook_is_refused_in_a_line_or_read(rows, name):
    rng, text = random.Random(name), FORMS[name].encode()
    n_refused = 0
    for _ in range(60):
        mutant = bytearray(text)
        for _ in range(rng.choice((1, 3, 20))):
            place = rng.randrange(len(mutant))
            mutant[place : place + rng.choice((0, 1, 40))] = rng.choice(
                (b"", b'"', b"\0", b"{", b"]", b",", b"null", b"1e999", b"-", b"\xff", b"\n")
            )
        try:
            read_codebook(write(rows, name, bytes(mutant)), "rows.csv").of_columns(["age", "born"])
        except DpcoreError as error:
            assert "\n" not in str(error) and len(str(error)) < 300 + len(str(rows))
            n_refused += 1
    assert n_refused > 5


def test_a_file_that_is_gone_is_one_line(rows):
    with pytest.raises(DpcoreError, match=r"book.xlsx: a codebook is CSV, TOML or JSON; save"):
        schema_template(rows, codebook="book.xlsx")
    with pytest.raises(DpcoreError, match=r"gone.csv cannot be read \(FileNotFoundError\)"):
        schema_template(rows, "paid", rows.with_name("gone.csv"))


ANSWERS = (
    b"8\nc\n0,1\nn\nx\n18\n90\nc\nBern,Basel\nb\nd\n1900-01-01\n2024-02-29\no\nlow,high\nx\nx\n50\n"
)


def test_questions_show_no_cell_and_depend_on_none(rows):
    said = dpcore(f"dpcore schema {rows} --interactive", ANSWERS)
    assert said.status == 0, said.err
    assert "expected a number, or p" in said.err.lower() and "Basel" not in said.err
    schema = Schema.from_toml(said.out)
    assert schema.rows == 50 and schema.label.classes == ((0,), (1,))
    assert Dataset.from_file(rows, schema).y.tolist() == [-1]
    rows.write_text(ROWS.splitlines()[0] + "\nSECRET,1\nno,rows,at,all\n")
    assert dpcore(f"dpcore schema {rows} --interactive", ANSWERS) == said


@pytest.mark.parametrize("n_lines", range(0, 18, 4))
def test_answers_that_end_early_write_nothing(rows, n_lines):
    answers = b"".join(ANSWERS.splitlines(keepends=True)[:n_lines])
    said = dpcore(f"dpcore schema {rows} --interactive", answers)
    assert said.status == 2 and said.out == ""
    assert "The answers ended before the schema was whole" in said.err


def test_bounds_are_asked_for_again_where_they_are_none(rows):
    answers = ANSWERS.replace(b"18\n90\n", b"90\n18\n18\np\n")
    said = dpcore(f"dpcore schema {rows} --interactive", answers)
    assert '"age" = { kind = "numeric", lower = 18, upper = "private" }' in said.out
    assert "the lower bound below the upper" in said.err


@pytest.mark.parametrize("answer", [b"Bern Basel", b"Bern|Basel"])
def test_a_list_without_commas_is_asked_for_again(rows, answer):
    again = ANSWERS.replace(b"Bern,Basel", answer + b"\nNew York,")
    said = dpcore(f"dpcore schema {rows} --interactive", again)
    assert '"city" = { kind = "categorical", categories = ["New York"] }' in said.out
    assert "Expected values with commas between them" in said.err


def test_a_codebook_is_for_a_template_alone(rows):
    book = write(rows, "book.csv", CSV)
    for options in ("--from-data --target paid", "--check"):
        for asked in (f"--codebook {book}", "--encoding cp1252"):
            said = dpcore(f"dpcore schema {rows} {options} {asked}")
            assert said.status == 2 and "for a template alone" in said.err


def test_a_target_of_a_type_for_numbers_is_asked_for_its_bounds(tmp_path):
    columns = {"age": pa.array([41], pa.int8()), "paid": pa.array([3.5], pa.float64())}
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    asked = f"dpcore schema {tmp_path}/rows.parquet --target paid --interactive"
    said = dpcore(asked, b"\n0\n9000\n\n18\n90\n\n")
    assert said.status == 0 and "or Enter: a number:" in said.err, said.err
    label = Schema.from_toml(said.out).label
    assert (label.lower, label.upper) == (0, 9000) and "3.5" not in said.err

"""Templates copy nothing of the rows; a schema from the data says that it is."""

import re
import tomllib
from dataclasses import fields

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpcore import Schema
from dpcore.data.schema.keys import TOP_KEYS
from dpcore.errors import DataError, InvalidInputError
from dpcore.plugin.parts import Dataset
from dpcore_tables.schemas.from_data import document_from_data, schema_from_data
from dpcore_tables.schemas.template import schema_template

ROWS = "age,home town,y\n17,Bern,no\n94,Basel,yes\n"


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text(ROWS)
    return path


def test_a_template_holds_the_header_and_nothing_of_the_rows(csv):
    template = schema_template(csv, "y")
    csv.write_text("age,home town,y\n1,Genf,maybe\n")
    assert schema_template(csv, "y") == template
    assert '"home town" = { kind = "FILL-IN"' in template
    with pytest.raises(InvalidInputError, match="still to be filled in"):
        Schema.from_toml(template)


def test_a_template_speaks_of_a_header_where_there_may_be_none(csv, tmp_path):
    frame = pd.read_csv(csv)
    frame.to_parquet(tmp_path / "f.parquet")
    frame.to_excel(tmp_path / "f.xlsx", index=False)
    assert "header = false" in (text := schema_template(csv, "y")) and "# separator" in text
    for source in (frame, tmp_path / "f.parquet", tmp_path / "f.xlsx"):
        template = schema_template(source, "y")
        assert not re.search("header|separator|encoding", template) and "# decimal" in template
        assert len(template.splitlines()[2]) < 100


def test_a_template_that_is_filled_in_loads(csv):
    text = schema_template(csv)
    unknown = 'kind = "FILL-IN", lower = "FILL-IN", upper = "FILL-IN", categories = ["FILL-IN"]'
    text = text.replace(unknown, 'kind = "numeric", lower = 0, upper = 100', 1)
    text = text.replace(unknown, 'kind = "categorical", categories = ["Bern"]')
    text = text.replace('classes = ["FILL-IN", "FILL-IN"]', 'classes = ["no", "yes"]')
    assert Dataset.from_file(csv, Schema.from_toml(text)).y.tolist() == [-1, 1]


def test_a_template_says_which_column_it_takes_for_the_label(csv):
    assert '# The label is taken to be "y", the last column' in schema_template(csv).splitlines()[0]
    assert "is taken to be" not in schema_template(csv, "y")


def test_a_template_tells_every_key_of_a_schema(csv):
    keys = {"row_norm" if f.name == "norm" else f.name for f in fields(Schema) if f.init}
    assert keys == {key.name for key in TOP_KEYS} | {"columns", "crosses"}
    template = schema_template(csv)
    assert all(word in template for word in ("positive", "classes", "categories", "lower, upper"))
    values = "\n".join(x[2:] for x in template.splitlines() if re.match(r"# \w+ = ", x))
    assert set(tomllib.loads(values)) == keys - {"columns", "crosses", "from_data"}


@pytest.mark.parametrize("name", ["f.svm", "f.dat", "f.npz"])
def test_a_template_without_names_has_a_width(tmp_path, name):
    path = tmp_path / name
    with pytest.raises(DataError, match="No such file"):
        schema_template(path)
    X = np.array([[1.0, 0.0], [0.0, 2.0]])
    if name == "f.npz":
        np.savez(path, X=X, y=["no", "yes"])
    else:
        path.write_text("1 0 no\n0 2 yes\n" if name == "f.dat" else "no 1:1\nyes 2:2\n")
    text = schema_template(path)
    for wanted in ('"no", "yes"', "2"):
        with pytest.raises(InvalidInputError, match="still to be filled in"):
            Schema.from_toml(text)
        text = text.replace('"FILL-IN", "FILL-IN"' if "," in wanted else '"FILL-IN"', wanted)
    data = Dataset.from_file(path, Schema.from_toml(text))
    assert data.X.shape == (2, 3) and data.y.tolist() == [-1, 1]
    with pytest.raises(InvalidInputError, match="without --from-data"):
        schema_from_data(path, "label")


@pytest.mark.parametrize(("mark", "written"), [(";", ";"), ("\t", "\\t"), ("|", "|")])
def test_another_separator_is_that_of_the_header(csv, mark, written):
    csv.write_text(ROWS.replace(",", mark))
    assert f'separator = "{written}"\n' in schema_template(csv, "y")
    assert Dataset.from_file(csv, schema_from_data(csv, "y")).y.tolist() == [-1, 1]
    tabs = csv.with_suffix(".tsv")
    tabs.write_text(ROWS.replace(",", "\t"))
    assert Dataset.from_file(tabs, schema_from_data(tabs, "y")).y.tolist() == [-1, 1]


def test_bytes_that_are_not_utf8_are_refused(csv):
    csv.write_bytes(b"age,caf\xe9,y\n1,a,no\n2,b,yes\n")
    for make in (schema_template, schema_from_data):
        with pytest.raises(DataError, match="line 1: the bytes are not UTF-8"):
            make(csv, "y")
    csv.write_bytes(b"age,cafe,y\n1,\xe9,no\n2,b,yes\n")
    assert "cafe" in schema_template(csv, "y")
    with pytest.raises(DataError, match="line 2: the bytes are not UTF-8"):
        schema_from_data(csv, "y")


def test_a_column_of_many_values_is_dropped(csv):
    rows = [f"k{i},{'ab'[i % 2]},{'TRUE' if i % 3 else 'FALSE'}\n" for i in range(1001)]
    csv.write_text("id,c,y\n" + "".join(rows))
    text = document_from_data(csv, "y")
    assert 'id = { kind = "drop" }  # more than 1000 distinct values\n' in text
    schema = Schema.from_toml(text)
    assert schema == schema_from_data(csv, "y") and schema.n_features == 3
    assert Dataset.from_file(csv, schema).y.tolist()[:3] == [-1, 1, 1]
    csv.write_text("id,c,y\n" + "".join(rows[:1000]))
    assert schema_from_data(csv, "y").n_features == 1003


def test_a_template_of_a_parquet_file_has_its_types(tmp_path):
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table({"a": [1.5], "b": ["x"], "y": [True]}), path)
    template = schema_template(path, "y")
    assert '"a" = { kind = "numeric", lower = "FILL-IN", upper = "FILL-IN" }' in template
    assert '"b" = { kind = "categorical", categories = ["FILL-IN"] }' in template
    with pytest.raises(InvalidInputError, match="still to be filled in"):
        Schema.from_toml(template)


def test_types_fill_in_what_they_say(tmp_path):
    frame = pd.DataFrame(
        {
            "a": [1, 2],
            "b": ["x", "z"],
            "c": pd.Categorical(["secret", "words"]),
            "d": pd.to_datetime(["2020-01-01", None]),
            "y": [True, False],
        }
    )
    frame.to_parquet(tmp_path / "f.parquet")
    for source in (frame, tmp_path / "f.parquet"):
        text = schema_template(source, "y")
        columns = tomllib.loads(text)["columns"]
        assert columns["a"] == {"kind": "numeric", "lower": "FILL-IN", "upper": "FILL-IN"}
        assert columns["c"] == {"kind": "categorical", "categories": ["FILL-IN"]}
        assert columns["d"] == {"kind": "date", "lower": "FILL-IN", "upper": "FILL-IN"}
        assert columns["y"] == {"kind": "label", "classes": ["false", "true"]}
        assert schema_template(source, "a") != text and "secret" not in text
    flags = schema_template(frame[["y", "d"]], "d")
    assert tomllib.loads(flags)["columns"]["y"] == {"kind": "boolean"}
    objects = schema_template(frame.astype(object), "y")
    assert tomllib.loads(objects)["columns"]["a"]["kind"] == "FILL-IN"


def test_a_schema_from_the_data_takes_empty_cells_and_types(tmp_path):
    frame = pd.DataFrame(
        {
            "a": [1.0, None, 3.0],
            "d": pd.to_datetime(["2020-01-01", None, "2020-03-01"]),
            "f": pd.array([True, None, False], "boolean"),
            "y": [0, 1, 1],
        }
    )
    frame.to_parquet(tmp_path / "f.parquet")
    schema = schema_from_data(tmp_path / "f.parquet", "y")
    assert (
        repr(schema.label)
        == "Label(name='y', classes=((0,), (1,)), other=None, lower=None, upper=None, missing=())"
    )
    X = Dataset.from_file(tmp_path / "f.parquet", schema).X
    assert X.tolist() == [[0, 0, 0, 0, 1, 0, 1], [0, 1, 0, 1, 0, 1, 1], [1, 0, 1, 0, 0, 0, 1]]


def test_a_dropped_column_of_dates_says_why(tmp_path):
    path = tmp_path / "f.parquet"
    day = pd.Timestamp("2020-01-01")
    pd.DataFrame({"x": [1, 2], "d": [day, day], "y": [0, 1]}).to_parquet(path)
    assert 'd = { kind = "drop" }  # no two distinct dates,' in document_from_data(path, "y")


def test_text_of_digits_is_no_number_with_a_comma(tmp_path, caplog):
    path = tmp_path / "f.parquet"
    codes = [f"{j:05}" for j in range(1500)]
    pd.DataFrame({"code": codes, "x": range(1500), "y": [0, 1] * 750}).to_parquet(path)
    schema_from_data(path, "y")
    (told,) = (record.getMessage() for record in caplog.records)
    assert "column 'code' is text of more than 1000 values and is left out" in told


def test_a_target_of_numbers_has_the_bounds_of_the_rows(csv):
    csv.write_text("x,y\n1,-3\n2,0.5\n3,8\n")
    schema = schema_from_data(csv, "y")
    assert (schema.label.lower, schema.label.upper) == (-3.0, 8.0) and schema.from_data
    assert Schema.from_toml(document_from_data(csv, "y")) == schema


def test_no_template_has_a_column_twice(csv):
    csv.write_text("a,a,y\n1,2,no\n")
    with pytest.raises(DataError, match="duplicate column name 'a'"):
        schema_template(csv)


def test_a_schema_from_the_data_is_marked(csv):
    schema = schema_from_data(csv, "y")
    assert schema.from_data
    assert Schema.from_toml(schema.to_toml()) == schema
    data = Dataset.from_file(csv, schema)
    assert data.from_data
    assert data.X.toarray().round(4).tolist() == [[0, 0, 1, 1], [1, 1, 0, 1]]


def test_what_is_no_file_and_no_frame_has_no_template():
    with pytest.raises(InvalidInputError, match="name of a file, or a frame of pandas"):
        schema_template([1, 2])


@pytest.mark.parametrize(
    ("text", "target", "error", "message"),
    [
        (ROWS, "z", InvalidInputError, "no column 'z' to be the target. A file of text"),
        (ROWS + "3,Bern\n", "y", DataError, "cannot be read"),
        ("a,a,y\n", "y", DataError, "duplicate column name 'a'"),
        (ROWS.replace("no", "yes"), "y", InvalidInputError, "bounds of a number, in a schema"),
        ("", "y", DataError, "empty"),
    ],
)
def test_a_schema_from_bad_data_is_refused(csv, text, target, error, message):
    csv.write_text(text)
    with pytest.raises(error, match=message):
        schema_from_data(csv, target)


def test_a_first_line_that_is_a_row_is_not_told(tmp_path):
    (tmp_path / "r.csv").write_text("P00000,48,Yes\nP00001,17,No\n")
    with pytest.raises(InvalidInputError, match="header = false") as caught:
        schema_from_data(tmp_path / "r.csv", "employed")
    assert "P0" not in str(caught.value) and "48" not in str(caught.value)

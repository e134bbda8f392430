"""Templates copy nothing of the rows; a schema from the data says that it is."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpcore.data.dataset import load_file
from dpcore.data.schema import Schema
from dpcore.data.template import schema_from_data, schema_template
from dpcore.errors import DataError, InvalidInputError

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


def test_a_template_that_is_filled_in_loads(csv):
    text = schema_template(csv)
    unknown = 'kind = "FILL-IN", lower = "FILL-IN", upper = "FILL-IN", categories = ["FILL-IN"]'
    text = text.replace(unknown, 'kind = "numeric", lower = 0, upper = 100', 1)
    text = text.replace(unknown, 'kind = "categorical", categories = ["Bern"]')
    text = text.replace('classes = ["FILL-IN", "FILL-IN"]', 'classes = ["no", "yes"]')
    assert load_file(csv, Schema.from_toml(text)).y.tolist() == [-1, 1]


def test_a_template_of_a_parquet_file_has_its_types(tmp_path):
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table({"a": [1.5], "b": ["x"], "y": [True]}), path)
    template = schema_template(path, "y")
    assert '"a" = { kind = "numeric", lower = "FILL-IN", upper = "FILL-IN" }' in template
    assert '"b" = { kind = "categorical", categories = ["FILL-IN"] }' in template
    with pytest.raises(InvalidInputError, match="still to be filled in"):
        Schema.from_toml(template)


def test_a_schema_from_the_data_is_marked(csv):
    schema = schema_from_data(csv, "y")
    assert schema.from_data
    assert Schema.from_toml(schema.to_toml()) == schema
    data = load_file(csv, schema)
    assert data.from_data
    assert data.X.toarray().round(4).tolist() == [[0, 0, 1, 1], [1, 1, 0, 1]]


@pytest.mark.parametrize(
    ("text", "target", "error", "message"),
    [
        (ROWS, "z", InvalidInputError, "no column 'z'"),
        (ROWS + "3,Bern,maybe\n", "y", InvalidInputError, "not exactly two values"),
        (ROWS + "3,Bern\n", "y", DataError, "cannot be read"),
        ("a,a,y\n", "y", DataError, "duplicate"),
        ("", "y", DataError, "empty"),
    ],
)
def test_a_schema_from_bad_data_is_refused(csv, text, target, error, message):
    csv.write_text(text)
    with pytest.raises(error, match=message):
        schema_from_data(csv, target)

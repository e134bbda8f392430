"""Empty cells: what fill and indicator make of them, from every source, and the bounds of rows."""

import math

import numpy as np
import pandas as pd
import pytest

from dpcore import Schema
from dpcore.errors import DataError, InvalidInputError
from dpcore.plugin.parts import Dataset, dataset_from_arrays
from dpcore_tables.statistics.raw_cells import raw_cells
from dpcore_tables.store import convert

NUMBER = {"kind": "numeric", "lower": 0, "upper": 10}
TOWN = {"kind": "categorical", "categories": ["Bern", "Basel"]}
SIZE = {"kind": "categorical", "categories": [1, 2.5]}
FILLED = {"age": NUMBER | {"fill": 5}, "town": TOWN | {"fill": "Basel"}, "size": SIZE | {"fill": 1}}
MARKED = {
    name: column | {"indicator": True}
    for name, column in (("age", NUMBER), ("town", TOWN), ("size", SIZE))
}
BOTH = MARKED | {"age": NUMBER | {"fill": 30, "indicator": True}}
ROWS = ["10,Bern,1,0", ",,,1", "NA,NA, NA ,1", "0,Genf,7,0"]
EXPECTED = {
    "filled": [[1, 1, 0, 1, 0], [0.5, 0, 1, 1, 0], [0.5, 0, 1, 1, 0], [0, 0, 0, 0, 0]],
    "marked": [[1, 0, 1, 0, 0, 1, 0, 0], *[[0, 1, 0, 0, 1, 0, 0, 1]] * 2, [0] * 8],
    "both": [[1, 0, 1, 0, 0, 1, 0, 0], *[[1, 1, 0, 0, 1, 0, 0, 1]] * 2, [0] * 8],
}
COLUMNS = {"filled": FILLED, "marked": MARKED, "both": BOTH}


def schema_of(columns, **keys):
    label = {"y": {"kind": "label", "classes": [0, 1]}}
    return Schema.from_dict({"missing": ["", "NA"], "columns": columns | label, **keys})


def features(data):
    X = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
    return X[:, :-1].tolist()


@pytest.mark.parametrize("name", COLUMNS)
def test_what_an_empty_cell_becomes(name, tmp_path):
    schema, path = schema_of(COLUMNS[name]), tmp_path / "f.csv"
    path.write_text("\n".join(["age,town,size,y", *ROWS]) + "\n")
    found = Dataset.from_file(path, schema)
    assert features(found) == EXPECTED[name]
    assert len(schema.feature_names) == schema.n_features == len(EXPECTED[name][0]) + 1
    frame = pd.DataFrame(
        {
            "age": [10.0, None, np.nan, 0],
            "town": ["Bern", None, "NA", "Genf"],
            "size": [1.0, None, None, 7.0],
            "y": [0, 1, 1, 0],
        }
    )
    frame.to_parquet(tmp_path / "f.parquet")
    assert features(Dataset.from_file(tmp_path / "f.parquet", schema)) == EXPECTED[name]
    for typed in (frame, frame.astype(object)):
        assert features(dataset_from_arrays(typed, schema=schema)) == EXPECTED[name]
    convert(path, tmp_path / "f.dpcore", schema)
    stored = Dataset.from_file(tmp_path / "f.dpcore", None)
    assert stored.schema == schema
    with stored.X.block(0) as rows:
        assert rows.toarray()[:, :-1].tolist() == EXPECTED[name]


@pytest.mark.parametrize(("name", "square"), [("filled", 4), ("marked", 4), ("both", 5)])
def test_the_bound_of_a_row_is_met_and_never_passed(name, square, tmp_path):
    schema = schema_of(COLUMNS[name])
    assert schema.raw_norm_bound == pytest.approx(math.sqrt(square), rel=1e-15)
    rows = np.array(EXPECTED[name])
    assert (rows**2).sum(axis=1).max() <= square - 1
    if name == "both":
        assert (rows**2).sum(axis=1).max() == square - 1
    (tmp_path / "f.csv").write_text("\n".join(["age,town,size,y", *ROWS]) + "\n")
    # The table is made after the bound of every row was verified in integers.
    assert Dataset.from_file(tmp_path / "f.csv", schema).table().n_rows == 4


@pytest.mark.parametrize("word", ["nan", "NaN", "n/a"])
@pytest.mark.parametrize("company", ["1", "text"])
def test_a_word_is_empty_only_where_the_schema_lists_it(word, company, tmp_path):
    """Arrow takes "nan" for a number, unless another cell of the piece is none."""
    path = tmp_path / "f.csv"
    path.write_text(f"age,note,y\n{word},{company},0\n")
    note = {"note": {"kind": "numeric", "lower": 0, "upper": 1, "fill": 0}}
    if company == "text":
        note = {"note": {"kind": "categorical", "categories": ["text"]}}
    columns = {"age": FILLED["age"]} | note
    with pytest.raises(DataError, match=r"line 2, column 'age': .*list it in missing = \[...\]"):
        Dataset.from_file(path, schema_of(columns))
    assert features(Dataset.from_file(path, schema_of(columns, missing=[word])))[0][0] == 0.5


def test_the_refusal_names_what_can_be_done(tmp_path):
    (tmp_path / "f.csv").write_text("age,y\n1,0\nNA,1\n")
    with pytest.raises(DataError, match="line 3.*set fill = VALUE or indicator = true"):
        Dataset.from_file(tmp_path / "f.csv", schema_of({"age": NUMBER}))


@pytest.mark.parametrize("name", COLUMNS)
def test_a_check_counts_empty_cells_as_such(name, tmp_path):
    (tmp_path / "f.csv").write_text("\n".join(["age,town,size,y", *ROWS, "11,,one,3"]) + "\n")
    counts = sum(b.counts() for b in raw_cells(str(tmp_path / "f.csv"), schema_of(COLUMNS[name])))
    bins = counts[1:].reshape(4, 4).tolist()
    assert bins == [[0, 1, 0, 2], [0, 0, 1, 3], [0, 0, 2, 2], [0, 0, 1, 0]]


@pytest.mark.parametrize(
    ("column", "text"),
    [
        (NUMBER | {"fill": "x"}, "fill of column 'x' to be a finite number"),
        (NUMBER | {"fill": math.nan}, "fill of column 'x' to be a finite number"),
        (NUMBER | {"indicator": 1}, "indicator of column 'x' to be true or false"),
        (TOWN | {"fill": "Genf"}, "fill of column 'x' to be one of its values"),
        (TOWN | {"fill": ["Bern"]}, "fill of column 'x' to hold text or numbers"),
        (SIZE | {"fill": "1"}, "fill of column 'x' to be one of its values"),
        (TOWN | {"fill": "Bern", "indicator": True}, "fill or indicator in column 'x', not both"),
        (TOWN | {"categories": ["Bern", "NA"]}, "set indicator = true"),
    ],
)
def test_keys_that_cannot_be(column, text):
    with pytest.raises(InvalidInputError, match=text):
        schema_of({"x": column})


@pytest.mark.parametrize("name", COLUMNS)
def test_toml_and_json_bring_the_keys_back(name):
    schema = schema_of(COLUMNS[name])
    assert Schema.from_toml(schema.to_toml()) == schema == Schema.from_dict(schema.to_dict())


def test_truth_values_with_gaps_are_as_pandas_writes_them(tmp_path):
    schema = schema_of({"flag": {"kind": "boolean", "fill": True}})
    frame = pd.DataFrame({"flag": [1, None, 0], "y": [0, 1, 1]})
    frame.to_csv(tmp_path / "f.csv", index=False)
    assert "1.0" in (tmp_path / "f.csv").read_text()
    assert features(Dataset.from_file(tmp_path / "f.csv", schema)) == [[1], [1], [0]]

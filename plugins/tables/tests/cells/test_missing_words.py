"""Words for no value of one column: what they make empty there, and nowhere else."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpcore import Schema
from dpcore.errors import DataError, InvalidInputError
from dpcore.plugin.parts import Dataset, dataset_from_arrays
from dpcore_tables.statistics.raw_cells import raw_cells

AGE = {"kind": "numeric", "lower": 0, "upper": 100, "fill": 50, "missing": ["-9", "x"]}
TOWN = {"kind": "categorical", "categories": ["Bern", "x"], "indicator": True, "missing": ["-9"]}
SIZE = {"kind": "ordinal", "levels": [1, 2, 3], "fill": 2, "missing": ["9"]}
COLUMNS = {
    "age": AGE,
    "rank": {"kind": "numeric", "lower": -10, "upper": 0, "fill": 0},
    "town": TOWN,
    "size": SIZE,
    "flag": {"kind": "boolean", "fill": True, "missing": ["-9"]},
    "day": {"kind": "date", "lower": "2000-01-01", "upper": "2000-01-03", "fill": "2000-01-02"}
    | {"missing": ["never"]},
    "code": {"kind": "hashed", "buckets": 2, "indicator": True, "missing": ["-9"]},
    "band": {"kind": "numeric", "bins": [5], "indicator": True, "missing": ["-9"]},
    "bend": {"kind": "numeric", "knots": [0, 10], "indicator": True, "missing": ["-9"]},
}
EMPTY = ["-9", "-10", "-9", "9", "-9", "never", "-9", "-9", "-9"]
GIVEN = ["100", "-10", "x", "3", "no", "2000-01-03", "k", "7", "10"]
AS_EMPTY = [0.5, 0, 0, 0, 1, 0.5, 1, 0.5, 0, 0, 1, 0, 0, 1, 0, 0, 1]
AS_GIVEN = [1, 0, 0, 1, 0, 1, 0, 1, None, None, 0, 0, 1, 0, 0, 1, 0]


def schema_of(columns, **keys):
    label = {"y": {"kind": "label", "classes": [0, 1], "missing": ["7"]}}
    return Schema.from_dict({"columns": columns | label, **keys})


def written(path, columns, *rows):
    path.write_text("\n".join(",".join(cells) for cells in ([*columns, "y"], *rows)) + "\n")
    return path


def features(data):
    X = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
    return X[:, :-1].tolist()


def agrees(found, expected):
    return all(e is None or abs(x - e) < 1e-6 for x, e in zip(found, expected, strict=True))


def test_they_are_empty_in_that_column_alone(tmp_path):
    schema = schema_of(COLUMNS)
    path = written(tmp_path / "f.csv", COLUMNS, [*EMPTY, "0"], [*GIVEN, "1"])
    empty, given = features(Dataset.from_file(path, schema))
    assert agrees(empty, AS_EMPTY)
    assert agrees(given, AS_GIVEN)
    counts = sum(block.counts() for block in raw_cells(str(path), schema))
    assert counts[4::4].tolist() == [1, 0, 1, 1, 1, 1, 1, 1, 1, 0]


NUMBERS = {"age": AGE, "size": SIZE, "flag": COLUMNS["flag"], "band": COLUMNS["band"]}
FRAME = pd.DataFrame(
    {"age": [-9.0, 100], "size": [9, 3], "flag": [-9, 0], "band": [-9, 7], "y": [0, 1]}
)


@pytest.mark.parametrize("kind", ["typed", "objects", "arrow", "parquet"])
def test_the_text_of_a_whole_number_is_that_number_among_numbers(kind, tmp_path):
    schema, frame = schema_of(NUMBERS), FRAME
    if kind == "parquet":
        frame.to_parquet(tmp_path / "f.parquet")
        found = Dataset.from_file(tmp_path / "f.parquet", schema)
    else:
        frame = pa.Table.from_pandas(frame) if kind == "arrow" else frame
        frame = frame.astype(object) if kind == "objects" else frame
        found = dataset_from_arrays(frame, schema=schema)
    empty, given = features(found)
    assert agrees(empty, [0.5, 0.5, 1, 0, 0, 1])
    assert agrees(given, [1, 1, 0, 0, 1, 0])


def test_a_truth_value_is_no_number_that_means_none():
    flag = {"flag": {"kind": "boolean", "fill": False, "missing": ["1"]}, "band": NUMBERS["band"]}
    for cells in ([True, False], [1, 0]):
        frame = pd.DataFrame({"flag": cells, "band": [1, 2], "y": [0, 1]})
        for typed in (frame, frame.astype(object)):
            first, _ = features(dataset_from_arrays(typed, schema=schema_of(flag)))
            assert first[0] == (1 if cells[0] is True else 0)


def test_a_label_of_its_words_is_missing(tmp_path):
    path = written(tmp_path / "f.csv", {"age": AGE, "town": TOWN}, ["1", "x", "7"])
    with pytest.raises(DataError, match="line 2, column 'y'"):
        Dataset.from_file(path, schema_of({"age": AGE, "town": TOWN}))
    assert (
        len(Dataset.from_file(path, schema_of({"age": AGE, "town": TOWN}), bad_rows="drop").y) == 0
    )


@pytest.mark.parametrize("word", ["NA", "n/a", "None", "."])
@pytest.mark.parametrize("kind", ["csv", "objects", "arrow"])
def test_a_usual_word_is_named_and_no_other_cell(word, kind, tmp_path):
    age = {"kind": "numeric", "lower": 0, "upper": 1, "fill": 0}

    def load(cell, age):
        path = written(tmp_path / "f.csv", ["age", "town"], ["0", "x", "0"], [cell, "x", "0"])
        if kind == "csv":
            return Dataset.from_file(path, schema_of({"age": age, "town": TOWN}))
        frame = pd.DataFrame({"age": ["0", cell], "town": ["x", "x"], "y": [0, 0]}, dtype=object)
        frame = pa.Table.from_pandas(frame) if kind == "arrow" else frame
        return dataset_from_arrays(frame, schema=schema_of({"age": age, "town": TOWN}))

    with pytest.raises(DataError, match=rf'the cell is "{word}"; .* missing = \[...\]') as told:
        load(f" {word} ", age)
    assert "fill = VALUE" not in str(told.value)
    with pytest.raises(DataError, match=rf'the cell is "{word}".*, with fill = VALUE or ind'):
        load(word, {key: value for key, value in age.items() if key != "fill"})
    assert features(load(word, age | {"missing": [word]}))[1][0] == 0
    with pytest.raises(DataError) as told:
        load("secret", age)
    assert "secret" not in str(told.value)


def test_wildcards_pass_them_on_and_files_of_schemas_keep_them(tmp_path):
    schema = schema_of({"x*": AGE, "town": TOWN}, missing=["", "NA"])
    for again in (Schema.from_toml(schema.to_toml()), Schema.from_dict(schema.to_dict())):
        assert again == schema
    path = written(tmp_path / "f.csv", ["x1", "x2", "town"], ["-9", "NA", "-9", "1"])
    (row,) = features(Dataset.from_file(path, schema))
    assert agrees(row, [0.5, 0.5, 0, 0, 1])
    all_kinds = schema_of(COLUMNS)
    assert Schema.from_toml(all_kinds.to_toml()) == all_kinds


@pytest.mark.parametrize(
    ("column", "text"),
    [
        (TOWN | {"missing": ["Bern"]}, "Value 'Bern' of column 'x' is also in missing"),
        ({"kind": "categorical", "categories": [1, 2], "missing": ["2"]}, "Value 2 of column 'x'"),
        (SIZE | {"missing": ["3"]}, "Value 3 of column 'x' is also in missing"),
        (AGE | {"missing": "-9"}, "missing of column 'x' to be a list of texts"),
        (AGE | {"missing": [-9]}, "missing of column 'x' to be a list of texts, as in .*-9"),
        (AGE | {"missing": ["NA "]}, "Value 'NA ' of column 'x' has outer spaces"),
        ({"kind": "drop", "missing": ["NA"]}, "Unknown key 'missing' in column 'x'"),
    ],
)
def test_words_that_cannot_be(column, text):
    with pytest.raises(InvalidInputError, match=text):
        schema_of({"x": column, "age": AGE})


def test_words_of_the_table_are_texts():
    with pytest.raises(InvalidInputError, match="missing of the schema to be a list of texts"):
        schema_of({"age": AGE}, missing=[-9])

"""Rows from standard input, folders and patterns of Parquet files, and as others write text."""

import io
import sys

import numpy as np
import pandas as pd
import pytest

from dpcore import Schema
from dpcore.errors import DataError, InvalidInputError
from dpcore.plugin.engines import Files
from dpcore.plugin.parts import Dataset, dataset_from_arrays
from dpcore_tables.files.input_paths import partition_files
from dpcore_tables.schemas.from_data import schema_from_data
from dpcore_tables.schemas.template import schema_template
from dpcore_tables.statistics import check_schema
from dpcore_tables.store import convert

COLUMNS = """
[columns]
age = { kind = "numeric", lower = 0, upper = 100 }
pay = { kind = "numeric", lower = 0, upper = 1e6 }
y = { kind = "label", classes = [0, 1] }
"""
SCHEMA = Schema.from_toml(COLUMNS)
ROWS = "age,pay,y\n25,500000,0\n50,1234.5,1\n"
FEATURES = [[0.25, 0.5, 1.0], [0.5, 80 / 2**16, 1.0]]


@pytest.fixture
def stdin(monkeypatch):
    def given(text):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode("utf-8"))))

    return given


def test_standard_input(stdin, tmp_path):
    stdin(ROWS)
    assert Dataset.from_file("-", SCHEMA).X.tolist() == FEATURES
    with pytest.raises(DataError, match="-: the file is empty"):
        Dataset.from_file("-", SCHEMA)
    stdin(ROWS)
    convert("-", tmp_path / "f.dpcore", SCHEMA)
    assert Dataset.from_file(tmp_path / "f.dpcore", None).y.tolist() == [-1, 1]
    stdin(ROWS)
    assert "age" in schema_template("-", "y")
    stdin(ROWS + "x,1,0\n")
    with pytest.raises(DataError, match="-, line 4, column 'age': the cell is not a finite"):
        Dataset.from_file("-", SCHEMA)


def test_what_reads_twice_refuses_standard_input(stdin):
    stdin(ROWS)
    for refused in (
        lambda: check_schema("-", SCHEMA),
        lambda: schema_from_data("-", "y"),
        lambda: Dataset.from_file("-", Schema.from_toml(COLUMNS.replace("age =", '"a*" ='))),
    ):
        with pytest.raises(InvalidInputError, match="can be read once only"):
            refused()


@pytest.fixture
def folder(tmp_path):
    frame = pd.DataFrame({"age": [25, 50, 75], "pay": [5e5, 1234.5, 0.0], "y": [0, 1, 1]})
    frame[:1].to_parquet(tmp_path / "b.parquet")
    frame[1:].to_parquet(tmp_path / "c.pq")
    (tmp_path / "notes.txt").write_text("none of them")
    return tmp_path


def test_a_folder_and_a_pattern_of_parquet_files(folder):
    assert Files.format_of(str(folder)) == "parquet"
    data = Dataset.from_file(folder, SCHEMA)
    assert data.X[:2].tolist() == FEATURES and data.X.shape == (3, 3)
    assert data.typed_by == "file"
    assert Dataset.from_file(folder / "?.parquet", SCHEMA).X.tolist() == FEATURES[:1]
    (folder / "c.pq").rename(folder / "c.parquet")
    assert Dataset.from_file(folder / "[b-z]*.parquet", SCHEMA).X.tolist() == data.X.tolist()
    assert check_schema(str(folder), SCHEMA).rows == 3
    assert 'age" = { kind = "numeric"' in schema_template(folder, "y")
    assert schema_from_data(folder, "y").n_features == 3
    wild = Schema.from_toml(COLUMNS.replace("age =", '"a*" ='))
    assert Dataset.from_file(folder, wild).schema == SCHEMA


def test_folders_that_cannot_be_read(folder):
    pd.DataFrame({"age": [1], "y": [0]}).to_parquet(folder / "d.parquet")
    with pytest.raises(DataError, match="d.parquet: no column 'pay'"):
        Dataset.from_file(folder, SCHEMA)
    pd.DataFrame({"age": [None], "pay": [1.0], "y": [0]}).to_parquet(folder / "d.parquet")
    with pytest.raises(DataError, match="d.parquet, row 1, column 'age': the cell is empty"):
        Dataset.from_file(folder, SCHEMA)
    (folder / "d.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match="d.parquet: not a whole Parquet file"):
        Dataset.from_file(folder, SCHEMA)
    (folder / "none").mkdir()
    with pytest.raises(DataError, match="none' has no Parquet file"):
        Dataset.from_file(folder / "none", SCHEMA)
    with pytest.raises(DataError, match="No such file: .*z"):
        Dataset.from_file(folder / "z*.parquet", SCHEMA)


@pytest.mark.parametrize("schema", [SCHEMA, None])
@pytest.mark.parametrize("place", ["", "*.dpcore"])
def test_a_folder_of_stores_is_one_table_to_engines_of_files_alone(tmp_path, schema, place):
    for name in ("a.dpcore", "b.dpcore"):
        (tmp_path / name).touch()
    with pytest.raises(InvalidInputError, match="names stores, .*--engine dask"):
        Dataset.from_file(tmp_path / place, schema)


def test_a_pattern_that_no_partition_meets(tmp_path):
    with pytest.raises(DataError, match="No such file: .*z"):
        partition_files(f"{tmp_path}/z*.parquet")


def test_a_pattern_of_text_files_is_not_told_to_be_no_file(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text(ROWS)
    with pytest.raises(DataError, match="names files of text, of which this command reads one"):
        Dataset.from_file(tmp_path / "*.csv", SCHEMA)
    assert len(partition_files(f"{tmp_path}/*.csv")) == 2  # To an engine of partitions, a table.
    with pytest.raises(DataError, match="No such file"):
        Dataset.from_file(tmp_path / "z*.csv", SCHEMA)


@pytest.mark.parametrize(
    ("mark", "name"), [(";", "semicolon"), ("\t", "tab"), ("|", "bar"), (",", "comma")]
)
def test_another_separator_is_named(tmp_path, mark, name):
    path = tmp_path / "f.csv"
    path.write_text(ROWS.replace(",", mark))
    own = ";" if mark == "," else ","
    written = mark.replace("\t", r"\\t").replace("|", r"\|")
    told = f'This looks {name}-separated: separator = "{written}"'
    with pytest.raises(DataError, match=f"no column 'age'.*{told}"):
        Dataset.from_file(path, Schema.from_toml(f'separator = "{own}"\n{COLUMNS}'))
    path.write_text(path.read_text().split("\n", 1)[1])
    bare = f'header = false\nseparator = "{own}"\n{COLUMNS}'
    with pytest.raises(DataError, match=f"line 1: 1 cells, expected 3..*{told}"):
        Dataset.from_file(path, Schema.from_toml(bare))


def test_a_short_line_looks_like_nothing(tmp_path):
    (tmp_path / "f.csv").write_text(ROWS + "7\n")
    with pytest.raises(DataError, match=r"line 4: 1 cells, expected 3\.$"):
        Dataset.from_file(tmp_path / "f.csv", SCHEMA)


@pytest.mark.parametrize("thousands", [".", "", "'", " ", "\u2019"])
@pytest.mark.parametrize("word", ["x", "7"])
def test_decimal_commas_and_thousands(tmp_path, thousands, word):
    """Whether Arrow reads the numbers or dpcore does, since another cell is none."""
    path = tmp_path / "f.csv"
    rows = ["age;pay;note;y", f"25;500{thousands}000;{word};0", f" 5,0e1 ;+1{thousands}234,5;7;1"]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    keys = f'separator = ";"\ndecimal = ","\nthousands = "{thousands}"\n'
    note = 'note = { kind = "categorical", categories = [7] }\ny ='
    schema = Schema.from_toml(keys + COLUMNS.replace("\ny =", f"\n{note}"))
    X = Dataset.from_file(path, schema).X.toarray()
    assert X[:, [0, 1, 3]].tolist() == FEATURES
    frame = pd.read_csv(path, sep=";", dtype=str)
    assert np.array_equal(dataset_from_arrays(frame, schema=schema).X.toarray(), X)
    assert Schema.from_toml(schema.to_toml()) == schema


@pytest.mark.parametrize(
    "cell", ["1.5", "1.23", "12.34.567", "1.2345", ".", "1,5,0", "1..000", "1,"]
)
def test_a_number_that_is_written_otherwise_is_none(tmp_path, cell):
    (tmp_path / "f.csv").write_text(f"age;pay;y\n1;{cell};0\n")
    keys = 'separator = ";"\ndecimal = ","\nthousands = "."\n'
    good = cell == "1,"
    if good:
        assert Dataset.from_file(
            tmp_path / "f.csv", Schema.from_toml(keys + COLUMNS)
        ).y.tolist() == [-1]
        return
    with pytest.raises(DataError, match="line 2, column 'pay': the cell (is|looks) "):
        Dataset.from_file(tmp_path / "f.csv", Schema.from_toml(keys + COLUMNS))


@pytest.mark.parametrize(
    "keys", ['decimal = ";"', 'decimal = ""', 'thousands = "."', 'thousands = "5"', "decimal = 1"]
)
def test_notations_that_cannot_be(keys):
    with pytest.raises(InvalidInputError, match="decimal|thousands"):
        Schema.from_toml(keys + "\n" + COLUMNS)


def test_a_template_takes_the_separator_of_the_header(tmp_path):
    (tmp_path / "f.csv").write_text(ROWS.replace(",", ";"))
    template = schema_template(tmp_path / "f.csv", "y")
    assert '\nseparator = ";"\n' in template and '"pay" = ' in template
    schema = schema_from_data(tmp_path / "f.csv", "y")
    assert schema.separator == ";" and Dataset.from_file(tmp_path / "f.csv", schema).y.size == 2


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.parquet", "t.xlsx", "t.npz"])
def test_a_file_that_may_not_be_read_is_not_told_to_be_cut(tmp_path, monkeypatch, name):
    def denied(path, *mode):
        raise PermissionError(13, "Permission denied", path)

    # The tests may run as a user who may read everything.
    monkeypatch.setattr("dpcore_tables.readers.pieces.open", denied, raising=False)
    (tmp_path / name).write_bytes(b"")
    wide = f"width = 2\nrow_norm = 1.0\n[columns]\n{COLUMNS.splitlines()[-1]}"
    schema = Schema.from_toml(wide) if name == "t.npz" else SCHEMA
    with pytest.raises(DataError, match=f"Cannot read '.*{name}': Permission denied.$"):
        Dataset.from_file(tmp_path / name, schema)

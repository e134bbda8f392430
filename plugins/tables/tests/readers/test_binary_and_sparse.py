"""LIBSVM text, npz archives and Parquet files."""

import io
import pickle
import subprocess
import sys
from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from features import load_features
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from dpcore import Schema
from dpcore.data.schema.features.width import width_schema
from dpcore.errors import DataError, InvalidInputError
from dpcore.plugin.parts import Dataset
from dpcore_tables.schemas.from_data import schema_from_data
from dpcore_tables.schemas.template import schema_template

WIDE = width_schema(3, row_norm=200)

MADE = """
import sys
import numpy as np
from dpcore.plugin.parts import dataset_from_arrays
from dpcore.fitting.rows import loading

X, y = np.eye(3), np.array([-1.0, 1.0, 1.0])
dataset_from_arrays(X, y, row_norm=1.5)
print("scipy.sparse" in sys.modules)
from scipy.sparse import coo_matrix
print(dataset_from_arrays(coo_matrix(X), y, row_norm=1.5).X.format)
"""


@pytest.mark.slow
def test_scipy_is_imported_for_sparse_rows_alone():
    # It came with every reader, and brought more than a hundred modules.
    command = [sys.executable, "-c", MADE]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "csr"]


@pytest.fixture
def libsvm(tmp_path):
    def read(text, bad_rows="refuse"):
        (tmp_path / "f.svm").write_bytes(text.encode("latin-1"))
        data = Dataset.from_file(tmp_path / "f.svm", WIDE, bad_rows=bad_rows)
        return data.X.toarray()[:, :-1].round(4).tolist(), data.y.tolist()

    return read


def test_libsvm_text(libsvm):
    text = "+1 1:2 3:1e1\r\n\n# remark\n-1\n -1\t2:-.5 # end\n1 2:0"
    X, y = libsvm(text)
    assert X == [[2, 0, 10], [0, 0, 0], [0, -0.5, 0], [0, 0, 0]]
    assert y == [1, -1, -1, 1]
    assert libsvm("") == libsvm("\n") == ([], [])


def text_of_any_bytes(cells):
    """Return an Arrow string array of bytes that nobody looked at, as a Parquet file may hold."""
    array = pa.array(cells, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(array), array.buffers())


@pytest.mark.parametrize("column", ["a", "c", "y"])
def test_parquet_text_that_is_not_utf8_is_one_bad_cell(tmp_path, column):
    cells = {"a": [b"1", b"2", b"3"], "c": [b"x", b"y", b"x"], "y": [b"no", b"yes", b"no"]}
    cells[column][1] = b"\xff\xfe"
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table({name: text_of_any_bytes(cells[name]) for name in cells}), path)
    schema = Schema.from_dict(
        {
            "columns": {
                "a": {"kind": "numeric", "lower": 0, "upper": 9},
                "c": {"kind": "categorical", "categories": ["x", "y"]},
                "y": {"kind": "label", "classes": ["no", "yes"]},
            }
        }
    )
    rest = [-1.0, 1.0, -1.0] if column == "c" else [-1.0, -1.0]
    assert Dataset.from_file(path, schema, bad_rows="drop").y.tolist() == rest
    if column != "c":  # A category that is none of the schema's is no fault.
        with pytest.raises(DataError, match=f"row 2, column '{column}'"):
            Dataset.from_file(path, schema)


LIBSVM_FAULTS = [
    ("1 4:1", "an index is outside 1..3"),
    ("1 0:1", "an index is outside 1..3"),
    ("1 2:1 2:1", "indices do not ascend"),
    ("1 2:1 1:1", "indices do not ascend"),
    ("1 1:nan", "expected index:value"),
    ("1 1:0x1", "expected index:value"),
    ("1 0x1:1", "expected index:value"),
    ("1 +1:1", "expected index:value"),
    ("1 1:1e999", "not a finite number"),
    ("1 1", "expected index:value"),
    ("1 1:", "expected index:value"),
    ("1 :1", "expected index:value"),
    ("1 1: 2", "expected index:value"),
    ("1 1:2:3 4", "expected index:value"),
    ("1 99999999999999999999:1", "expected index:value"),
    ("1:2 3:1", "label is missing or malformed"),
    ("2 1:1", "the label is not one of"),
    ("\xff 1:1", "the bytes are not UTF-8"),
    ("1 1:1 # \xe9", "the bytes are not UTF-8"),
    ("1 qid:3 1:1", "expected index:value"),
]


@pytest.mark.parametrize(("line", "message"), LIBSVM_FAULTS)
def test_a_bad_libsvm_line_is_refused_with_its_place_or_dropped(libsvm, line, message):
    text = f"-1 3:1\n\n{line}\n1 1:2\n"
    with pytest.raises(DataError, match=f"line 3: .*{message}|line 3: {message}"):
        libsvm(text)
    assert libsvm(text, "drop") == ([[0, 0, 1], [2, 0, 0]], [-1, 1])


@pytest.mark.parametrize("cut", ["3:", "3", "3:-", "3:1e", "3:."])
def test_a_libsvm_file_cut_within_its_last_pair_is_refused(libsvm, cut):
    with pytest.raises(DataError, match="line 2: expected index:value"):
        libsvm(f"1 1:2\n-1 1:1 {cut}")
    assert libsvm(f"1 1:2\n-1 1:1 {cut}", "drop")[1] == [1]


@pytest.mark.slow
def test_dropping_maps_each_libsvm_line_by_itself(tmp_path):
    path = tmp_path / "f.svm"

    @cache
    def load(*some):
        path.write_bytes("\n".join(some).encode("latin-1"))
        data = Dataset.from_file(path, WIDE, bad_rows="drop")
        return np.column_stack([data.X.toarray().round(4), data.y]).tolist()

    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.sampled_from(["1 1:2", "-1", *(line for line, _ in LIBSVM_FAULTS)])))
    def rule(lines):
        assert load(*lines) == [row for line in lines for row in load(line)]

    rule()


def test_libsvm_agrees_with_another_writer(tmp_path):
    rng = np.random.default_rng(3)
    X = sparse.random(50, 9, 0.3, format="csr", random_state=3) * 50
    y = rng.choice([-1.0, 1.0], 50)
    dump_svmlight_file(X, y, str(tmp_path / "f.svm"), zero_based=False)
    data = Dataset.from_file(tmp_path / "f.svm", width_schema(9, row_norm=256))
    # Truncated to the feature grid.
    np.testing.assert_allclose(data.X.toarray()[:, :-1], X.toarray(), 1e-14, 2.0**-16)
    assert data.y.tolist() == y.tolist()


def test_npz_dense_and_sparse_agree(tmp_path):
    X = np.array([[1.0, 0, 2], [0, 0, 0], [0, 3, 0]])
    y = np.array([1, -1, 1])
    np.savez(tmp_path / "dense.npz", X=X, y=y)
    parts = sparse.csr_matrix(X)
    shape = np.array(parts.shape)
    np.savez(tmp_path / "csr.npz", data=parts.data, indices=parts.indices, indptr=parts.indptr,
             shape=shape, y=y)  # fmt: skip
    dense = Dataset.from_file(tmp_path / "dense.npz", WIDE)
    csr = Dataset.from_file(tmp_path / "csr.npz", WIDE)
    assert csr.X.toarray().round(4).tolist() == dense.X.tolist()
    assert dense.X[:, :-1].tolist() == X.tolist()
    assert csr.y.tolist() == dense.y.tolist() == y.tolist()
    assert load_features(tmp_path / "dense.npz", WIDE).shape == (3, 4)


ONE = np.ones((2, 3))
NPZ_FAULTS = [
    ({"X": ONE}, "no array y"),
    ({"y": [1, 1]}, "no array X"),
    ({"X": ONE[:, :2], "y": [1, 1]}, "2 feature columns, expected 3"),
    ({"X": np.ones(3), "y": [1, 1]}, "2 dimensions"),
    ({"X": ONE, "y": [1]}, "number of labels"),
    ({"X": ONE, "y": [[1, 1]]}, "one-dimensional"),
    ({"X": ONE * np.nan, "y": [1, 1]}, "row 1: a value is not a finite number"),
    ({"X": ONE, "y": [1, 3]}, "row 2: the label is not"),
    ({"X": np.array([["a", "b", "c"]]), "y": [1]}, "real numbers"),
    ({"X": ONE + 1j, "y": [1, 1]}, "real numbers"),
    ({"X": np.array([[None, 1, 2]], object), "y": [1]}, "plain arrays"),
    ({"data": [1.0], "indices": [5], "indptr": [0, 1], "shape": [1, 3], "y": [1]}, "do not fit"),
    ({"data": [1.0], "indices": [0], "indptr": [0, 9], "shape": [1, 3], "y": [1]}, "do not fit"),
    ({"data": [1.0], "indices": [-1], "indptr": [0, 1], "shape": [1, 3], "y": [1]}, "do not fit"),
    ({"data": [1.0], "indices": [0], "indptr": [0, 1], "shape": [3], "y": [1]}, "do not fit"),
]


@pytest.mark.parametrize(("arrays", "message"), NPZ_FAULTS)
def test_a_bad_npz_file_is_refused(tmp_path, arrays, message):
    np.savez(tmp_path / "f.npz", **{k: np.asarray(v) for k, v in arrays.items()})
    with pytest.raises(DataError, match=message):
        Dataset.from_file(tmp_path / "f.npz", WIDE)


def test_npz_never_unpickles(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("unpickled",))

    for content in (pickle.dumps(Bomb()), b"", b"PK\x03\x04 cut"):
        (tmp_path / "f.npz").write_bytes(content)
        with pytest.raises(DataError, match="not a whole .npz file"):
            Dataset.from_file(tmp_path / "f.npz", WIDE)
    with pytest.raises(DataError, match="No such file"):
        Dataset.from_file(tmp_path / "none.npz", WIDE)


SCHEMA = Schema.from_toml("""
[columns]
age = { kind = "numeric", lower = 0, upper = 10 }
city = { kind = "categorical", categories = ["a", "b"] }
y = { kind = "label", classes = [false, true] }
""")


def parquet(columns):
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


CITY = pa.array(["a", " b ", None])
LABEL = pa.array([True, False, True])


@pytest.mark.parametrize(
    "age",
    [
        pa.array([1, 20, -3], pa.int8()),
        pa.array([1, 20, -3], pa.float32()),
        pa.array([1, 20, -3], pa.decimal128(5, 2)),
        pa.array(["1", " 20", "-3"]),
        pa.array(["1", " 20", "-3"], pa.large_string()),
        pa.array(["1", "20", "-3"]).dictionary_encode(),
    ],
)
def test_parquet_types_meet_the_schema(tmp_path, age):
    for city in (CITY, CITY.dictionary_encode(), CITY.cast(pa.large_string())):
        (tmp_path / "f.parquet").write_bytes(parquet({"age": age, "city": city, "y": LABEL}))
        data = Dataset.from_file(tmp_path / "f.parquet", SCHEMA)
        assert data.X.toarray().round(4).tolist() == [[0.1, 1, 0, 1], [1, 0, 1, 1], [0, 0, 0, 1]]
        assert data.y.tolist() == [1, -1, 1]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"age": [1.0, None, 2.0], "city": CITY, "y": LABEL}, "row 2, column 'age'"),
        ({"age": [1.0, float("nan"), 2.0], "city": CITY, "y": LABEL}, "row 2, column 'age'"),
        ({"age": ["1", "x", "2"], "city": CITY, "y": LABEL}, "row 2, column 'age'"),
        ({"age": [1, 2, 3], "city": CITY, "y": [True, None, True]}, "row 2, column 'y'"),
        ({"age": [[1], [2], [3]], "city": CITY, "y": LABEL}, "column 'age' cannot be read"),
        ({"age": [1, 2, 3], "city": [{"q": 1}] * 3, "y": LABEL}, "column 'city' cannot be read"),
        ({"age": pa.array([1, 2, 3], pa.date32()), "city": CITY, "y": LABEL}, "column 'age'"),
        ({"age": [1, 2, 3], "y": LABEL}, "no column 'city'"),
        ({"age": [1, 2, 3], "city": CITY}, "no label column 'y'"),
    ],
)
def test_a_bad_parquet_file_is_refused(tmp_path, columns, message):
    (tmp_path / "f.parquet").write_bytes(parquet(columns))
    with pytest.raises(DataError, match=message):
        Dataset.from_file(tmp_path / "f.parquet", SCHEMA)


@pytest.mark.parametrize("values", ['"FALSE", "TRUE"', '"False", "True"', "false, true"])
def test_a_boolean_column_meets_truth_values_in_any_case(tmp_path, values):
    schema = Schema.from_toml(f"""
        [columns]
        k = {{ kind = "categorical", categories = [{values}] }}
        y = {{ kind = "label", classes = [{values}] }}
    """)
    flags = pa.array([True, False])
    (tmp_path / "f.parquet").write_bytes(parquet({"k": flags, "y": flags}))
    data = Dataset.from_file(tmp_path / "f.parquet", schema)
    assert data.X.toarray().tolist() == [[0, 1, 1], [1, 0, 1]] and data.y.tolist() == [1, -1]


def test_an_index_of_pandas_is_no_column(tmp_path):
    frame = pd.DataFrame({"age": [0.0, 1.0, 9.0, 2.0], "y": ["no", "no", "no", "yes"]})
    frame[frame["age"] < 5].to_parquet(tmp_path / "f.parquet")
    assert pq.read_schema(tmp_path / "f.parquet").names[-1] == "__index_level_0__"
    label = {"y": {"kind": "label", "classes": ["no", "yes"]}}
    numbers = Schema.from_dict(
        {"columns": {"*": {"kind": "numeric", "lower": 0, "upper": 2}} | label}
    )
    assert Dataset.from_file(tmp_path / "f.parquet", numbers).feature_names == ("age", "intercept")
    assert "__index" not in schema_template(tmp_path / "f.parquet")
    taken = schema_from_data(tmp_path / "f.parquet", "y")
    assert Dataset.from_file(tmp_path / "f.parquet", taken).y.tolist() == [-1, -1, 1]


def test_parquet_duplicates_empty_and_cut(tmp_path):
    path = tmp_path / "f.parquet"
    twice = pa.Table.from_arrays([pa.array([1])] * 4, names=["age", "age", "city", "y"])
    pq.write_table(twice, path)
    with pytest.raises(DataError, match="duplicate column name 'age'"):
        Dataset.from_file(path, SCHEMA)
    whole = parquet({"age": pa.array([], pa.int8()), "city": CITY[:0], "y": LABEL[:0]})
    path.write_bytes(whole)
    assert Dataset.from_file(path, SCHEMA).X.shape == (0, 4)
    for content in (whole[:-5], whole[:20], b""):
        path.write_bytes(content)
        with pytest.raises(DataError, match="not a whole Parquet file"):
            Dataset.from_file(path, SCHEMA)
    with pytest.raises(DataError, match="No such file"):
        Dataset.from_file(tmp_path / "none.parquet", SCHEMA)
    with pytest.raises(InvalidInputError, match="has named columns"):
        Dataset.from_file(path, WIDE)
    with pytest.raises(InvalidInputError, match="needs a width"):
        Dataset.from_file(tmp_path / "f.svm", SCHEMA)

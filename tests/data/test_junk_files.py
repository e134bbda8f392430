"""Damaged files and arbitrary bytes: DataError or InvalidInputError, never anything else."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dpcore import Schema
from dpcore.data.schema.features.width import width_schema
from dpcore.errors import DataError, InvalidInputError
from dpcore.plugin.parts import Dataset
from dpcore_tables.schemas.from_data import schema_from_data
from dpcore_tables.schemas.template import schema_template

CSV = b'age,city,id,y\n1,a,"x, y",no\n2.5,b,,yes\n7,"a",3,no\n'
LIBSVM = b"+1 1:2 3:1e1\n-1\n# remark\n-1 2:-.5\n"


def _parquet():
    buffer = io.BytesIO()
    pq.write_table(pa.table({"age": [1.5], "city": ["a"], "y": ["no"]}), buffer)
    return buffer.getvalue()


def _npz():
    buffer = io.BytesIO()
    np.savez(buffer, X=np.ones((2, 3)), y=np.array([1, -1]))
    return buffer.getvalue()


NAMED = {
    "columns": {
        "age": {"kind": "numeric", "lower": 0, "upper": 10},
        "city": {"kind": "categorical", "categories": ["a", "b"]},
        "id": {"kind": "drop"},
        "y": {"kind": "label", "classes": ["no", "yes"]},
    }
}
WIDE = width_schema(3)
SCHEMAS = st.builds(
    lambda header, separator, missing, city, label: Schema.from_dict(
        NAMED
        | {"header": header, "separator": separator, "missing": missing}
        | {"columns": NAMED["columns"] | {"city": city, "y": label}}
    ),
    st.booleans(),
    st.sampled_from([",", ";", " ", "whitespace"]),
    st.sampled_from([[], [""], ["7"], ["NA", ""]]),
    st.sampled_from([{"kind": "drop"}, NAMED["columns"]["city"], NAMED["columns"]["age"]]),
    st.sampled_from(
        [
            {"kind": "label", "classes": ["no", "yes"]},
            {"kind": "label", "classes": [0, 1]},
            {"kind": "label", "positive": ["yes"]},
            {"kind": "label", "lower": 0, "upper": 1},
        ]
    ),
)


def damaged(whole):
    """Byte strings near ``whole``: pieces cut out, put in and overwritten; or anything."""
    piece = st.tuples(
        st.integers(0, len(whole)),
        st.integers(0, 6),
        st.sampled_from([b"", b'"', b",", b"\n", b"\r", b"\x00", b"\xff", b":", b"nan", b" ", b"9"])
        | st.binary(max_size=4),
    )

    pieces = st.lists(piece, max_size=4).map(lambda pieces: overwritten(whole, pieces))
    return pieces | st.binary(max_size=60)


def overwritten(content, pieces):
    for at, cut, put in pieces:
        content = content[:at] + put + content[at + cut :]
    return content


def check(path, content, schema, bad_rows):
    path.write_bytes(content)
    try:
        data = Dataset.from_file(path, schema, bad_rows=bad_rows)
    except (DataError, InvalidInputError) as error:
        assert "\n" not in str(error)
        return
    values = data.X if isinstance(data.X, np.ndarray) else data.X.tocsr().data
    assert np.isfinite(values).all()
    assert data.X.shape == (len(data.y), schema.n_features)


MODES = st.sampled_from(["refuse", "drop"])
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("junk")


@QUICK
@given(damaged(CSV), SCHEMAS, MODES)
def test_csv_and_tsv(folder, content, schema, bad_rows):
    check(folder / "f.csv", content, schema, bad_rows)
    check(folder / "f.tsv", content.replace(b",", b"\t"), schema, bad_rows)


@QUICK
@given(damaged(CSV))
def test_templates(folder, content):
    path = folder / "t.csv"
    path.write_bytes(content)
    for make in (schema_template, schema_from_data):
        try:
            make(path, "y")
        except (DataError, InvalidInputError):
            pass


@QUICK
@given(damaged(LIBSVM) | damaged(b"1 2 3 1\n4 5 6 -1\n"), MODES)
def test_libsvm_and_whitespace(folder, content, bad_rows):
    check(folder / "f.svm", content, WIDE, bad_rows)
    check(folder / "f.dat", content, WIDE, bad_rows)


@QUICK
@given(damaged(_npz()), MODES)
def test_npz(folder, content, bad_rows):
    check(folder / "f.npz", content, WIDE, bad_rows)


# Its groups have no row, and the file says that it has some.
NO_GROUPS = [(0, 4, b"\x00\x00\x00"), (0, 5, b"nan"), (285, 2, b"\n"), (286, 0, b'"')]


@QUICK
@given(damaged(_parquet()), MODES)
@example(overwritten(_parquet(), NO_GROUPS), "refuse")
def test_parquet(folder, content, bad_rows):
    schema = Schema.from_dict(NAMED)
    check(folder / "f.parquet", content, schema, bad_rows)

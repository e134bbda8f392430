"""Files in pieces: neither a row nor a message depends on where the pieces end."""

import gzip
import io
import os
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from features import load_features
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from dpcore import Schema
from dpcore.data.schema.features.width import width_schema
from dpcore.errors import DataError, InvalidInputError
from dpcore.plugin.parts import Dataset
from dpcore_tables.coded import CodedRows
from dpcore_tables.files import encoded_batches
from dpcore_tables.readers import parquet, pieces

CELLS = {
    "age": {"kind": "numeric", "lower": 0, "upper": 10},
    "city": {"kind": "categorical", "categories": ["a", "b\nb", '"']},
    "id": {"kind": "drop"},
    "y": {"kind": "label", "classes": ["no", "yes"]},
}
NAMED = {"missing": ["", "NA"], "columns": CELLS}
COLUMNS = Schema.from_dict(NAMED)
HEADLESS = Schema.from_dict(NAMED | {"header": False})
NUMBERS = Schema.from_dict(NAMED | {"columns": CELLS | {"city": {"kind": "drop"}}})
WIDE = width_schema(3, row_norm=8)
COMMAS = width_schema(3, row_norm=8, separator=",")
LAYOUTS = {
    "csv": ("f.csv", COLUMNS),
    "csv without a header": ("f.csv", HEADLESS),
    "csv with numbers alone": ("f.csv", NUMBERS),
    "csv with a width": ("f.csv", COMMAS),
    "whitespace": ("f.dat", WIDE),
    "libsvm": ("f.svm", WIDE),
}
QUICK = settings(deadline=None, suppress_health_check=list(HealthCheck))


def parts(X):
    if isinstance(X, CodedRows):
        return [X.numeric, X.codes]
    return [X] if isinstance(X, np.ndarray) else [X.data, X.indices, X.indptr]


def outcome(path, schema, bad_rows="refuse", load=Dataset.from_file):
    """Return all that a caller can see of a file's rows, or of its refusal."""
    try:
        if load is load_features:
            return [(a.dtype, a.tobytes()) for a in parts(load(path, schema))]
        data = load(path, schema, bad_rows=bad_rows)
    except (DataError, InvalidInputError) as error:
        return type(error).__name__, str(error)
    return data.X.shape, [(a.dtype, a.tobytes()) for a in [*parts(data.X), data.y]]


def in_pieces(size, batch, *arguments, **options):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "PIECE_BYTES", size)
        patch.setattr(parquet, "BATCH_ROWS", batch)
        return outcome(*arguments, **options)


ROWS = {
    ",": [b"1,a,1,no", b'2.5,"b\nb",x,yes', b" 7 , a,,no", b'4,"""",1,"no"', b"", b"NA,a,1,no"]
    + [b"1,a,1", b"x,a,1,no", b"1,a,1,maybe", b'1,"a', b'1,a"b,"x\ny",no', b"1,\xff,1,no", b","]
    + [b'1,a,x"y,"no', b'"1"2,a,"q\r\nr",no', b"\xef\xbb\xbf1,a,1,no", b'3,"a,""x"",\n",2,yes']
    + ["9,é,é,no".encode(), b" ", b'""', b"1,2,3,1", b".5,2,3,-1", b"1,nan,3,1"],
    " ": [b"1 2 3 1", b" .5\t2  3 -1", b"1 2 3 7", b"1 2", b"", b" ", b"1 x 3 1", b"1 2 3 \xff"],
    ":": [b"1 1:2", b"-1", b"1 2:3 # x", b"# x", b"", b"1 4:1", b"2 1:1", b"\xff", b"1 1:nan"],
}
HEADS = [b"age,city,id,y", b'"age","city","i\nd",y', b'\xef\xbb\xbf"age",city,id,y', b"\n\nage,y"]
ENDS = st.lists(st.sampled_from([b"\n", b"\r\n", b"\r"]), min_size=1, max_size=3)


@pytest.mark.some_fast
@pytest.mark.parametrize("bad_rows", ["refuse", "drop"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_pieces_of_any_size_give_the_rows_and_messages_of_one(tmp_path_factory, name, bad_rows):
    folder = tmp_path_factory.mktemp("pieces")
    kind = {"whitespace": " ", "libsvm": ":"}.get(name, ",")
    file, schema = LAYOUTS[name]
    good = st.lists(st.sampled_from(ROWS[kind][:4]), max_size=5)
    lines = st.tuples(good, st.lists(st.sampled_from(ROWS[kind]), max_size=4), good)

    @settings(QUICK, max_examples=20)
    @given(st.sampled_from([None, *HEADS]), lines, ENDS, st.booleans(), st.integers(1, 40))
    def rule(head, some, ends, ended, size):
        body = [line for group in some for line in group]
        if head is not None and schema.header:
            body.insert(0, head)
        text = b"".join(line + ends[i % len(ends)] for i, line in enumerate(body))
        (folder / file).write_bytes(text if ended else text.removesuffix(b"\n"))
        whole = outcome(folder / file, schema, bad_rows)
        assert in_pieces(size, 1, folder / file, schema, bad_rows) == whole
        if bad_rows == "refuse":
            features = outcome(folder / file, schema, load=load_features)
            assert in_pieces(size, 1, folder / file, schema, load=load_features) == features

    rule()


@settings(QUICK, max_examples=25)
@given(st.binary(max_size=40) | st.text('a1,"\r\n \ufeffn', max_size=40).map(str.encode), ENDS)
@example(b'\xef\xbb\xbf\xef\xbb\xbf"1\n",a', [b"\n"])
@example(b'1,a,"\r', [b"\n"])
def test_bytes_of_any_kind(tmp_path_factory, junk, ends):
    path = tmp_path_factory.mktemp("junk") / "f.csv"
    for head, schema in ((b"age,city,id,y", COLUMNS), (b"", HEADLESS)):
        path.write_bytes(head + ends[0] + junk)
        for bad_rows in ("refuse", "drop"):
            whole = outcome(path, schema, bad_rows)
            for size in (1, 7):
                assert in_pieces(size, 1, path, schema, bad_rows) == whole


def cut_at_lines(content, separator, quote):
    """Broken: a line end within quotes ends the piece."""
    return content.rfind(b"\n") + 1


def cut_at_even_quotes(content, separator, quote):
    """Broken: a quote within a cell counts as one that opens or closes."""
    at = content.rfind(b"\n")
    while at >= 0 and content.count(b'"', 0, at) % 2:
        at = content.rfind(b"\n", 0, at)
    return at + 1


@pytest.mark.parametrize("broken", [cut_at_lines, cut_at_even_quotes])
def test_the_rule_finds_cuts_within_a_record(tmp_path, monkeypatch, broken):
    path = tmp_path / "f.csv"
    path.write_bytes(b'age,city,id,y\n1,a"b,,no\n1,a,"x\ny",no\n2,a"b,,no\n')
    whole = outcome(path, COLUMNS)
    assert in_pieces(7, 1, path, COLUMNS) == whole
    monkeypatch.setattr("dpcore_tables.readers.text.whole_records", broken)
    assert in_pieces(7, 1, path, COLUMNS) != whole


FAULTS = {
    "not UTF-8": (b"1,\xff,1,no\n", "line 7: the bytes are not UTF-8"),
    "width": (b"1,a,1\n", "line 7: 3 cells, expected 4"),
    "quote": (b'1,"a,1,no\n', "line 7 or after: a quoted cell does not end"),
    "label": (b"1,a,1,x\n", "line 7, column 'y': the label is not one"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_message_is_the_whole_files_even_behind_a_bad_cell(tmp_path, fault):
    line, message = FAULTS[fault]
    text = b"age,city,id,y\n" + b'\n1,"a\nb",1,no\n' + b"1,a,1,no\n" * 2
    (tmp_path / "one.csv").write_bytes(text + line)
    bad = text.replace(b"\n1,a,1,no\n1,a", b"\nx,a,1,no\n1,a")
    (tmp_path / "two.csv").write_bytes(bad + line)
    assert message in in_pieces(5, 1, tmp_path / "one.csv", COLUMNS)[1]
    expected = "line 5, column 'age'" if fault == "label" else message
    assert expected in in_pieces(5, 1, tmp_path / "two.csv", COLUMNS)[1]
    assert expected in outcome(tmp_path / "two.csv", COLUMNS)[1]


def test_a_packed_file_that_is_cut_short_is_refused_as_that(tmp_path):
    packed = gzip.compress(b"age,city,id,y\n" + b"x,a,1,no\n" * 99)
    (tmp_path / "f.csv.gz").write_bytes(packed[:-9])
    assert "not a whole gzip file" in in_pieces(9, 1, tmp_path / "f.csv.gz", COLUMNS)[1]
    (tmp_path / "f.csv.gz").write_bytes(packed)
    assert "line 2, column 'age'" in in_pieces(9, 1, tmp_path / "f.csv.gz", COLUMNS)[1]
    two = gzip.compress(b"age,city,id,y\n1,a,1") + gzip.compress(b",no\n")
    (tmp_path / "f.csv.gz").write_bytes(two)
    assert in_pieces(3, 1, tmp_path / "f.csv.gz", COLUMNS)[0] == (1, COLUMNS.n_features)


def test_a_cell_of_any_length_is_the_same_in_any_company(tmp_path):
    # The csv module stops at 131,072 characters, and only where it is asked at all.
    long = b"1,%b,1,no\n" % (b"z" * 200_000)
    (tmp_path / "f.csv").write_bytes(b"age,city,id,y\n" + long + b" 2 ,a,1,no\n" + long)
    whole = outcome(tmp_path / "f.csv", COLUMNS)
    assert whole[0] == (3, 5) and in_pieces(7, 1, tmp_path / "f.csv", COLUMNS) == whole


CITIES = pa.array(["a", None, '"', "zz", "a", "b\nb"])
AGES = pa.array([1, None, 3, 4, 5, 6])


@pytest.mark.parametrize("city", [CITIES, CITIES.dictionary_encode(), CITIES.cast(pa.large_utf8())])
@pytest.mark.parametrize("bad_rows", ["refuse", "drop"])
def test_parquet_in_batches(tmp_path, city, bad_rows):
    labels = pa.array(["no", "yes", "no", "no", "yes", "no"])
    for age in (AGES, AGES.fill_null(2), AGES.cast(pa.string()), AGES.dictionary_encode()):
        table = pa.table({"age": age, "city": city, "y": labels})
        pq.write_table(table, tmp_path / "f.parquet", row_group_size=4)
        whole = outcome(tmp_path / "f.parquet", COLUMNS, bad_rows)
        assert in_pieces(1, 1, tmp_path / "f.parquet", COLUMNS, bad_rows) == whole
        assert in_pieces(1, 3, tmp_path / "f.parquet", COLUMNS, bad_rows) == whole


def test_damaged_pages_come_before_bad_cells(tmp_path):
    buffer = io.BytesIO()
    columns = {"age": [None, *range(999)], "city": ["a"] * 1000, "y": ["no"] * 1000}
    pq.write_table(pa.table(columns), buffer, row_group_size=100, write_page_checksum=True)
    content = bytearray(buffer.getvalue())
    content[len(content) // 2 - 2000 : len(content) // 2] = b"\xff" * 2000
    (tmp_path / "f.parquet").write_bytes(content)
    assert "not a whole Parquet file" in in_pieces(1, 1, tmp_path / "f.parquet", COLUMNS)[1]


def test_batches_are_what_the_file_holds_piece_by_piece(tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "PIECE_BYTES", 30)
    (tmp_path / "f.csv").write_bytes(b"age,city,id,y\n" + b"1,a,1,no\n5,zz,1,yes\n" * 10)
    some = list(encoded_batches(tmp_path / "f.csv", COLUMNS))
    assert len(some) > 5 and all(isinstance(X, CodedRows) for X, _ in some)
    whole = Dataset.from_file(tmp_path / "f.csv", COLUMNS)
    assert np.concatenate([X.toarray() for X, _ in some]).tolist() == whole.X.toarray().tolist()
    assert np.concatenate([y for _, y in some]).tolist() == whole.y.tolist()
    assert [y for _, y in encoded_batches(tmp_path / "f.csv", COLUMNS, labelled=False)][0] is None
    with pytest.raises(InvalidInputError, match="needs a width"):
        encoded_batches(tmp_path / "f.svm", COLUMNS)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_read_once(tmp_path):
    os.mkfifo(tmp_path / "f.csv")
    for text, message in ((b"1,a,1,no\nx,a,1,no\n", "line 2, column 'age'"), (b"1,a,1,no", None)):
        writer = threading.Thread(target=(tmp_path / "f.csv").write_bytes, args=(text,))
        writer.start()
        found = outcome(tmp_path / "f.csv", HEADLESS)
        writer.join()
        assert found[0] == (1, 5) if message is None else message in found[1]


def test_an_empty_file_is_one_piece_without_rows(tmp_path):
    (tmp_path / "f.csv").write_bytes(b"")
    ((X, y),) = encoded_batches(tmp_path / "f.csv", HEADLESS)
    assert X.shape == (0, 5) and y.shape == (0,)


def test_sparse_pieces_join_as_scipy_stacks_them(tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "PIECE_BYTES", 12)
    (tmp_path / "f.svm").write_bytes(b"1 1:2 3:1\n-1\n1 2:.5\n" * 9)
    some = [X for X, _ in encoded_batches(tmp_path / "f.svm", WIDE)]
    joined, stacked = (
        Dataset.from_file(tmp_path / "f.svm", WIDE).X,
        sparse.vstack(some, format="csr"),
    )
    assert len(some) > 5 and (joined != stacked).nnz == 0 and joined.has_canonical_format
    assert joined.indices.dtype == stacked.indices.dtype

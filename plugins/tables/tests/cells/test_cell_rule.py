"""The rule of the data: what a cell becomes is a function of that cell and of public facts.

A table is encoded, and again with one row more that holds an odd cell. The first rows keep every
bit, or the type is refused with and without that row.
"""

import dataclasses
import decimal
import fractions
import io
import re
from contextlib import suppress

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from dpcore import Schema
from dpcore.data.schema.features.width import width_schema
from dpcore.errors import DataError
from dpcore.plugin.parts import Dataset, dataset_from_arrays
from dpcore_tables.readers import as_objects

KINDS = {
    "numeric": 'kind = "numeric", lower = -5, upper = 2e6',
    "codes": 'kind = "categorical", categories = ["02139", "02140", "other"]',
    "whole": 'kind = "categorical", categories = ["1", "2", "-3", "4006381333931"]',
    "numbers": 'kind = "categorical", categories = [1, 2.5, 4006381333931]',
    "truth": 'kind = "categorical", categories = ["False", "True"]',
    "mixed": 'kind = "categorical", categories = ["true", "false", "maybe", "1", "nan", "None"]',
}
LABELS = {
    "classes": 'kind = "label", classes = [["0", "2"], "1"]',
    "positive": 'kind = "label", positive = ["1", "yes"]',
    "real": 'kind = "label", lower = 0, upper = 3',
}
ODD = [
    None,
    np.nan,
    pd.NA,
    pd.NaT,
    True,
    np.False_,
    2**53 + 1,
    10**36,
    -(10**400),
    decimal.Decimal("1.25"),
    decimal.Decimal("1." + "3" * 35),
    decimal.Decimal("sNaN"),
    decimal.Decimal("1e400"),
    fractions.Fraction(1, 3),
    1.5,
    -0.0,
    np.inf,
    1e300,
    np.float32(0.1),
    "K1A",
    "1",
    "2.0",
    "+7",
    "1e999",
    "0x10",
    "nan",
    "",
    " 1 ",
    "Bérn",
    "１",
    b"1",
    b"\xff",
    "9" * 5000,
    pd.Timestamp("2020-01-01"),
    3j,
    [1],
]
TABLES = [
    [1, 2, -3, 4006381333931, 2139, 1.0, 2.5, 0.1, np.nan, decimal.Decimal("0.10"), True],
    ["1", "02139", "other", "True", " 2 ", "2.5"],
    [1, 1.0, "1", "02139", np.True_, "true", None, decimal.Decimal("2.50"), 3, 2.5],
]
DTYPES = [
    "object", "int64", "float64", "float32", "bool", "Int64", "Float64", "boolean", "str",
    "string[python]", "Sparse[float64]", "longdouble",
    pd.ArrowDtype(pa.int64()), pd.ArrowDtype(pa.float64()), pd.ArrowDtype(pa.string()),
    pd.ArrowDtype(pa.decimal128(38, 10)), pd.ArrowDtype(pa.bool_()),
    pd.CategoricalDtype(as_objects([1, 1.5, "1", "True", "other"])),
    pd.CategoricalDtype([1, 2, 3]),
]  # fmt: skip


def schema_of(kind, label='kind = "label", classes = [0, 1]'):
    return Schema.from_toml(f"[columns]\nx = {{ {kind} }}\ny = {{ {label} }}\n")


def encode(load, cells):
    """Return the bytes of each row and label, or ``None`` where the column's type is refused."""
    try:
        data = load(cells)
    except DataError as error:
        if re.search(r": column '\w' (is|cannot be)", str(error)):
            return None
        raise
    X = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
    return [row.tobytes() + y.tobytes() for row, y in zip(X, data.y, strict=True)]


def check_rule(load, cells, odd):
    """Assert the rule for the cells that are legal by themselves, and one odd cell more, each."""
    alone = {}
    for i, cell in enumerate(cells):
        with suppress(DataError):
            row = encode(load, [cell])
            if row != []:  # dropped
                alone[i] = row
    legal, rows = [cells[i] for i in alone], list(alone.values())
    is_refused = encode(load, []) is None
    assert encode(load, legal) == (None if is_refused else [row for (row,) in rows])
    assert is_refused == all(row is None for row in rows) or not rows
    for cell in odd:
        try:
            after = encode(load, [*legal, cell])
        except DataError as error:
            n = len(legal)
            named = f"(row|line) ({n + 1}|{n + 2})[,: ]"
            assert re.search(named, str(error)), "another row than the odd one is refused"
            continue
        assert (after is None) == is_refused
        assert is_refused or after[: len(legal)] == [row for (row,) in rows]


def turns(values, *others):
    """Yield each table with a third of the odd values, another one by the numbers ``others``.

    Every odd value meets every two of table, kind and type; the product of all four is not tried.
    """
    for turn, cells in enumerate(TABLES, sum(others)):
        yield cells, values[-turn % len(TABLES) :: len(TABLES)]


def place(names, name):
    return list(map(str, names)).index(str(name))


def memoized(build):
    """Let ``build`` make a column of the same cells of the tables above once, for all kinds."""
    made = {}

    def column(cells, dtype):
        # By identity: 1, 1.0 and True are equal, and other cells; both categories are "category".
        key = (*map(id, cells), id(dtype))
        if key not in made:
            made[key] = build(cells, dtype)
        return made[key]

    return column


@memoized
def column_of(cells, dtype):
    """Return a pandas column of a declared type, or None where there is none of such cells."""
    if "str" in str(dtype) and not all(c is None or isinstance(c, str) for c in cells):
        return None  # pandas would write numbers as text, each in the manner of all of them
    try:
        return pd.Series(as_objects(cells), dtype=object).astype(dtype)
    except Exception:  # pandas names no set of errors for casts that it does not know
        return None


@pytest.mark.some_fast
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_frames_of_declared_types(kind, dtype):
    schema = schema_of(KINDS[kind])

    def load(cells):
        frame = pd.DataFrame({"x": column_of(cells, dtype), "y": [0] * len(cells)})
        return dataset_from_arrays(frame, schema=schema)

    for cells, odd in turns(ODD, place(KINDS, kind), place(DTYPES, dtype)):
        held = [cell for cell in cells if column_of([cell], dtype) is not None]
        if column_of(held, dtype) is None:
            continue
        check_rule(
            load, held, [cell for cell in odd if column_of([*held, cell], dtype) is not None]
        )


ARROW = [
    pa.int64(), pa.uint8(), pa.float64(), pa.float32(), pa.bool_(), pa.string(), pa.large_binary(),
    pa.decimal128(38, 35), pa.dictionary(pa.int32(), pa.string()), pa.date32(), pa.null(),
    pa.dictionary(pa.int8(), pa.int64()),
]  # fmt: skip


@memoized
def arrow_of(cells, kind):
    """Return a column of a declared type, or None where there is none of such cells."""
    try:
        return pa.array(list(cells), kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None


@pytest.mark.some_fast
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ARROW, ids=str)
def test_parquet_files_of_declared_types(kind, dtype, tmp_path):
    schema = schema_of(KINDS[kind])
    path = tmp_path / "t.parquet"

    def load(cells):
        labels = pa.array([0] * len(cells), pa.int8())
        pq.write_table(pa.table({"x": arrow_of(cells, dtype), "y": labels}), path)
        return Dataset.from_file(path, schema)

    for cells, odd in turns(ODD, place(KINDS, kind), place(ARROW, dtype)):
        held = [cell for cell in cells if arrow_of([cell], dtype) is not None]
        check_rule(load, held, [cell for cell in odd if arrow_of([*held, cell], dtype) is not None])


@pytest.mark.some_fast
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("bad_rows", "mark"), [("refuse", ","), ("drop", ","), ("drop", "\t")], ids=repr
)
def test_text_files(kind, bad_rows, mark, tmp_path):
    schema = schema_of(KINDS[kind])
    path = tmp_path / ("t.csv" if mark == "," else "t.tsv")
    odd = [cell for cell in ODD if isinstance(cell, str)] + ['"a,b"', "1,1", '"']
    odd += list(map(str, [cell for cell in ODD if not isinstance(cell, (str, bytes))]))

    def load(cells):
        path.write_text("".join([f"x{mark}y\n", *(f"{cell}{mark}0\n" for cell in cells)]))
        return Dataset.from_file(path, schema, bad_rows=bad_rows)

    for cells, some in turns(odd, place(KINDS, kind), bad_rows == "drop"):
        check_rule(load, [str(cell) for cell in cells], some)


LABELS_OF = {
    "objects": as_objects,
    "a list": list,
    "whole numbers": lambda cells: np.array(cells, np.int64),
    "fractions": lambda cells: np.array(cells, np.float64),
    "truth values": lambda cells: np.array(cells, bool),
    "text": lambda cells: np.array(cells, "U40"),
    "bytes": lambda cells: np.array(cells, "S40"),
    "a series": lambda cells: pd.Series(as_objects(cells), dtype=object),
}
CELLS_OF = {"whole numbers": (int,), "fractions": (int, float), "truth values": (bool, np.bool_),
            "text": (str,), "bytes": (bytes,)}  # fmt: skip


def exactly(cells, name):
    """Return the cells that an array of a type holds as they are."""
    kinds = CELLS_OF.get(name)
    return [c for c in cells if kinds is None or (type(c) in kinds and fits(c))]


def fits(cell):
    return not isinstance(cell, int) or abs(cell) < 2**63


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("name", LABELS_OF)
def test_labels_of_arrays_lists_and_series(label, name):
    schema = width_schema(1)
    schema = dataclasses.replace(schema, columns=(schema_of(KINDS["truth"], LABELS[label]).label,))

    def load(cells):
        X = np.zeros((len(cells), 1))
        return dataset_from_arrays(X, LABELS_OF[name](cells), schema=schema)

    for cells, odd in turns(ODD, place(LABELS, label), place(LABELS_OF, name)):
        check_rule(load, exactly(cells, name), exactly(odd, name))


@pytest.mark.parametrize("name", ["objects", "a list"])
def test_features_of_objects(name):
    schema = width_schema(2, row_norm=4096)

    def load(cells):
        X = np.array([[cell, 1.0] for cell in as_objects(cells)], dtype=object).reshape(-1, 2)
        return dataset_from_arrays(X if name == "objects" else X.tolist() or X, [1] * len(cells),
                                   schema=schema)  # fmt: skip

    for cells in TABLES:
        check_rule(load, cells, [cell for cell in ODD if not isinstance(cell, list)])


def test_libsvm_files(tmp_path):
    schema = width_schema(2, classes=(["0", "2"], "1"), row_norm=4096)
    path = tmp_path / "t.svm"

    def load(lines):
        path.write_text("".join(f"{line}\n" for line in lines))
        return Dataset.from_file(path, schema)

    lines = ["1 1:0.1 2:3", "0 2:1e3", "2", "1 1:.5"]
    odd = [f"{a} 1:{b}" for a in ("1", "1.0", "nan", "") for b in ODD if type(b) in (str, float)]
    check_rule(load, lines, odd)


def test_npz_archives(tmp_path):
    path = tmp_path / "t.npz"
    schema = width_schema(1, classes=(["0", "2"], "1"), row_norm=4096)
    for kind in (np.int64, np.float64, "U9"):

        def load(cells, kind=kind):
            np.savez(path, X=np.zeros((len(cells), 1)), y=np.array(cells, dtype=kind))
            return Dataset.from_file(path, schema)

        check_rule(load, [0, 1, 2, 1], [2**53 + 1, 3, True])


def test_what_pandas_made_of_zip_codes_is_refused_as_a_type():
    """The columns of read_csv took a type from all of their cells: one zip of letters made text of
    20,000 integers, and a model of one row more was told apart at epsilon 0.5."""
    schema = schema_of(KINDS["codes"])
    text = "x,y\n" + "02139,0\n" * 5
    numbers, texts = (pd.read_csv(io.StringIO(t)) for t in (text, text + "K1A,1\n"))
    for frame in (numbers, numbers.astype({"x": float}), numbers.astype({"x": "category"})):
        for some in (frame, frame[:0]):
            with pytest.raises(DataError, match="is text, such as '02139'.*dtype=str"):
                dataset_from_arrays(some, schema=schema)
    codes = dataset_from_arrays(texts, schema=schema).X.toarray()
    assert codes[:, :3].tolist() == [[1, 0, 0]] * 5 + [[0, 0, 0]]


def test_half_a_column_of_integers_is_read_cell_by_cell():
    """read_csv gives a long column in pieces, some of them integers."""
    cells = as_objects([1] * 3 + ["2"] * 2 + [3.0, "03", 7, None])
    frame = pd.DataFrame({"x": pd.Series(cells, dtype=object), "y": 0})
    whole = schema_of('kind = "categorical", categories = ["1", "2", "3"]')
    positions = dataset_from_arrays(frame, schema=whole).X.toarray()[:, :3] @ [1, 2, 3]
    assert positions.tolist() == [1, 1, 1, 2, 2, 3, 0, 0, 0]
    codes = schema_of('kind = "categorical", categories = ["1", "2", "03"]')
    positions = dataset_from_arrays(frame, schema=codes).X.toarray()[:, :3] @ [1, 2, 3]
    assert positions.tolist() == [0, 0, 0, 2, 2, 0, 3, 0, 0]


def test_a_type_taken_from_all_cells_breaks_the_rule():
    """The twin: Arrow's type of a column of objects, which it takes from all of its cells."""
    cells = [decimal.Decimal("0.1"), decimal.Decimal("1.3333")]
    one, more = (pa.array(c).cast(pa.string()).to_pylist() for c in (cells[:1], cells))
    assert one == ["0.1"] and more[:1] == ["0.1000"]


def test_a_sparse_row_is_what_it_is_however_others_are_stored():
    """SciPy sorts every row, and not stably, where one is unsorted: sums of duplicates moved."""
    rng = np.random.default_rng(5)
    indices, values = np.sort(rng.integers(0, 3, (50, 40))), rng.random((50, 40)) * 1e8
    values[:, ::3] *= -(2.0**40)

    def load(last, form):
        data, places = np.append(values, [0.25, 0.5]), np.append(indices, last)
        ends = np.append(np.arange(51) * 40, 2002)
        rows = form(sparse.csr_matrix((data, places, ends), shape=(51, 3)))
        return dataset_from_arrays(rows, [1] * 51, row_norm=200.0).X.toarray()[:50]

    sorted_rows = load([0, 1], sparse.csr_matrix)
    for form in (sparse.csr_matrix, sparse.coo_matrix, sparse.csc_matrix, sparse.csr_array):
        assert np.array_equal(load([1, 0], form), sorted_rows)
    for k in range(50):
        alone = sparse.csr_matrix((values[k], indices[k], [0, 40]), (1, 3))
        found = dataset_from_arrays(alone, [1], row_norm=200.0).X.toarray()
        assert np.array_equal(found[0], sorted_rows[k])


def test_texts_of_an_arrow_dictionary_are_not_counted():
    """Chunks of 8-bit codes were unified, and refused at the 128th text, whatever it was."""
    schema = schema_of(KINDS["codes"])
    for n in (100, 150, 240):
        texts = [f"t{i}" for i in range(n)] + ["02140"]
        chunks = [pa.array(texts[i::2]).dictionary_encode() for i in range(2)]
        narrow = [
            pa.DictionaryArray.from_arrays(c.indices.cast(pa.int8()), c.dictionary) for c in chunks
        ]
        column = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array(narrow)))
        frame = pd.DataFrame({"x": column, "y": 0})
        found = dataset_from_arrays(frame, schema=schema).X.toarray()[:, 1]
        assert found.sum() == 1


def test_a_text_that_is_no_utf8_is_one_cell():
    schema = dataclasses.replace(
        width_schema(1), columns=(schema_of(KINDS["truth"], LABELS["positive"]).label,)
    )
    for y in (["1", "\ud800"], np.array(["1", "\ud800"])):
        assert dataset_from_arrays(np.zeros((2, 1)), y, schema=schema).y.tolist() == [1, -1]

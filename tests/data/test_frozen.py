"""Blocks keep rows that cannot change as they are, and copy all others."""

import numpy as np
import pytest

from dpcore import Schema
from dpcore.data.blocks import frozen
from dpcore.data.blocks.frozen import freeze
from dpcore.data.dataset import Dataset
from dpcore.plugin.parts import Table
from dpcore_tables.coded import CodedBlock, CodedRows

COLUMNS = {
    "age": {"kind": "numeric", "lower": 0, "upper": 3},
    "city": {"kind": "categorical", "categories": ["a", "b"]},
    "y": {"kind": "label", "classes": ["no", "yes"]},
}
CODED = Schema.from_dict({"columns": COLUMNS})
DENSE = Schema.from_dict({"columns": COLUMNS | {"city": {"kind": "drop"}}})
W = np.array([0.5, -0.25, 0.125, 1.0])


@pytest.fixture
def load(tmp_path):
    path = tmp_path / "f.csv"
    rows = "1,a,no\n2,b,yes\n0.7,zz,no\n" * (Table.BLOCK_ROWS // 2)
    path.write_text("age,city,y\n" + rows)
    return lambda schema: Dataset.from_file(path, schema)


def table(data, X=None):
    X = data.X if X is None else X
    return Table.from_matrix(X, data.y, row_norm=1.0, raw_norm_bound=data.raw_norm_bound)


def stored(block):
    if not isinstance(block, CodedBlock):
        return [block._values]
    with block._lend() as rows:
        return [rows.numeric, rows.codes]


def arrays(X):
    return [X.numeric, X.codes] if isinstance(X, CodedRows) else [X]


@pytest.mark.parametrize("schema", [CODED, DENSE])
def test_rows_that_were_read_are_held_once(load, schema):
    data = load(schema)
    blocks = table(data).blocks
    assert len(blocks) == 2
    for block in blocks:
        for kept, read in zip(stored(block), arrays(data.X), strict=True):
            assert np.shares_memory(kept, read) and not kept.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        arrays(data.X)[0][0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        arrays(data.X)[0].setflags(write=True)


@pytest.mark.parametrize("schema", [CODED, DENSE])
def test_shared_and_copied_rows_have_the_same_bits(load, schema):
    data = load(schema)
    w = W[: schema.n_features]
    copied = table(data, data.X[np.arange(data.y.size)])
    for a, b in zip(table(data).blocks, copied.blocks, strict=True):
        assert not np.shares_memory(stored(a)[0], stored(b)[0])
        assert a.margins(w).tobytes() == b.margins(w).tobytes()
        assert a.factor.tobytes() == b.factor.tobytes()
        for norm in ("l1", "l2", "linf"):
            assert a.row_norms(norm).tobytes() == b.row_norms(norm).tobytes()


def callers(array):
    """Yield (what is handed over, what its caller can still write to)."""
    whole = array.copy()
    yield whole, whole
    view = whole.view()
    view.setflags(write=False)
    yield view, whole
    locked = array.copy()
    earlier = locked[:]
    locked.setflags(write=False)
    yield locked, earlier
    memory = bytearray(array.tobytes())
    over = np.frombuffer(memory, array.dtype).reshape(array.shape)
    over.setflags(write=False)
    yield over, np.frombuffer(memory, array.dtype).reshape(array.shape)


@pytest.mark.parametrize("k", range(4))
@pytest.mark.parametrize("schema", [CODED, DENSE])
def test_what_a_caller_can_write_to_is_copied(load, schema, k):
    data = load(schema)
    X = data.X
    handed = [list(callers(a))[k] for a in arrays(X)]
    rows = handed[0][0]
    if isinstance(X, CodedRows):
        rows = CodedRows(X.layout, *(given for given, _ in handed))
    kept, w = table(data, rows), W[: schema.n_features]
    before = [block.margins(w).copy() for block in kept.blocks]
    for _, writeable in handed:
        writeable[:] = 0
    for block, margins in zip(kept.blocks, before, strict=True):
        block.margins(w + 1)
        assert np.array_equal(block.margins(w), margins)


def test_the_check_that_nobody_can_write_is_what_keeps_them_apart(load, monkeypatch):
    # Broken: an array that is read-only itself counts as one that cannot change.
    data = load(DENSE)
    monkeypatch.setattr(frozen, "is_frozen", lambda array: not array.flags.writeable)
    for handed, writeable in list(callers(data.X))[1:]:
        block = table(data, handed).blocks[0]
        before = block.margins(W[:2]).copy()
        writeable[:] = 0
        block.margins(W[:2] + 1)
        assert not np.array_equal(block.margins(W[:2]), before)


@pytest.mark.parametrize("value", [0.3, 1.5, -0.0, -1.0])
def test_values_off_the_grid_or_the_bounds_are_stored_anew(load, value):
    coded = load(CODED).X
    numeric = coded.numeric.copy()
    numeric[0, 0] = value
    rows = CodedRows(coded.layout, freeze(numeric), coded.codes)
    y = np.ones(coded.shape[0])
    first, second = Table.from_matrix(rows, y, row_norm=2.0, raw_norm_bound=2.0).blocks
    assert not np.shares_memory(stored(first)[0], rows.numeric)
    assert np.shares_memory(stored(second)[0], rows.numeric)
    assert 0.0 <= stored(first)[0][0, 0] <= 1.0 and stored(first)[0][0, 0] * 2**16 % 1 == 0


def test_a_data_sets_part_is_held_once(load):
    data = load(CODED)
    part = data.take(np.arange(data.y.size) % 2 == 0)
    assert np.shares_memory(stored(table(part).blocks[0])[0], part.X.numeric)
    whole = Dataset("mine", np.ones((4, 2)), np.ones(4), DENSE)
    whole.take(slice(0, 2))
    whole.X[0] = 2.0

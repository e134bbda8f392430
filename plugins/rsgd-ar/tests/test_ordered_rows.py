"""Rows in a given order: every layout gives the rows, labels and factors of its blocks."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from dpcore import Schema
from dpcore.errors import InvalidInputError
from dpcore.plugin.parts import Dataset, Table
from dpcore_rsgd_ar.ordered_rows import order_rows, rotate_rows
from dpcore_tables.coded import CodedLayout, CodedRows
from dpcore_tables.store import convert

N = Table.BLOCK_ROWS + 37


def coded(rng):
    numeric = rng.random((N, 2)).astype(np.float32)
    codes = np.stack([rng.integers(0, 4, N), rng.integers(4, 7, N)], axis=1).astype(np.uint8)
    features = np.array([1, 2, 6, 7, 3, 5, 7])  # 7 stands for no feature
    layout = CodedLayout(7, np.array([0, 4]), features, np.array([0, 4, 7]))
    return CodedRows(layout, numeric, codes)


def layouts():
    rng = np.random.default_rng(3)
    rows = coded(rng)
    return {"coded": rows, "csr": rows.tocsr(), "dense": rows.toarray()}


@pytest.mark.parametrize("name", ["coded", "csr", "dense"])
def test_every_layout_is_the_table_in_that_order(name):
    X = layouts()[name]
    rng = np.random.default_rng(4)
    y = np.where(rng.random(N) < 0.5, -1.0, 1.0)
    table = Table.from_matrix(X, y, row_norm=1.5, raw_norm_bound=2.0)
    order = rng.permutation(N)
    rows = order_rows(table, order, row_norm=1.0)
    dense = np.trunc(np.ldexp(layouts()["dense"], 16)) * 2.0**-16
    assert np.array_equal(rows.y, y[order])
    norms = np.linalg.norm(dense, axis=1)[order]
    np.testing.assert_allclose(rows.factor, np.minimum(1, 1 / norms), rtol=1e-9)
    assert (rows.factor * norms <= 1.0 + 1e-15).all()
    w, c = rng.normal(size=7), rng.normal(size=N)
    for start, stop in ((0, N), (5, 4000), (N - 40, N), (7, 8)):
        part = dense[order][start:stop]
        np.testing.assert_allclose(rows.margins(start, stop, w), part @ w, atol=1e-13)
        summed = rows.weighted_sum(start, stop, c[start:stop])
        np.testing.assert_allclose(summed, c[start:stop] @ part, atol=1e-11)


@pytest.mark.parametrize("name", ["coded", "csr", "dense"])
@pytest.mark.parametrize("offset", [0, 1, 36, 37, 38, N - 38, N - 37, N - 1])
def test_rows_as_stored_begin_at_the_offset(name, offset):
    X = layouts()[name]
    table = Table.from_matrix(X, np.arange(N) / N, row_norm=1.5, raw_norm_bound=2.0)
    rotated = rotate_rows(table, offset, row_norm=1.0)
    copied = order_rows(table, (np.arange(N) - offset) % N, row_norm=1.0)
    assert rotated.y[offset] == 0.0
    assert np.array_equal(rotated.y, copied.y) and np.array_equal(rotated.factor, copied.factor)
    rng = np.random.default_rng(offset)
    w, c = rng.normal(size=7), rng.normal(size=N)
    for start, stop in ((0, N), (5, 4000), (N - 40, N), (3000, N - 5)):
        assert np.array_equal(rotated.margins(start, stop, w), copied.margins(start, stop, w))
        pair = [r.weighted_sum(start, stop, c[start:stop]) for r in (rotated, copied)]
        np.testing.assert_allclose(*pair, atol=1e-11)


def test_a_row_norm_above_the_tables_changes_nothing():
    X = layouts()["dense"]
    table = Table.from_matrix(X, np.ones(N), row_norm=1.0, raw_norm_bound=2.0)
    rows = order_rows(table, np.arange(N), row_norm=5.0)
    assert np.array_equal(rows.factor, np.concatenate([b.factor for b in table.blocks]))


def test_sparse_rows_without_entries_keep_their_place():
    X = csr_matrix(np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 0.0], [0.25, 1.0]]))
    table = Table.from_matrix(X, np.ones(4), row_norm=1.5, raw_norm_bound=2.0)
    rows = order_rows(table, np.array([3, 0, 1, 2]), row_norm=1.5)
    assert rows.margins(0, 4, np.array([2.0, 1.0])).tolist() == [1.5, 0.0, 1.0, 0.0]


def test_blocks_of_several_layouts_are_refused():
    X = layouts()
    tables = [
        Table.from_matrix(X[name], np.ones(N), row_norm=1.5, raw_norm_bound=2.0)
        for name in ("csr", "dense")
    ]
    blocks = [block for table in tables for block in table.blocks]
    mixed = Table(blocks, n_features=7, raw_norm_bound=2.0, row_norm=1.5)
    with pytest.raises(InvalidInputError, match="of one layout"):
        order_rows(mixed, np.arange(2 * N), row_norm=1.0)


SCHEMA = """
[columns]
age = { kind = "numeric", lower = 0, upper = 90 }
pet = { kind = "categorical", categories = ["cat", "dog", "none"] }
y = { kind = "label", classes = ["no", "yes"] }
"""


@pytest.mark.parametrize("offset", [0, 17, 450])
def test_rows_of_a_store_are_those_of_its_file(tmp_path, offset):
    rng = np.random.default_rng(6)
    cells = [f"{rng.uniform(0, 90):.3f},{rng.choice(['cat', 'dog'])},yes" for _ in range(500)]
    (tmp_path / "rows.csv").write_text("\n".join(["age,pet,y", *cells]) + "\n")
    (tmp_path / "schema.toml").write_text(SCHEMA)
    schema = Schema.read(tmp_path / "schema.toml")
    convert(tmp_path / "rows.csv", tmp_path / "rows.dpcore", schema)
    w, c = rng.normal(size=5), rng.normal(size=60)
    found = []
    for dataset in (
        Dataset.from_file(tmp_path / "rows.csv", schema),
        Dataset.from_file(tmp_path / "rows.dpcore", schema),
    ):
        bounds = {"row_norm": dataset.row_norm, "raw_norm_bound": dataset.raw_norm_bound}
        table = Table.from_matrix(dataset.X, dataset.y, **bounds)
        for rows in (
            rotate_rows(table, offset, 1.0),
            order_rows(table, (np.arange(500) - offset) % 500, 1.0),
        ):
            found.append((rows.margins(30, 90, w), rows.weighted_sum(30, 90, c)))
    for margins, total in found[1:]:
        assert np.array_equal(margins, found[0][0])
        np.testing.assert_allclose(total, found[0][1], atol=1e-12)

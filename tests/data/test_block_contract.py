"""All that a kernel may ask of a block, in every layout."""

import numpy as np
import pytest
from coded_rows import coded

from dpcore.errors import InvalidInputError
from dpcore.plugin import round_parameters
from dpcore.plugin.parts import Table


def table(X, y, raw, row):
    return Table.from_matrix(X, y, raw_norm_bound=raw, row_norm=row)


@pytest.mark.parametrize("layout", ["dense", "csr", "coded"])
@pytest.mark.parametrize("row_norm", [0.7, 3.0])
def test_rows_are_the_margins_of_unit_vectors(layout, row_norm):
    rows, y = coded(50)
    X = {"dense": rows.toarray(), "csr": rows.tocsr(), "coded": rows}[layout]
    block = table(X, y, raw=3.0, row=row_norm).blocks[0]
    columns = [block.margins(unit) for unit in np.eye(block.n_features)]
    assert block.rows().shape == (50, block.n_features)
    assert np.array_equal(block.rows(), np.stack(columns, axis=1))


@pytest.mark.parametrize("layout", ["dense", "csr", "coded"])
@pytest.mark.parametrize("row_norm", [0.7, 3.0])
def test_margins_at_several_points_are_those_of_each(layout, row_norm):
    rows, y = coded(150)
    X = {"dense": rows.toarray(), "csr": rows.tocsr(), "coded": rows}[layout]
    block = table(X, y, raw=3.0, row=row_norm).blocks[0]
    points = np.random.default_rng(4).normal(size=(5, block.n_features))
    for part in (block, block.take(np.arange(0, 150, 7))):
        margins = part.margins_at(points)
        assert margins.flags.c_contiguous
        assert np.array_equal(margins, [part.margins(w) for w in points])
    points *= 3.0
    assert np.array_equal(block.margins_at(points), [block.margins(w) for w in points])


@pytest.mark.parametrize("layout", ["dense", "csr", "coded"])
def test_rows_gathered_in_another_order_are_those_rows(layout):
    rows, y = coded(Table.BLOCK_ROWS + 37)
    X = {"dense": rows.toarray(), "csr": rows.tocsr(), "coded": rows}[layout]
    blocks = table(X, y, raw=3.0, row=3.0).blocks
    places = np.random.default_rng(6).permutation(y.size)
    gathered = type(blocks[0]).gather(blocks, places)
    w, c = np.random.default_rng(7).normal(size=266), np.random.default_rng(8).normal(size=y.size)
    w = round_parameters(w, 3.0)
    expected, out = np.empty(y.size), np.empty(600)
    expected[places] = np.concatenate([block.margins(w) for block in blocks])
    gathered.fill_margins(100, 700, w, out)
    assert np.array_equal(out, expected[100:700])
    raw = np.empty((y.size, 266))
    raw[places] = np.vstack([block.rows() for block in blocks])
    for k in (1, 2):
        total = gathered.mapped(lambda x, k=k: x**k).weighted_sum(100, 700, c[100:700])
        np.testing.assert_allclose(total, c[100:700] @ raw[100:700] ** k, atol=1e-12)


def test_raw_rows_in_place_are_ranges_of_the_block():
    rows, y = coded()
    for X in (rows.toarray(), rows.tocsr(), rows):
        block = table(X, y, raw=3.0, row=0.7).blocks[0]
        w, out = round_parameters(np.arange(266) / 100, 3.0), np.empty(40)
        block.raw_rows().fill_margins(10, 50, w, out)
        assert np.array_equal(out * block.factor[10:50], block.margins(w)[10:50])
        assert np.array_equal(block.factors_within(0.7), block.factor)
        assert (block.factors_within(0.1) * block.row_norms("l2") <= 0.1).all()


@pytest.mark.parametrize("layout", ["dense", "csr", "coded"])
@pytest.mark.parametrize("more", [-1, 1, 265])
def test_a_vector_that_is_not_as_long_as_a_row_is_refused(layout, more):
    # A kernel would read on in the rows behind: one row would move the parts of many.
    rows, y = coded(50)
    X = {"dense": rows.toarray(), "csr": rows.tocsr(), "coded": rows}[layout]
    block = table(X, y, raw=3.0, row=3.0).blocks[0]
    right, wrong = np.zeros(block.n_features), np.zeros(block.n_features + more)
    for ask in (
        lambda: block.margins(wrong),
        lambda: block.margins(np.zeros((3, wrong.size))),
        lambda: block.margins_at(wrong[np.newaxis]),
        lambda: block.line(wrong, right),
        lambda: block.line(right, wrong),
        lambda: block.sum_at(wrong, lambda z, rows: z),
    ):
        with pytest.raises(InvalidInputError, match="numbers, one for each feature"):
            ask()


def at_the_edge(raw):
    """Return a point and the same on its grid, which is itself rounded to a coarser one."""
    rng = np.random.default_rng(1)
    while True:
        way, fine, coarse = rng.normal(size=5), 0.0, 2.0**14
        for _ in range(60):
            middle = (fine + coarse) / 2
            steps = round_parameters(middle * way, raw) * 2.0**23
            is_coarse = np.array_equal(steps, np.rint(steps))
            fine, coarse = (fine, middle) if is_coarse else (middle, coarse)
        point = fine * way
        rounded = round_parameters(point, raw)
        if not np.array_equal(rounded, round_parameters(rounded, raw)):
            return point, rounded


def test_equal_rows_have_equal_margins_whatever_was_asked_before():
    # Blocks share what they have rounded: a point that was forgotten between two of them was once
    # on two grids in one answer, so that a row more moved a row of each block.
    point, rounded = at_the_edge(1.0)
    rng = np.random.default_rng(2)
    X = np.rint(rng.uniform(-0.4, 0.4, (Table.BLOCK_ROWS + 1, 5)) * 2.0**16) / 2.0**16
    X[-1] = X[0]
    for others in range(6):
        first, second = table(X, np.ones(len(X)), raw=1.0, row=1.0).blocks
        for asked in (point, *rng.normal(size=(others, 5))):
            first.margins(asked)
        direction = rng.normal(size=5)
        (z, _), (again, _) = (block.line(rounded, direction) for block in (first, second))
        assert z[0] == again[-1]

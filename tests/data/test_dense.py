"""Dense rows: one pass for both products, in float32 where that holds them, with the same bits."""

from fractions import Fraction
from functools import reduce
from operator import add

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_matrix

from dpcore import fit
from dpcore.data.blocks import dense, dense_kernels
from dpcore.data.blocks.dense_kernels import (
    dense_margins,
    dense_square_product,
    exact_margins,
    exact_margins_at,
    exact_weighted_moments,
    exact_weighted_sum,
    exact_weighted_sums_of_two,
    grid_squares,
    measure_rows,
    store_rows,
)
from dpcore.data.blocks.table import Table
from dpcore.data.blocks.truncation import truncate_rows
from dpcore.errors import DataError
from dpcore.exact.grid import FLOAT32_LIMIT
from dpcore.losses.logistic import Softmax
from dpcore.plugin import ClippedGradientSum, NeighboringRelation, Problem, round_parameters
from dpcore.plugin.parts import Logistic
from dpcore_baselines.queries.standardization import Standardization
from dpcore_baselines.queries.standardized import StandardizedGradientSum

RELATION = NeighboringRelation.ADD_OR_REMOVE_ONE
RAW, ROW, WIDTH, N_ROWS = 3.0, 1.25, 21, 303
RNG = np.random.default_rng(7)
ON_GRID = np.trunc(RNG.uniform(-0.6, 0.6, (N_ROWS, WIDTH)) * 2**16) / 2**16
ON_GRID[::7] = 0.0
CLASSES = RNG.integers(0, 3, N_ROWS).astype(float)


def tables(y):
    """The same rows dense in float32, dense in float64, and sparse."""
    bounds = {"row_norm": ROW, "raw_norm_bound": RAW}
    narrow = Table.from_matrix(ON_GRID, y, **bounds)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dense, "FLOAT32_LIMIT", 0.0)
        wide = Table.from_matrix(ON_GRID, y, **bounds)
    forms = [table.blocks[0].raw_rows()._values.dtype for table in (narrow, wide)]
    assert forms == [np.float32, np.float64]
    return narrow, wide, Table.from_matrix(csr_matrix(ON_GRID), y, **bounds)


class NumPyLoss:
    """A loss of someone else's: NumPy on whatever rows it is handed."""

    name, classification, convex, lipschitz, smoothness = "numpy", True, True, 1.0, 1.0

    def value(self, z, y, out):
        out[:] = np.logaddexp(0.0, -y * z)

    def dvalue(self, z, y, out):
        assert z.flags.c_contiguous and not z.flags.writeable
        np.divide(-y, 1.0 + np.exp(y * z), out=out)


def gradients(loss, y, classes=1):
    """Both clipped gradients of every table, at two points, one of them asked for twice."""
    shape = (WIDTH,) if classes == 1 else (classes, WIDTH)
    problem = Problem(
        loss, 0.0, WIDTH, row_norm=ROW, raw_norm_bound=RAW, relation=RELATION, n_margins=classes
    )
    columns = Standardization.nearest(np.full(WIDTH, 2.0), np.full(WIDTH, 0.25), WIDTH - 1)
    points = np.random.default_rng(1).normal(size=(2, *shape))
    for table in tables(y):
        (block,) = table.blocks
        answers = []
        for w in (points[0], points[1], points[1]):
            answers.append(ClippedGradientSum(problem, w, 0.5).answer_block(block))
            answers.append(StandardizedGradientSum(problem, w, columns, 0.5).answer_block(block))
        yield np.array(answers)


@pytest.mark.parametrize("cells", [3 * WIDTH, 100 * WIDTH])
@pytest.mark.parametrize(("loss", "classes"), [(Logistic(), 1), (NumPyLoss(), 1), (Softmax(), 3)])
def test_a_gradient_has_the_same_bits_in_every_layout_width_and_chunk(
    monkeypatch, loss, classes, cells
):
    y = CLASSES if classes > 1 else np.where(CLASSES > 0, 1.0, -1.0)
    first, *others = gradients(loss, y, classes)
    monkeypatch.setattr(dense, "_CACHED_CELLS", cells)
    for answers in (*others, *gradients(loss, y, classes)):
        assert answers.dtype == np.int64 and np.array_equal(answers, first)


def test_margins_of_a_pass_are_kept():
    w, seen = RNG.normal(size=WIDTH), []

    def watched(z, rows):
        seen.append((z.tobytes(), rows))
        return np.zeros(z.shape)

    for table in tables(CLASSES - 1.0):
        (block,) = table.blocks
        fresh = block.take(np.arange(N_ROWS)).margins(w).tobytes()
        for _ in range(2):
            block.sum_at(w, watched)
            assert seen.pop() == (fresh, slice(0, N_ROWS)) and not seen
        assert block.margins(w).tobytes() == fresh


@pytest.mark.parametrize(("bound", "form"), [(255.0, np.float32), (256.0, np.float64)])
def test_entries_are_float32_below_the_public_limit_only(bound, form):
    finest = np.nextafter(bound, 0) - 2.0**-16
    X = np.trunc(np.array([[finest, 2.0**-16], [-finest, -(2.0**-16)]]) * 2**16) / 2**16
    bounds = {"row_norm": bound, "raw_norm_bound": bound}
    assert FLOAT32_LIMIT == 256.0
    (block,) = Table.from_matrix(X, np.ones(2), **bounds).blocks
    assert block.raw_rows()._values.dtype == form
    assert np.array_equal(block.rows(), X)


def test_float32_above_the_limit_would_round(monkeypatch):
    X = np.array([[2.0**9 + 2.0**-16, 0.0]])
    monkeypatch.setattr(dense, "FLOAT32_LIMIT", 2.0**11)
    (block,) = Table.from_matrix(X, np.ones(1), row_norm=2.0**10, raw_norm_bound=2.0**10).blocks
    assert not np.array_equal(block.rows(), X)


def test_exact_kernels_are_the_sums_in_whole_numbers():
    values = ON_GRID[:30].astype(np.float32)
    w = round_parameters(RNG.normal(size=WIDTH), RAW)
    c = np.trunc(RNG.uniform(-1, 1, 30) * 2**20) / 2**20
    margins, sums, moments = np.empty(30), np.zeros(WIDTH), np.zeros(WIDTH)
    exact_margins(values, w, margins)
    exact_weighted_sum(values, c, sums)
    exact_weighted_moments(values, 65536.0, c, moments)
    assert margins.tolist() == [naive.margin(row, 1.0, w) for row in values]
    assert sums.tolist() == naive.weighted_sum(values, naive.fractions_of(c))
    points = np.array([round_parameters(RNG.normal(size=WIDTH), RAW) for _ in range(6)])
    several, of_two = np.empty((6, 30)), np.zeros((2, WIDTH))
    exact_margins_at(values, points, several)
    exact_weighted_sums_of_two(values, np.array([c, -2 * c]), of_two)
    assert several.tolist() == [[naive.margin(row, 1.0, v) for row in values] for v in points]
    assert np.array_equal(of_two, [sums, -2 * sums])
    held = [
        [Fraction(int(x * x * 2**16), 2**16) for x in map(Fraction, row)]
        for row in values.astype(float).tolist()
    ]
    wanted = [
        sum(a * b for a, b in zip(naive.fractions_of(c), column, strict=True))
        for column in zip(*held, strict=True)
    ]
    assert moments.tolist() == wanted


def test_the_exact_kernels_in_single_precision_would_be_caught():
    values = ON_GRID.astype(np.float32)
    w = round_parameters(RNG.normal(size=WIDTH), RAW)
    margins, twin = np.empty(N_ROWS), values @ w.astype(np.float32)
    exact_margins(values, w, margins)
    assert np.array_equal(margins, ON_GRID @ w)
    assert not np.array_equal(margins, twin)


def test_products_of_any_vectors_add_in_their_order():
    # Off the grid: eight lanes, then what is left of the row; and column after column.
    values, w = ON_GRID[:20], RNG.normal(size=WIDTH)
    margins, squares = np.empty(20), np.empty(20)
    dense_margins(values, w, np.empty(dense_kernels.LANES), margins)
    dense_square_product(values, w, squares)
    for row, margin, square in zip(values, margins, squares, strict=True):
        total, lanes = 0.0, [0.0] * 8
        for j in range(16, WIDTH):
            total += float(row[j] * w[j])
        for j in range(16):
            lanes[j % 8] += float(row[j] * w[j])
        # One after the other: Python's own sum of floats has been compensated since 3.12.
        assert margin == reduce(add, lanes, total)
        assert square == reduce(add, [float(x * x * v) for x, v in zip(row, w, strict=True)], 0.0)


ENTRIES = st.one_of(
    st.integers(-(2**18), 2**18).map(lambda k: k / 2**16),
    st.floats(-4, 4),
    st.sampled_from([0.0, -0.0, 3.0, -3.0, 2.0**-17]),
)


@settings(deadline=None)
@given(arrays(np.float64, st.tuples(st.integers(0, 4), st.integers(1, 4)), elements=ENTRIES))
def test_rows_that_are_stored_as_they_are_would_be_truncated_to_themselves(X):
    values, squares = truncate_rows(X, None, len(X), RAW)
    found = dense._squares_within(X, RAW)
    whole = bool((X * 2**16 == np.trunc(X * 2**16)).all())
    assert (found is not None) == (whole and bool((np.square(X).sum(axis=1) <= RAW**2).all()))
    if found is not None:
        assert np.array_equal(found, squares) and np.array_equal(values, X)
    for block in Table.from_matrix(X, np.ones(len(X)), row_norm=RAW, raw_norm_bound=RAW).blocks:
        assert np.array_equal(block.raw_rows()._values, values)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_no_numbers_are_on_no_grid(value):
    X = np.array([[0.5, value]])
    assert not grid_squares(X, 65536.0, RAW, np.empty(1, np.int64))
    with pytest.raises(DataError, match="not finite"):
        Table.from_matrix(X, np.ones(1), row_norm=RAW, raw_norm_bound=RAW)


def test_rows_too_wide_and_long_for_whole_numbers_are_left_to_the_other_way():
    X = np.full((1, 200), 4096.0)
    assert dense._squares_within(X, 4096.0) is None
    assert dense._squares_within(X[:, :1], 4096.0) == [2**56]


def test_rows_are_measured_and_stored_as_their_formulas_say():
    X = RNG.normal(size=(15, 6)) * 10.0 ** RNG.integers(-3, 3, 15)[:, None]
    X[3] = 0.0
    largest, roots = np.empty(15), np.empty(15)
    measure_rows(X, 1.0, largest, roots)
    out, factors = np.empty((15, 7), np.float64), RNG.uniform(0.1, 1, 15)
    store_rows(X, 65536.0, largest, factors, out)
    for i, row in enumerate(X):
        size = max(1.0, np.abs(row).max())
        total = 0.0
        for x in (*row, 1.0):
            total += float(x / size) ** 2
        assert (largest[i], roots[i]) == (size, np.sqrt(total))
        wanted = [int(Fraction(float(x / size * factors[i])) * 2**16) / 2**16 for x in row]
        assert out[i, :6].tolist() == wanted


def test_a_whole_fit_is_the_same_in_every_layout(monkeypatch):
    X = ON_GRID[:150] * 0.37
    y = np.where(X[:, 0] + 0.1 * X[:, 1] > 0, 1.0, -1.0)

    def released(rows):
        model = fit(rows, y, epsilon=2.0, delta=1e-5, row_norm=ROW, seed=3)
        report = {k: v for k, v in model.report.items() if k != "seconds"}
        return model.w.tobytes(), report, model.privacy["sentence"]

    first = released(X)
    assert released(csr_matrix(X)) == first
    monkeypatch.setattr(dense, "_CACHED_CELLS", 50 * WIDTH)
    assert released(np.asfortranarray(X)) == first
    monkeypatch.setattr(dense, "FLOAT32_LIMIT", 0.0)
    assert released(X) == first


def test_cells_of_a_block_are_what_it_stores():
    y = np.ones(N_ROWS)
    narrow, _, sparse = tables(y)
    assert narrow.blocks[0].n_cells == ON_GRID.size
    assert sparse.blocks[0].n_cells == np.count_nonzero(ON_GRID)

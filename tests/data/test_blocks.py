"""Dense and sparse blocks: exact, equal to the bit, and within their bounds."""

from fractions import Fraction

import naive
import numpy as np
import pytest
from coded_rows import coded
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from dpcore.data.blocks.table import Table
from dpcore.errors import DataError, InvalidInputError
from dpcore.plugin import ClippedGradientSum, NeighboringRelation, Problem, round_parameters
from dpcore.plugin.parts import LocalEngine, Logistic
from dpcore_dp_agd.loss_line import ClippedLossLine
from dpcore_tables.coded import CodedLayout, CodedRows

RAW, ROW = 2.0, 1.25


def matrix(n=40, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    return X, np.where(rng.random(n) < 0.5, -1.0, 1.0)


def table(X, y, raw=RAW, row=ROW):
    return Table.from_matrix(X, y, raw_norm_bound=raw, row_norm=row)


def problem(d=6):
    relation = NeighboringRelation.ADD_OR_REMOVE_ONE
    return Problem(Logistic(), 0.0, d, ROW, RAW, relation, capacity=2**20)


def stored(block):
    values = getattr(block, "_values", None)
    if values.ndim == 2:
        return values
    parts = (block._values.astype(float), block._indices.astype(int), block._indptr.astype(int))
    return csr_matrix(parts, shape=(block.n_rows, block.n_features)).toarray()


def queries(d=6, seed=5):
    rng = np.random.default_rng(seed)
    w, direction = rng.normal(size=d), rng.normal(size=d)
    steps = np.arange(5) / 16
    return [
        ClippedGradientSum(problem(d), w, 0.5),
        ClippedGradientSum(problem(d), w, 0.5, norm="l1"),
        ClippedLossLine(problem(d), w, direction, steps, 2.0),
    ]


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
def test_the_largest_entry_of_a_row_has_its_size(kind):
    X, y = matrix(seed=2)
    [block] = table(kind(X), y).blocks
    assert np.array_equal(block.row_norms("linf"), np.abs(stored(block)).max(axis=1))
    assert (stored(block).max(axis=1) < block.row_norms("linf")).any()


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
def test_rows_satisfy_both_bounds_in_integers(kind):
    X, y = matrix(seed=1)
    block = table(kind(X * 3), y).blocks[0]
    for row, factor, norm in zip(stored(block), block.factor, block.row_norms("l2"), strict=True):
        square = naive.norm_squared(row)
        assert square <= Fraction(RAW) ** 2
        assert square <= Fraction(norm) ** 2
        assert square * Fraction(factor) ** 2 <= Fraction(ROW) ** 2
        assert 0 < factor <= 1
        for x in naive.fractions_of(row):
            assert (x * 2**16).denominator == 1


def test_values_are_truncated_towards_zero_not_rounded():
    X = np.array([[0.7 * 2.0**-16, -0.7 * 2.0**-16, 1 - 2.0**-20]])
    assert stored(table(X, np.ones(1)).blocks[0]).tolist() == [[0.0, 0.0, 1 - 2.0**-16]]


@pytest.mark.parametrize("size", [1e308, 1e30, 3.0, 1e-30, 5e-324])
@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
def test_rows_of_any_magnitude_are_scaled_down(kind, size):
    X = np.array([[size, -size, size / 3, 0.0]])
    with np.errstate(over="ignore"):  # of the plain kernels: lengths beyond the largest number
        block = table(kind(X), np.ones(1)).blocks[0]
    norm = float(np.linalg.norm(stored(block)))
    assert norm <= RAW
    if size > RAW:
        assert norm > 0.99 * RAW


@pytest.mark.parametrize("row_norm", [1.25, 5.0])
def test_coded_rows_give_the_integers_of_their_one_hot_form(row_norm):
    X, y = coded()
    raw = float(np.nextafter(np.sqrt(5.0), np.inf))
    forms = [X, X.tocsr(), X.toarray()]
    tables = [Table.from_matrix(f, y, raw_norm_bound=raw, row_norm=row_norm) for f in forms]
    for query in queries(266):
        answers = [LocalEngine(t).answer(query) for t in tables]
        assert np.array_equal(answers[0], answers[1]) and np.array_equal(answers[0], answers[2])
    for norm in ("l1", "l2", "linf"):
        norms = [t.blocks[0].row_norms(norm) for t in tables]
        assert np.array_equal(norms[0], norms[1]) and np.array_equal(norms[0], norms[2])


def test_a_coded_row_without_a_known_category_has_its_numbers_alone():
    X, _ = coded()
    unknown = np.array([[3, 264]], dtype=X.codes.dtype)
    row = CodedRows(X.layout, X.numeric[:1], unknown).toarray()[0]
    assert np.count_nonzero(row[2:265]) == 0 and row[265] == 1.0
    assert X.layout.code_type == np.uint16


def test_coded_rows_longer_than_the_raw_bound_are_refused():
    X, y = coded()
    with pytest.raises(InvalidInputError, match="raw norm bound"):
        Table.from_matrix(X, y, raw_norm_bound=2.0, row_norm=2.0)


@pytest.mark.parametrize("scale", [1.0, 5.0])
def test_dense_and_sparse_rows_give_the_same_integers(scale):
    X, y = matrix(n=500, seed=2)
    dense, sparse = table(X * scale, y), table(csr_matrix(X * scale), y)
    for query in queries():
        answers = [LocalEngine(t).answer(query) for t in (dense, sparse)]
        assert np.array_equal(*answers)


def test_gradient_sum_against_the_naive_twin():
    X, y = matrix(n=30, seed=3)
    block = table(csr_matrix(X), y).blocks[0]
    query = queries()[0]
    rows = stored(block)
    margins = np.array(
        [naive.margin(r, f, query.w) for r, f in zip(rows, block.factor, strict=True)]
    )
    assert np.array_equal(margins, block.margins(query.w))
    slopes = np.empty(30)
    Logistic().dvalue(margins, y, slopes)
    coefficients = [
        naive.clipped_coefficient(s, f, r, 0.5, query.bits)
        for s, f, r in zip(slopes, block.factor, rows, strict=True)
    ]
    expected = naive.weighted_sum(rows, coefficients)
    answer = LocalEngine(table(csr_matrix(X), y)).answer(query)
    # The limit in integers may sit one step of the coefficient below the rational one.
    slack = 30 * 2**16 * RAW
    for got, want in zip(answer.tolist(), expected, strict=True):
        assert abs(got - want * 2 ** (16 + query.bits)) <= slack


def test_margins_kept_along_a_line_are_those_of_a_fresh_pass():
    X, y = matrix(n=300, seed=6)
    kept, fresh = table(csr_matrix(X), y).blocks[0], table(csr_matrix(X), y).blocks[0]
    rng = np.random.default_rng(6)
    w = np.rint(rng.normal(size=6) * 2**24) / 2**24
    direction = np.rint(rng.normal(size=6) * 2**14) / 2**14
    kept.line(w, direction)
    calls = []
    product = kept._product
    kept._product = lambda v: calls.append(v) or product(v)
    moved = w - 37 / 1024 * direction
    assert kept.margins(moved).tobytes() == fresh.margins(moved).tobytes()
    assert not calls, "the margins along the line cost a pass"
    kept.margins(moved + 2.0**-24)
    assert len(calls) == 1


@settings(max_examples=25, deadline=None)
@given(st.permutations(range(60)), st.integers(1, 59))
def test_sums_do_not_depend_on_order_or_partition(order, cut):
    X, y = matrix(n=60, seed=7)
    order = list(order)
    whole = table(csr_matrix(X), y)
    halves = [table(csr_matrix(X[part]), y[part]) for part in (order[:cut], order[cut:])]
    blocks = [block for half in halves for block in half.blocks]
    split = Table(blocks, n_features=6, raw_norm_bound=RAW, row_norm=ROW)
    for query in queries():
        assert np.array_equal(LocalEngine(whole).answer(query), LocalEngine(split).answer(query))


def test_an_empty_table_answers_with_the_public_start():
    empty = table(np.empty((0, 6)), np.empty(0))
    assert empty.n_rows == 0
    for query in queries():
        assert np.array_equal(LocalEngine(empty).answer(query), query.start())


def test_wide_tables_and_constant_columns():
    X = csr_matrix((np.full(3, 0.5), ([0, 1, 2], [99_999] * 3)), shape=(3, 100_000))
    query = ClippedGradientSum(problem(100_000), np.zeros(100_000), 1.0)
    answer = LocalEngine(table(X, np.ones(3))).answer(query)
    assert answer.shape == (100_000,) and answer[-1] != 0


@pytest.mark.parametrize(
    ("X", "y", "error", "reason"),
    [
        (np.array([[np.nan]]), np.ones(1), DataError, "not finite"),
        (np.array([[1.0]]), np.array([np.inf]), DataError, "not finite"),
        (np.ones((2, 0)), np.ones(2), InvalidInputError, "no feature columns"),
        (np.ones((2, 1)), np.ones(3), DataError, "number of labels"),
    ],
)
def test_tables_that_cannot_be_held_are_refused(X, y, error, reason):
    with pytest.raises(error, match=reason):
        table(X, y)


def test_one_bad_row_does_not_move_the_others():
    # A scaler fitted on the rows would. Here the others are stored as in a table without it.
    X, y = matrix(n=20, seed=8)
    outlier = np.vstack([X, np.full((1, 6), 1e9)])
    alone = stored(table(X, y).blocks[0])
    together = stored(table(outlier, np.append(y, 1.0)).blocks[0])
    assert np.array_equal(alone, together[:20])


def test_cached_margins_never_depend_on_the_path():
    # Off the grids, or beyond 2^12, kept margins differ from a fresh product in the last bit: a
    # pass that was cut short would then leave equal rows with different margins.
    rng = np.random.default_rng(10)
    X, y = matrix(n=60, seed=10)
    for trial in range(200):
        size = 10.0 ** rng.integers(0, 4)
        w, direction = rng.normal(size=6) * size, rng.normal(size=6)
        step = rng.random() if trial % 2 else np.rint(rng.random() * 1024) / 1024
        if trial % 4 < 2:
            direction = np.rint(direction * 2**14) / 2**14
        kept, fresh = table(X, y).blocks[0], table(X, y).blocks[0]
        kept.line(w, direction)
        moved = round_parameters(w, RAW) - step * direction
        assert kept.margins(moved).tobytes() == fresh.margins(moved).tobytes()


def test_codes_that_are_not_their_columns_own_are_refused():
    # Nine codes on one feature would count as a row of norm 3 and hold one of norm 9.
    X, y = coded()
    raw = float(np.nextafter(np.sqrt(5.0), np.inf))
    for codes in (X.codes[:, ::-1].copy(), X.codes.astype(np.int16)):
        with pytest.raises(InvalidInputError, match="not one of its column"):
            Table.from_matrix(
                CodedRows(X.layout, X.numeric, codes), y, raw_norm_bound=raw, row_norm=raw
            )
    with pytest.raises(InvalidInputError, match="every feature"):
        CodedLayout(3, np.array([0]), np.array([0, 1, 3]), np.array([0, 3]))


def test_a_table_keeps_what_it_was_given_whatever_becomes_of_it():
    X, y = coded()
    raw = float(np.nextafter(np.sqrt(5.0), np.inf))
    kept = Table.from_matrix(X, y, raw_norm_bound=raw, row_norm=raw)
    before = [LocalEngine(kept).answer(query) for query in queries(266)]
    X.codes[:], X.numeric[:], y[:] = X.layout.starts[:-1], 0.0, 1.0
    after = [LocalEngine(kept).answer(query) for query in queries(266)]
    assert all(map(np.array_equal, before, after))


def test_a_vector_that_was_written_to_is_rounded_again():
    X, y = matrix()
    block = table(X, y).blocks[0]
    w = np.ones(6)
    first = block.margins(w)
    w[:] = 2.0
    assert np.array_equal(block.margins(w), 2 * first)

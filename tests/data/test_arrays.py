"""Rows in memory, and the scaling of rows to a public norm."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from dpcore import Schema
from dpcore.data.arrays import dataset_from_arrays, features_from_arrays
from dpcore.data.blocks.layouts import matrix_layout_of
from dpcore.errors import DataError, InvalidInputError
from dpcore.plugin import Problem

SCHEMA = Schema.from_toml("""
[columns]
age = { kind = "numeric", lower = 0, upper = 10 }
city = { kind = "categorical", categories = ["a", "b"] }
y = { kind = "label", classes = ["no", "yes"] }
""")
FINITE = st.floats(allow_nan=False, allow_infinity=False)
MATRICES = arrays(np.float64, st.tuples(st.integers(0, 6), st.integers(1, 5)), elements=FINITE)


def scale_rows(X, row_norm, intercept):
    return matrix_layout_of(X).scale_rows(X, row_norm, intercept)


def long_norms(X):
    """Norms in extended precision, whose range holds every square."""
    return np.sqrt(np.square(X.astype(np.longdouble)).sum(axis=1))


@given(MATRICES, st.floats(0.01, 100), st.booleans())
def test_rows_are_scaled_down_whatever_their_size(X, row_norm, intercept):
    out = scale_rows(X, row_norm, intercept=intercept).astype(np.float64)
    raw = np.column_stack([X, np.ones((len(X), int(intercept)))])
    norms = long_norms(raw)
    assert np.isfinite(out).all()
    assert (long_norms(out) <= row_norm * (1 + 1e-15)).all()
    within = norms < row_norm * (1 - 1e-14)
    assert np.array_equal(
        out[within], np.trunc(raw[within] * 2**Problem.FEATURE_BITS) / 2**Problem.FEATURE_BITS
    )
    over = norms > row_norm
    want = raw[over] * (row_norm / norms[over])[:, None].astype(np.longdouble)
    assert np.array_equal(out * 2**Problem.FEATURE_BITS, np.trunc(out * 2**Problem.FEATURE_BITS))
    assert (np.abs(out[over]) <= np.abs(want) * (1 + 1e-14)).all()
    np.testing.assert_allclose(out[over], want.astype(float), 1e-14, 2.0**-Problem.FEATURE_BITS)


@given(MATRICES, st.booleans())
def test_sparse_dense_and_single_rows_give_the_same_bits(X, intercept):
    dense = scale_rows(X, 1.0, intercept=intercept)
    csr = scale_rows(sparse.csr_matrix(X), 1.0, intercept=intercept)
    assert np.array_equal(csr.toarray(), dense)
    assert csr.has_canonical_format
    for i in range(len(X)):
        assert np.array_equal(scale_rows(X[i : i + 1], 1.0, intercept=intercept)[0], dense[i])


def test_the_sum_along_a_row_would_not_give_the_same_bits():
    """The twin that adds with ``sum`` pairs up by the width, and so is no function of the values
    that are there: zero columns change it."""
    rows = np.random.default_rng(1).random((50, 300))
    padded = np.insert(rows, range(0, 300, 2), 0.0, axis=1)
    used = padded[0] != 0
    one, other = (scale_rows(X, 1.0, intercept=False) for X in (rows, padded))
    assert np.array_equal(one, other[:, used])
    twin, twin_padded = (X / np.sqrt(np.square(X).sum(axis=1))[:, None] for X in (rows, padded))
    assert not np.array_equal(twin, twin_padded[:, used])


@pytest.mark.parametrize(
    "form",
    [
        lambda X: X.astype(np.float32),
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        lambda X: X.astype(">f8"),
        lambda X: X.astype(np.longdouble),
    ],
)
@pytest.mark.parametrize("scale", [1.0, 2.0**-3])
def test_an_array_of_another_type_or_order_is_not_copied_as_a_whole(form, scale):
    whole = np.random.default_rng(0).integers(-9, 9, (20_000, 60)) * scale
    given, y = form(whole), np.ones(len(whole))

    def read(X):
        tracemalloc.start()
        data = dataset_from_arrays(X, y, row_norm=2.0)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return data.X, peak

    read(given)  # Kernels are loaded.
    (wanted, least), (found, peak) = read(whole), read(given)
    assert found.dtype == wanted.dtype and np.array_equal(found, wanted)
    # A copy would be all of it; of numbers that float64 does not hold one is made.
    assert (peak - least > 0.2 * whole.nbytes) == (given.dtype.itemsize > 8)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int8, np.uint64, bool, np.longdouble])
def test_real_types_are_taken(kind):
    X = np.array([[1, 0], [0, 1]], dtype=kind)
    data = dataset_from_arrays(X, [1, -1], intercept=False)
    assert data.X.dtype == np.float32
    assert data.X.tolist() == [[1, 0], [0, 1]]
    assert (data.row_norm, data.raw_norm_bound, data.is_generated) == (1.0, 1.0, False)


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([0, 1, 0], (0, 1)),
        (np.array([0, 1, 0], np.uint8), (np.int64(0), np.int64(1))),
        (np.array([False, True, False]), (False, True)),
        (["b", "a", "b"], ("b", "a")),
        (np.array(["b", "a", "b"]), ("b", "a")),
        (pd.Series(["b", "a", "c"], dtype="category"), (["b", "c"], "a")),
        ([-1.0, 1.0, -1.0], None),
    ],
)
def test_classes_are_the_callers(y, classes):
    data = dataset_from_arrays(np.zeros((3, 1)), y, classes=classes, n0=7, capacity=9)
    assert data.y.tolist() == [-1, 1, -1]
    assert (data.n0, data.capacity, data.from_data) == (7, 9, False)


def test_a_class_that_is_absent_changes_nothing():
    both = dataset_from_arrays(np.eye(2), [0, 1], classes=(0, 1))
    one = dataset_from_arrays(np.eye(2), [1, 1], classes=(0, 1))
    assert np.array_equal(both.X, one.X) and one.y.tolist() == [1, 1]


def test_real_labels_and_no_rows():
    real = dataset_from_arrays(np.zeros((3, 1)), [0, 5.5, 2.25], target_bounds=(0, 3))
    assert real.y.tolist() == [-1, 1, 0.5] and real.schema.label.scale == (1.5, 1.5)
    empty = dataset_from_arrays(np.zeros((0, 3)), [])
    assert empty.X.shape == (0, 4) and empty.y.shape == (0,)
    assert dataset_from_arrays(sparse.csr_matrix((0, 3)), []).X.shape == (0, 4)


X = np.zeros((2, 1))
BAD = [
    (lambda: dataset_from_arrays(X, [1, 2]), DataError, "row 2: the label is not one"),
    (lambda: dataset_from_arrays(X, [1, np.nan]), DataError, "row 2: the label"),
    (lambda: dataset_from_arrays(X, [1]), DataError, "number of labels"),
    (lambda: dataset_from_arrays(X, np.ones((2, 1))), DataError, "one-dimensional.*ravel"),
    (lambda: dataset_from_arrays(X, [1, "a"]), DataError, "row 2: the label is not one"),
    (lambda: dataset_from_arrays(X), InvalidInputError, "Expected y"),
    (lambda: dataset_from_arrays(X + [[np.inf]], [1, 1]), DataError, "row 1: a value is not"),
    (lambda: dataset_from_arrays(sparse.csr_matrix(X + np.nan), [1, 1]), DataError, "row 1"),
    (lambda: dataset_from_arrays(X[:, :0], [1, 1]), DataError, "no columns"),
    (lambda: dataset_from_arrays(sparse.csr_matrix((2, 0)), [1, 1]), DataError, "no columns"),
    (lambda: dataset_from_arrays(X[:, 0], [1, 1]), DataError, r"found 1 \(X.reshape"),
    (lambda: dataset_from_arrays([[1], ["a"]], [1, 1]), DataError, "row 2: a value is not"),
    (lambda: dataset_from_arrays(np.array([["a"]]), [1]), DataError, "real numbers"),
    (lambda: dataset_from_arrays([[1], [1, 2]], [1, 1]), DataError, "rows need one length"),
    (lambda: dataset_from_arrays(X, [1, 1], row_norm=0), InvalidInputError, "row_norm"),
    (lambda: dataset_from_arrays(X, [1, 1], row_norm="1"), InvalidInputError, "row_norm"),
    (lambda: dataset_from_arrays(X, [1, 1], classes=(0, 0)), InvalidInputError, "Duplicate"),
    (lambda: dataset_from_arrays(X, [1, 1], classes=1), InvalidInputError, "negative, positive"),
    (lambda: dataset_from_arrays(X, X, classes=(0, 1), target_bounds=(0, 1)), InvalidInputError,
     "not both"),
    (lambda: dataset_from_arrays(X, [1, 1], schema=SCHEMA), InvalidInputError, "needs a frame, of"),
    (lambda: dataset_from_arrays(X, schema=SCHEMA, n0=3), InvalidInputError, "n0 to be left"),
    (lambda: dataset_from_arrays(FRAME, ["no"] * 2), InvalidInputError, "needs a schema"),
    (lambda: dataset_from_arrays(FRAME, ["no"] * 2, schema=SCHEMA), InvalidInputError, "leave y"),
    (lambda: dataset_from_arrays(FRAME[["age", "y"]], schema=SCHEMA), DataError, "no column"),
    (lambda: dataset_from_arrays(FRAME.assign(age=[1, None]), schema=SCHEMA), DataError, "row 2"),
    (lambda: dataset_from_arrays(FRAME.assign(age=[1, "x"]), schema=SCHEMA), DataError, "'age'"),
    (lambda: dataset_from_arrays(FRAME.assign(age=[1j, 2]), schema=SCHEMA), DataError, "complex"),
    (lambda: dataset_from_arrays(pd.concat([FRAME] * 2, axis=1), schema=SCHEMA), DataError, "dupl"),
]  # fmt: skip
FRAME = pd.DataFrame({"age": [1, 2.5], "city": ["a", None], "y": ["no", "yes"]})


@pytest.mark.parametrize(("make", "error", "message"), BAD)
def test_bad_arrays_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_frames():
    whole = dataset_from_arrays(FRAME, schema=SCHEMA)
    apart = dataset_from_arrays(FRAME[["city", "age"]], FRAME["y"], schema=SCHEMA)
    for data in (whole, apart):
        assert data.X.toarray().round(4).tolist() == [[0.1, 1, 0, 1], [0.25, 0, 0, 1]]
        assert data.y.tolist() == [-1, 1]
    assert features_from_arrays(FRAME[["age", "city"]], SCHEMA)[0].shape == (2, 4)
    assert whole.take(np.array([False, True])).y.tolist() == [1]


def test_features_are_made_as_for_training():
    X = np.array([[3.0, 4.0], [0.1, 0.2]])
    data = dataset_from_arrays(X, [1, -1], row_norm=2.0)
    assert np.array_equal(features_from_arrays(X, data.schema)[0], data.X)
    with pytest.raises(DataError, match="1 feature columns, expected 2"):
        features_from_arrays(X[:, :1], data.schema)


def test_the_input_is_left_alone():
    X = sparse.csr_matrix((np.array([3.0, 1.0]), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    dataset_from_arrays(X, [1])
    assert X.indices.tolist() == [1, 0] and X.data.tolist() == [3.0, 1.0]


def test_weights_of_rows_are_held_to_their_bound_and_are_numbers():
    data = dataset_from_arrays(np.eye(3), [1.0, -1.0, 1.0])
    assert data.with_weights(np.array([0.5, 2.0, 9.0]), 2.0).weights.tolist() == [0.5, 2.0, 2.0]
    for wrong in ([0.5, 2.0], [0.5, 2.0, -1.0], [0.5, 2.0, np.nan], [0.5, 2.0, np.inf]):
        with pytest.raises(DataError, match="finite number >= 0 for each row"):
            data.with_weights(np.array(wrong), 2.0)

"""What a fit of an array hands out, of odd labels, ids, weights and parts, and of a store, is the
same on neighbouring tables with equal releases."""

import functools

import numpy as np
import pytest
from neighbours import assert_alike, fitted
from odd_rows import KINDS, frame_of, good_cells, schema_of, text_of
from scipy import sparse

from dpcore import Schema
from dpcore_tables.readers import as_objects
from dpcore_tables.store import convert

X = np.random.default_rng(0).uniform(0, 1, (20, 3))
Y = np.arange(20) % 2
ODD = [2.0, 5, 9], [0.0, 0, 0], [-0.0, -1, 0.5], [1e300, 0, 0]
SQUARE = {"bounds": (0, 1), "row_norm": None}


def a_row_more(rows=ODD, matrix=np.asarray, **asked):
    asked = {"classes": (0, 1), **asked}

    def of(X, y):
        return lambda: fitted(matrix(X), y=y, **asked)

    assert_alike(of(X, Y), *(of(np.vstack([X, row]), np.append(Y, 0)) for row in rows))


@pytest.mark.some_fast
@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"row_norm": 1000.0},
        SQUARE,
        {"private_bounds": True, "row_norm": None},
        SQUARE | {"test_fraction": 0.3, "evaluate_share": 0.2},
        SQUARE | {"intervals_share": 0.4},
        SQUARE | {"class_weight": "balanced"},
        SQUARE | {"algo": "objpert", "params": {}},
        SQUARE | {"algo": "outpert", "params": {}},
    ],
)
def test_of_arrays(asked):
    a_row_more(**asked)


@pytest.mark.parametrize("matrix", [sparse.csr_matrix, sparse.coo_matrix, np.asfortranarray, list])
def test_of_matrices_in_other_forms(matrix):
    a_row_more(matrix=matrix)


def test_of_sparse_rows_that_are_not_sorted():
    rows = sparse.csr_matrix(np.vstack([X, X[:1]]))
    turned, doubled = rows.copy(), rows.copy()
    turned.indices[-2:] = turned.indices[-2:][::-1]
    doubled.indices[-2:] = doubled.indices[-1]
    for odd in (turned, doubled):
        odd.has_sorted_indices = odd.has_canonical_format = False
    more = {"y": np.append(Y, 0), "classes": (0, 1)}
    assert_alike(
        lambda: fitted(sparse.csr_matrix(X), y=Y, classes=(0, 1)),
        *(functools.partial(fitted, odd, **more) for odd in (rows, turned, doubled)),
    )


@pytest.mark.parametrize("asked", [{}, SQUARE])
def test_of_no_rows_and_of_one_more_than_a_block_holds(asked):
    many = np.resize(X, (8193, 3))

    def of(n):
        return lambda: fitted(many[:n], y=np.arange(n) % 2, classes=(0, 1), **asked)

    assert_alike(of(0), of(1))
    assert_alike(of(8192), of(8193))


@pytest.mark.parametrize("kind", ["codes, marked", "hashed", "hashed numbers", "date"])
def test_of_no_rows_in_columns(kind):
    keys = schema_of(kind)

    def of(cells):
        return lambda: fitted(frame_of(cells), Schema.from_dict(keys))

    assert_alike(of([]), of([None]), of([KINDS[kind][1]]))


LABELS = {
    "two": ({"classes": ("a", "b")}, "ab", ["a", b"a"]),
    "lists": ({"classes": (["a", "c"], ["b", "d"])}, "ab", ["c", "d"]),
    "several": ({"classes": ("a", "b", "c"), "loss": "softmax"}, "abc", ["c"]),
    "each": ({"classes": ("a", "b", "c"), "multiclass": "ovr"}, "abc", ["c"]),
    "number": ({"target_bounds": (0, 5), "loss": "ridge"}, [1, 2.5], [99.0, -9, "1.5", True]),
}


SLOW = {"several": pytest.mark.slow}
"""It compiles the kernels of softmax."""


@pytest.mark.parametrize(
    ("asked", "known", "odd"),
    [pytest.param(*case, id=name, marks=SLOW.get(name, ())) for name, case in LABELS.items()],
)
def test_of_odd_labels(asked, known, odd):
    labels = [known[i % len(known)] for i in range(20)]

    def of(*more):
        rows = np.vstack([X, X[: len(more)]])
        return lambda: fitted(rows, y=as_objects([*labels, *more]), **asked)

    assert_alike(of(), *map(of, odd))


@pytest.mark.parametrize("missing", ["refuse", "row"])
def test_of_odd_ids_of_units(missing):
    keys = schema_of("number, filled", unit="id", rows_per_unit=2, unit_missing=missing)
    known, odd = ["1", "1", "2", "u"], ["1", "w", " 1", "1.0", 7, 7.0, 2**60, "9" * 999]
    odd += [None, "", "NA", -9, np.nan] if missing == "row" else []

    def of(*more):
        rows = frame_of(["3"] * (4 + len(more))).assign(id=as_objects([*known, *more]))
        return lambda: fitted(rows, Schema.from_dict(keys | {"thousands": "'"}))

    assert_alike(of(), *map(of, odd))


def test_of_odd_weights():
    def of(*more):
        rows, y = np.vstack([X, X[: len(more)]]), np.append(Y, [0] * len(more))
        weights = np.append(np.ones(20), more)
        given = {"sample_weight": weights, "weight_bound": 2.0, "classes": (0, 1)}
        return lambda: fitted(rows, y=y, **SQUARE, **given)

    assert_alike(of(), of(0.0), of(1.0), of(1e9))


def test_of_a_part():
    keys = schema_of("number, filled")
    keys["columns"]["c"] = {"kind": "categorical", "categories": ["a", "b"], "indicator": True}

    def of(*more):
        rows = frame_of(["3"] * (4 + len(more))).assign(c=["a", "b", "z", "a", *more])
        return lambda: fitted(rows, Schema.from_dict(keys), part="c=a")

    assert_alike(of(), of("a"), of("b"), of(""), of("zz"))


def test_of_a_store(tmp_path):
    path, keys = str(tmp_path / "t.dpcore"), schema_of("codes, marked")

    def of(*more):
        def run():
            (tmp_path / "t.dpcore").unlink(missing_ok=True)
            (tmp_path / "t.csv").write_text(text_of([*good_cells("codes"), *more]))
            convert(str(tmp_path / "t.csv"), path, Schema.from_dict(keys), bad_rows="drop")
            return fitted(path)

        return run

    assert_alike(of(), of(""), of("zz"), of('"a b"'), of('"'))

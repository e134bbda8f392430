"""What a fit hands out is the same on neighbouring tables with equal releases, to the last byte of
a pickle and the last object that it holds: for every kind of column, source and odd cell."""

import contextlib
import functools
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from odd_rows import (
    KINDS,
    LABEL,
    NUMBER,
    OBJECTS,
    TEXTS,
    frame_of,
    good_cells,
    is_legal,
    schema_of,
    text_of,
)
from scipy import sparse
from traces import ASKED, Replay, differences, of_objects

from dpcore.data.cells.objects import as_objects
from dpcore.data.schema.notation import Notation
from dpcore.data.schema.schema import Schema
from dpcore.data.store import convert
from dpcore.errors import DataError
from dpcore.fitting.api import fit
from dpcore.fitting.loading import DataRequest
from dpcore.fitting.plan import make_plan
from dpcore.fitting.run import train
from dpcore.fitting.settings import Settings


def handed_out(model, **others):
    """Return all that is at hand after a fit, without the time that it took."""
    report = {key: value for key, value in model.report.items() if key != "seconds"}
    model = replace(model, report=report)
    return {"model": model, "report": report, "schema": model.schema, **others}


def fitted(rows, schema=None, y=None, **asked):
    model = fit(rows, y, schema=schema, **(ASKED | asked))
    return handed_out(model, given=schema, statement=model.privacy)


def trained(path, schema):
    """Return what there is after a run that drops bad rows."""
    training = train(make_plan(Settings(**ASKED)), DataRequest(str(path), schema, bad_rows="drop"))
    return handed_out(training.model, given=schema, facts=training.facts)


def assert_alike(of_table, *of_neighbours):
    """Assert that functions of no arguments hand out the same with the same releases."""
    replay = Replay()
    with replay.run():
        expected = of_objects(of_table())
    for of_neighbour in of_neighbours:
        with replay.run():
            assert differences(expected, of_objects(of_neighbour())) == []


def a_cell_more(hand_out, write, kind, cells):
    """Assert that tables are handed out alike with and without a row with one of the cells."""
    good, keys = good_cells(kind), schema_of(kind)

    def of(table):
        return lambda: hand_out(write(table), Schema.from_dict(keys))

    assert cells
    assert_alike(of(good), *(of([*good, cell]) for cell in cells))


def legal(kind, cells):
    return [cell for cell in cells if is_legal(kind, cell)]


def csv_of(folder, cells):
    path = folder / "t.csv"
    path.write_text(text_of(cells))
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_of_text_with_bad_rows_dropped(tmp_path, kind):
    a_cell_more(trained, functools.partial(csv_of, tmp_path), kind, TEXTS)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_of_text(tmp_path, kind):
    cells = legal(kind, [cell for cell in TEXTS if not {*'",'} & {*cell}])
    a_cell_more(fitted, functools.partial(csv_of, tmp_path), kind, cells)


@pytest.mark.parametrize("kind", KINDS)
def test_of_frames_of_objects(kind):
    a_cell_more(fitted, frame_of, kind, legal(kind, OBJECTS))


def arrow_of(cells):
    labels = [str(i % 2) for i in range(len(cells))]
    return pa.table({"x": pa.array(cells, pa.string()), "y": labels})


def parquet_of(folder, cells):
    pq.write_table(arrow_of(cells), folder / "t.parquet")
    return folder / "t.parquet"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_of_columns_of_text(tmp_path, kind):
    cells = legal(kind, [None, "", "NA", "  ", "x", "-9", "none", KINDS[kind][1]])
    for write in (
        arrow_of,
        lambda c: pl.from_arrow(arrow_of(c)),
        lambda c: arrow_of(c).to_pandas(),
    ):
        a_cell_more(fitted, write, kind, cells)
    a_cell_more(trained, functools.partial(parquet_of, tmp_path), kind, cells)


NUMBERS = [kind for kind, (keys, cell) in KINDS.items() if cell.isdigit() and "bins" not in kind]
NUMBERS = [kind for kind in NUMBERS if not kind.startswith("codes")]


@pytest.mark.parametrize("kind", NUMBERS)
def test_of_columns_of_numbers(kind):
    cells = [cell for cell in (None, 99.5, -7.0, 2.5, np.inf) if is_legal(kind, cell)]

    def arrow(cells):
        numbers = [None if cell is None else float(cell) for cell in cells]
        labels = [i % 2 for i in range(len(cells))]
        return pa.table({"x": pa.array(numbers, pa.float64()), "y": labels})

    for write in (arrow, lambda c: pl.from_arrow(arrow(c)), lambda c: arrow(c).to_pandas()):
        a_cell_more(fitted, write, kind, [*cells, 1.0, 3.0])


X = np.random.default_rng(0).uniform(0, 1, (20, 3))
Y = np.arange(20) % 2
ODD = [2.0, 5, 9], [0.0, 0, 0], [-0.0, -1, 0.5], [1e300, 0, 0]
SQUARE = {"bounds": (0, 1), "row_norm": None}


def a_row_more(rows=ODD, matrix=np.asarray, **asked):
    asked = {"classes": (0, 1), **asked}

    def of(X, y):
        return lambda: fitted(matrix(X), y=y, **asked)

    assert_alike(of(X, Y), *(of(np.vstack([X, row]), np.append(Y, 0)) for row in rows))


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


@pytest.mark.parametrize(("asked", "known", "odd"), LABELS.values(), ids=LABELS)
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
            csv = csv_of(tmp_path, [*good_cells("codes"), *more])
            convert(str(csv), path, Schema.from_dict(keys), bad_rows="drop")
            return fitted(path)

        return run

    assert_alike(of(), of(""), of("zz"), of('"a b"'), of('"'))


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_keeps_nothing_of_the_rows_that_it_scores(tmp_path, kind):
    model = fit(frame_of(good_cells(kind)), schema=Schema.from_dict(schema_of(kind)), **ASKED)
    before = of_objects({"model": model})
    for cell in [*OBJECTS, *TEXTS]:
        rows = frame_of([cell])[["x"]]
        model.predict(rows)
        with contextlib.suppress(DataError):
            model.score(rows, [0])
    for cell in TEXTS[:8]:
        model.predict(csv_of(tmp_path, [cell]))
    assert differences(before, of_objects({"model": model})) == []


class Remembering(Notation):
    """A notation from elsewhere that keeps what it was asked, as one of a lazy member did."""

    def __post_init__(self):
        Notation.__post_init__(self)
        object.__delattr__(self, "empty")

    @functools.cached_property
    def empty(self):
        return frozenset({"", *self.missing})

    def __reduce__(self):
        return Remembering, (self.missing,), dict(vars(self))


def of_a_notation_that_remembers(cells):
    schema = Schema.from_dict(schema_of("number, marked"))
    object.__setattr__(schema, "notation", Remembering(schema.missing))
    return fitted(frame_of(cells), schema)


CELLS = good_cells("number, marked")


def test_a_schema_that_remembers_reads_no_row():
    assert_alike(
        *(lambda more=more: of_a_notation_that_remembers([*CELLS, *more]) for more in ([], ["  "]))
    )


def test_what_a_schema_would_remember_is_found(monkeypatch):
    # One empty cell more made a pickle longer, 120 times of 120.
    monkeypatch.setattr(Schema, "anew", lambda schema: schema)
    replay, found = Replay(), []
    for cells in (CELLS, [*CELLS, "  "]):
        with replay.run():
            found.append(of_objects(of_a_notation_that_remembers(cells)))
    ways = ("pickle", "vars", "referents")
    named = [(name, way) for name in ("model", "schema", "given") for way in ways]
    assert differences(*found) == named


def test_what_a_report_would_hold_is_found():
    model = fitted(frame_of(CELLS), Schema.from_dict(schema_of("number, marked")))["model"]
    rows = np.zeros(3)
    kept = replace(model, report={"f": lambda: rows})
    same = replace(model, report={"f": lambda: None})
    assert {way for _, way in differences(*map(referents_of, (kept, same)))} == {"referents"}


def referents_of(model):
    return {key: trace for key, trace in of_objects({"model": model}).items() if key[1] != "vars"}


def test_a_model_has_a_schema_of_its_own():
    given = Schema.from_dict(schema_of("number, both") | {"rows": 9, "ledger": "none.ledger"})
    given = replace(given, ledger=None)
    model = fit(frame_of(CELLS), schema=given, **ASKED)
    assert model.schema == given and type(model.schema) is Schema
    shared = {id(column) for column in given.columns} & {id(c) for c in model.schema.columns}
    assert model.schema is not given and not shared
    assert model.schema.notation is not given.notation


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_built_anew_is_equal(kind):
    labels = LABEL, {"kind": "label", "lower": 0, "upper": 2}, {"kind": "label", "positive": ["1"]}
    others = {"crosses": [{"columns": ["u", "v"]}], "thousands": "'", "rows": 7, "capacity": 99}
    for label in labels:
        keys = schema_of(kind, label, **others)
        levels = {"kind": "categorical", "categories": ["p", "q"]}
        keys["columns"] |= {"u": levels, "v": levels, "w*": NUMBER, "id": {"kind": "drop"}}
        schema = Schema.from_dict(keys)
        assert schema.anew() == schema and schema.anew().wildcards == ("w*",)
        known = replace(schema.for_names(["x", "u", "v", "w1", "y"]), intercept=False)
        again = known.with_units("id", 3).anew()
        assert again == known.with_units("id", 3) and again.encoded == known.encoded


def test_nothing_can_be_put_into_what_is_handed_out():
    model = fitted(frame_of(CELLS), Schema.from_dict(schema_of("number, marked")))["model"]
    for part in (model, model.schema, model.schema.notation, model.summary()):
        assert not hasattr(part, "__dict__")
        with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
            part.seen = "an empty cell"
        with pytest.raises(AttributeError):
            object.__setattr__(part, "seen", "an empty cell")


def test_frames_of_pandas_text_and_categories():
    schema = schema_of("codes, marked")
    for dtype in ("str", "category"):

        def of(*more, dtype=dtype):
            rows = frame_of([*good_cells("codes"), *more])
            return lambda: fitted(rows.astype({"x": dtype}), Schema.from_dict(schema))

        assert_alike(of(), of("1"), of("zz"), of(""), of(None))
    assert pd.Series(dtype="category").size == 0

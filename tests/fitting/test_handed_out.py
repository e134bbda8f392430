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
from neighbours import assert_alike, fitted, trained
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
from traces import ASKED, Replay, differences, of_objects

from dpcore import Schema
from dpcore.errors import DataError
from dpcore.fitting.api import fit
from dpcore.plugin.columns import Notation


def a_cell_more(hand_out, write, kind, cells):
    """Assert that tables are handed out alike with and without rows with some of the cells: what
    one of them leaves shows beside others, but for quotes, which may reach over the next rows."""
    good, keys = good_cells(kind), schema_of(kind)

    def of(table):
        return lambda: hand_out(write(table), Schema.from_dict(keys))

    quoted = [cell for cell in cells if isinstance(cell, str) and '"' in cell]
    others = [cell for cell in cells if not isinstance(cell, str) or '"' not in cell]
    more = [[cell] for cell in quoted] + [others[i : i + 4] for i in range(0, len(others), 4)]
    assert more
    assert_alike(of(good), *(of([*good, *rows]) for rows in more))


def legal(kind, cells):
    return [cell for cell in cells if is_legal(kind, cell)]


def csv_of(folder, cells):
    path = folder / "t.csv"
    path.write_text(text_of(cells))
    return path


@pytest.mark.some_fast
@pytest.mark.parametrize("kind", KINDS)
def test_of_text_with_bad_rows_dropped(tmp_path, kind):
    a_cell_more(trained, functools.partial(csv_of, tmp_path), kind, TEXTS)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_of_text(tmp_path, kind):
    # All pairs of kind and cell are in the test above; here each kind has a fourth of them.
    cells = legal(kind, [cell for cell in TEXTS if not {*'",'} & {*cell}])
    chosen = cells[[*KINDS].index(kind) % 4 % len(cells) :: 4]
    a_cell_more(fitted, functools.partial(csv_of, tmp_path), kind, chosen)


@pytest.mark.some_fast
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
    # Each kind in two forms, each with half of the cells: all pairs of a cell and a kind or form.
    cells = legal(kind, [None, "", "NA", "  ", "x", "-9", "none", KINDS[kind][1]])
    forms = (
        (fitted, arrow_of),
        (fitted, lambda c: pl.from_arrow(arrow_of(c))),
        (fitted, lambda c: arrow_of(c).to_pandas()),
        (trained, functools.partial(parquet_of, tmp_path)),
    )
    first = [*KINDS].index(kind)
    for number, (hand_out, write) in [*enumerate(forms)][first % 4 // 2 :: 2]:
        if chosen := cells[(first + number // 2) % 2 :: 2]:
            a_cell_more(hand_out, write, kind, chosen)


NUMBERS = [kind for kind, (keys, cell) in KINDS.items() if cell.isdigit() and "bins" not in kind]
NUMBERS = [kind for kind in NUMBERS if not kind.startswith("codes")]


@pytest.mark.some_fast
@pytest.mark.parametrize("kind", NUMBERS)
def test_of_columns_of_numbers(kind):
    cells = [cell for cell in (None, 99.5, -7.0, 2.5, np.inf) if is_legal(kind, cell)]

    def arrow(cells):
        numbers = [None if cell is None else float(cell) for cell in cells]
        labels = [i % 2 for i in range(len(cells))]
        return pa.table({"x": pa.array(numbers, pa.float64()), "y": labels})

    for write in (arrow, lambda c: pl.from_arrow(arrow(c)), lambda c: arrow(c).to_pandas()):
        a_cell_more(fitted, write, kind, [*cells, 1.0, 3.0])


# Of two like kinds the second, which has more parts.
@pytest.mark.slow
@pytest.mark.parametrize("kind", [*KINDS][1::2])
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
    notation = Remembering(schema.missing)
    plans = tuple(replace(plan, notation=notation) for plan in schema.plans)
    object.__setattr__(schema, "notation", notation)
    object.__setattr__(schema, "plans", plans)
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

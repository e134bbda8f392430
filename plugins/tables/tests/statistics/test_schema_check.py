"""How a schema fits the rows of a file: exact counts, each of a cell by itself, and noisy ones."""

import io
from itertools import combinations, product

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dpcore
from dpcore import Schema
from dpcore.data.schema.features.width import width_schema
from dpcore.errors import DataError, InvalidInputError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import TableSession
from dpcore_tables.statistics import check_schema
from dpcore_tables.statistics.cell_counts import CellCounts
from dpcore_tables.statistics.raw_cells import checked_names, raw_cells
from dpcore_tables.store import convert

COLUMNS = {
    "age": {"kind": "numeric", "lower": 0, "upper": 100},
    "city": {"kind": "categorical", "categories": ["Bern", "Basel"]},
    "size": {"kind": "categorical", "categories": [1, 2.5]},
    "label": {"kind": "label", "classes": ["no", "yes"]},
}
SCHEMA = Schema.from_dict({"columns": COLUMNS, "missing": ["", "NA"]})
SCHEMA_OF_ALL = Schema.from_dict({"columns": {"who": {"kind": "drop"}, **COLUMNS}})
# Each cell of a column, and the bin of it, None where the schema has it as it is.
CELLS = {
    "age": {"0": None, "5": None, "100": None, " 7 ": None, "-0.1": 0, "1e9": 1, "abc": 2, "nan": 2,
            "1e999": 2, "-1e999": 2, "": 3, "NA": 3, " NA ": 3},
    "city": {"Bern": None, " Basel": None, "bern": 2, "17": 2, "": 3, "  ": 3, "NA": 3},
    "size": {"1": None, "2.50": None, "3": 2, "one": 2, "nan": 2, "": 3, "NA": 3},
    "label": {"no": None, "yes": None, "maybe": 2, "NA": 3, "": 3},
}  # fmt: skip
TYPED = {"age": "5", "city": "Bern", "size": "1", "label": "no"}


def text_of(rows):
    lines = [",".join(row[name] for name in COLUMNS) for row in rows]
    return "\n".join([",".join(COLUMNS), *lines]) + "\n"


def counts(path, schema=SCHEMA):
    return sum(block.counts() for block in raw_cells(str(path), schema))


def counted(tmp_path, rows, schema=SCHEMA):
    (tmp_path / "f.csv").write_text(text_of(rows))
    return counts(tmp_path / "f.csv", schema)


def expected(row):
    """Return what a row adds to the counts, from the table above."""
    out = np.zeros(1 + 4 * len(COLUMNS), dtype=np.int64)
    out[0] = 1
    for j, name in enumerate(COLUMNS):
        place = CELLS[name][row[name]]
        if place is not None:
            out[1 + 4 * j + place] = 1
    return out


ODD = [{**TYPED, name: cell} for name, cells in CELLS.items() for cell in cells]


@pytest.mark.parametrize("row", ODD, ids=lambda row: ",".join(row.values()))
def test_a_cell_falls_in_its_bin_whatever_stands_beside_it(tmp_path, row):
    # A cell that resists its column's type has the whole piece read as text.
    for others in ([], [TYPED], [{**TYPED, "age": "abc", "size": "one"}], ODD):
        alone = counted(tmp_path, others) if others else 0
        with_row = counted(tmp_path, [*others, row])
        assert (with_row - alone).tolist() == expected(row).tolist()


def test_a_row_of_all_odd_cells_and_every_source_of_named_columns(tmp_path):
    frame = pd.DataFrame(
        {
            "age": [5.0, -1.0, np.inf, None],
            "city": ["Bern", "Genf", None, "NA"],
            "size": [1.0, 2.5, 7.0, None],
            "label": ["no", "?", None, "yes"],
        }
    )
    frame.to_parquet(tmp_path / "f.parquet")
    found = counts(tmp_path / "f.parquet").tolist()
    assert found == [4, *[1, 0, 1, 1], *[0, 0, 1, 2], *[0, 0, 1, 1], *[0, 0, 1, 1]]
    bad = pd.DataFrame({"city": np.array([b"\xff", b"Bern", b" "], dtype=object), "label": "no"})
    bad.to_parquet(tmp_path / "g.parquet")
    named = Schema.from_dict({"columns": {name: COLUMNS[name] for name in ("city", "label")}})
    assert counts(tmp_path / "g.parquet", named).tolist() == [3, *[0, 0, 1, 1], *[0, 0, 0, 0]]
    (tmp_path / "f.tsv").write_text("\t".join(COLUMNS) + "\n" + "-3\tBern\t1\tyes\n")
    assert counts(tmp_path / "f.tsv").sum() == 2


def test_unnamed_features_are_counted_by_the_row(tmp_path):
    X = np.array([[0.5, 0.5], [3.0, 4.0], [np.inf, 0.0], [0.0, 0.0]])
    np.savez(tmp_path / "f.npz", X=X, y=[1, -1, 1, 3])
    (tmp_path / "f.svm").write_text("1 1:.5 2:.5\n-1 1:3 2:4\n3\n")
    (tmp_path / "f.dat").write_text(".5 .5 1\n3 4 -1\nx 0 1\n0 0 3\n")
    schema = width_schema(2, row_norm=2)
    assert counts(tmp_path / "f.npz", schema).tolist() == [4, *[0, 1, 1, 0], *[0, 0, 1, 0]]
    assert counts(tmp_path / "f.svm", schema).tolist() == [3, *[0, 1, 0, 0], *[0, 0, 1, 0]]
    assert counts(tmp_path / "f.dat", schema).tolist() == [4, *[0, 1, 1, 0], *[0, 0, 1, 0]]
    large = width_schema(2, row_norm=1e6)
    np.savez(tmp_path / "g.npz", X=X[[0, 1]] * 4e5, y=[1, -1])
    assert counts(tmp_path / "g.npz", large)[1:5].tolist() == [0, 1, 0, 0]
    assert [name for name, _ in checked_names(schema)] == ["the features of a row", "label"]


def test_a_real_target_is_held_against_its_bounds(tmp_path):
    schema = Schema.from_dict(
        {"columns": {"x": COLUMNS["age"], "y": {"kind": "label", "lower": 0, "upper": 1}}}
    )
    (tmp_path / "f.csv").write_text("x,y\n1,-3\n1,2\n1,5\n1,0.5\n1,\n")
    assert counts(tmp_path / "f.csv", schema)[5:].tolist() == [1, 2, 0, 1]
    assert checked_names(schema)[-1] == ("y", "numeric label")


def test_shares_are_of_the_rows(tmp_path):
    (tmp_path / "f.csv").write_text(text_of([TYPED] * 3 + [{**TYPED, "age": "101"}]))
    found = check_schema(str(tmp_path / "f.csv"), SCHEMA)
    assert found.rows == 4 and found.sentence is None and found.deviation == 0
    assert found.shares[0].tolist() == [0, 0.25, 0, 0]
    (tmp_path / "f.csv").write_text(text_of([]))
    assert np.isnan(check_schema(str(tmp_path / "f.csv"), SCHEMA).shares).all()


def worst_pair(relation, norm):
    """Return the largest distance of the answers over neighbours that are made of odd rows."""
    one_a_bin = [{place: cell for cell, place in CELLS[name].items()} for name in COLUMNS]
    corners = product(*(cells.values() for cells in one_a_bin))
    parts = [expected(dict(zip(COLUMNS, cells, strict=True))) for cells in corners]
    pairs = [(part, np.zeros_like(part)) for part in parts]
    if relation is NeighboringRelation.REPLACE_ONE:
        pairs = list(combinations(parts, 2))
    order = 1 if norm == "l1" else 2
    return max(np.linalg.norm(one - other, order) for one, other in pairs)


@pytest.mark.parametrize("relation", list(NeighboringRelation))
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_the_sensitivity_is_the_largest_change_and_no_less(relation, norm):
    bound = CellCounts(len(COLUMNS), norm).sensitivity(relation).bound
    worst = worst_pair(relation, norm)
    assert worst <= bound == pytest.approx(worst, rel=1e-12)
    # A twin that forgets the row count, as one that charges for the cells alone would.
    broken = CellCounts(len(COLUMNS) - 1, norm).sensitivity(relation).bound
    assert worst > broken


@pytest.fixture
def many(tmp_path):
    rows = [TYPED] * 6000 + [{**TYPED, "city": "Genf"}] * 2000
    (tmp_path / "f.csv").write_text(text_of(rows))
    return str(tmp_path / "f.csv")


@pytest.mark.parametrize(("delta", "name"), [(1e-8, "gdp"), (0.0, "pure")])
def test_noisy_shares_are_charged_and_stated(many, delta, name, monkeypatch):
    sessions = []
    begin = TableSession.__init__

    def noted(self, *arguments, **words):
        begin(self, *arguments, **words)
        sessions.append(self)

    monkeypatch.setattr(TableSession, "__init__", noted)
    found = check_schema(many, SCHEMA, 1.0, delta)
    (session,) = sessions
    assert session.releases == {"cells": 1} and len(session.ledger) == 1
    assert session.accountant.spent == pytest.approx(session.accountant.budget, rel=1e-9)
    assert session.accountant.spent <= session.accountant.budget
    assert session.trusted_parts and not [p for p in session.trusted_parts if "dpcore" not in p]
    pair = "(1, 1e-08)" if delta else "(1, 0)"
    assert found.sentence.startswith(f"This table of shares is {pair}-differentially private under")
    assert f"{name} filter" in found.sentence
    if not delta:  # Two-sided geometric noise of scale 5, the l1 norm of a row of four columns.
        assert found.deviation == pytest.approx(5 * 2**0.5)
    assert found.shares[1][2] == pytest.approx(0.25, abs=20 * found.deviation / 8000)
    again = check_schema(many, SCHEMA, 1.0, delta)
    assert not np.array_equal(again.counts, found.counts)
    assert found.rows == round(found.rows) and np.all((found.shares >= 0) & (found.shares <= 1))


def test_bounds_off_the_rows_void_it(many):
    derived = Schema.from_dict({**SCHEMA.to_dict(), "from_data": True})
    assert check_schema(many, derived, 1.0).sentence.startswith("NOT PRIVATE: bounds")


def no_release(*arguments):
    raise AssertionError("something was released")


@pytest.mark.parametrize(
    ("epsilon", "delta", "text"),
    [(0.0, 1e-8, "epsilon"), (np.nan, 0.0, "epsilon"), (1.0, 1.0, "delta"), (1.0, -0.5, "delta")],
)
def test_a_budget_that_cannot_be_is_refused(many, epsilon, delta, text, monkeypatch):
    monkeypatch.setattr(TableSession, "release", no_release)
    with pytest.raises(InvalidInputError, match=text):
        check_schema(many, SCHEMA, epsilon, delta)


def test_a_file_that_cannot_be_read_to_its_end_costs_nothing(many, tmp_path, monkeypatch):
    monkeypatch.setattr(TableSession, "release", no_release)
    with open(many, "a") as file:
        file.write("1,2\n")
    with pytest.raises(DataError, match="line 8002: 2 cells, expected 4"):
        check_schema(many, SCHEMA, 1.0)
    with pytest.raises(DataError, match="No such file"):
        check_schema(str(tmp_path / "none.parquet"), SCHEMA, 1.0)


def test_a_store_is_refused_since_its_rows_are_encoded(many, tmp_path):
    convert(many, tmp_path / "f.dpcore", SCHEMA)
    with pytest.raises(InvalidInputError, match="Check the file that it was converted from"):
        check_schema(str(tmp_path / "f.dpcore"), SCHEMA)


def test_a_column_of_a_type_that_cannot_be_read_is_named(tmp_path):
    frame = pd.DataFrame({name: [TYPED[name]] for name in COLUMNS})
    frame["age"] = pd.to_datetime(["2020-01-01"])
    frame.to_parquet(tmp_path / "f.parquet")
    with pytest.raises(DataError, match="column 'age' cannot be read as numeric"):
        check_schema(str(tmp_path / "f.parquet"), SCHEMA)


def test_noisy_shares_of_a_typed_file_say_so_as_a_fit_does(tmp_path):
    frame = pd.DataFrame({"age": [5.0], "city": ["Bern"], "size": [1.0], "label": ["no"]})
    frame.to_parquet(tmp_path / "f.parquet")
    frame.to_csv(tmp_path / "f.csv", index=False)
    told = "given the file's column types"
    assert told in (check_schema(str(tmp_path / "f.parquet"), SCHEMA, 1.0).sentence or "")
    assert told not in (check_schema(str(tmp_path / "f.csv"), SCHEMA, 1.0).sentence or told)


def test_units_are_counted_exactly_and_never_released(tmp_path):
    ids = ["a"] * 4 + [" b", "b", "c", "", "NA", "NA"]
    frame = pd.DataFrame({"who": ids, "age": 5, "city": "Bern", "size": 1, "label": "no"})
    frame.to_csv(tmp_path / "f.csv", index=False)
    units = {"unit": "who", "rows_per_unit": 2}
    found = check_schema(str(tmp_path / "f.csv"), Schema.from_dict({**SCHEMA.to_dict(), **units}))
    assert found.units is not None and found.units.sizes.tolist() == [4, 2, 1]
    assert (found.units.n_rows, found.units.n_empty, found.units.n_no_id) == (10, 3, 0)
    assert [found.units.dropped(k) for k in (1, 2, 4)] == pytest.approx([4 / 7, 2 / 7, 0])
    assert found.units.choices == (1, 2, 3, 4)
    named = Schema.from_dict({**SCHEMA.to_dict(), **units})
    with pytest.raises(InvalidInputError, match="leave --epsilon out for exact shares"):
        check_schema(str(tmp_path / "f.csv"), named, 1.0)
    assert check_schema(str(tmp_path / "f.csv"), SCHEMA_OF_ALL).units is None


def turned(frame, lower=500, upper=100000, **others):
    columns = {"paid": {"kind": "numeric", "lower": lower, "upper": upper}}
    schema = {"columns": columns | {"y": COLUMNS["label"]}, **others}
    frame = frame if hasattr(frame, "columns") else pd.DataFrame({"paid": frame})
    return dict(dpcore.check_schema(frame.assign(y="no"), schema).turned)


def test_numbers_that_another_program_made_of_thousands_are_pointed_out():
    # pandas reads "38.767", "1.250" and "950" of a German file as 38.767, 1.25 and 950.
    text = 'paid\n"38.767"\n1.250\n950\n'
    read = pd.read_csv(io.StringIO(text))
    assert turned(read) == {"paid": 2}
    assert turned(read.astype(object)) == {"paid": 2}
    assert turned(pd.read_csv(io.StringIO(text), dtype=str)) == {"paid": 2}
    assert turned(pd.read_csv(io.StringIO(text), dtype=str), thousands=".", decimal=",") == {}
    # Broken twins of it: four decimals, a fraction beyond 1,000, or one that would be out of range.
    for other in (1.2345, 2000.5, 120.5, np.pi):
        assert turned([38.767, 1.25, 950.0, other]) == {}
    assert turned([38.0, 950.0, None]) == {}
    assert turned([38.767], lower=0, upper=90) == {}


def test_a_frame_is_checked_as_its_file_is(tmp_path):
    frame = pd.DataFrame({name: [row[name] for row in ODD] for name in COLUMNS}, dtype=object)
    (tmp_path / "f.csv").write_text(text_of(ODD))
    of_file, of_frame = (check_schema(x, SCHEMA) for x in (tmp_path / "f.csv", frame))
    assert of_frame.counts.tolist() == of_file.counts.tolist() and of_frame.rows == of_file.rows
    assert str(of_frame) == str(of_file)
    assert str(of_frame).splitlines()[0].split("  ")[0] == "column"
    arrow = pa.Table.from_pandas(frame.astype(str))
    with pytest.raises(DataError, match="no column 'city'"):
        check_schema(arrow.drop_columns("city"), SCHEMA)
    with pytest.raises(InvalidInputError, match="name of a file, or a frame of pandas"):
        check_schema([1, 2], SCHEMA)
    with pytest.raises(InvalidInputError, match="Expected the schema"):
        check_schema(frame, None)


def test_a_frame_with_units_and_noise(tmp_path):
    frame = pd.DataFrame({"who": [1, 1, 2], "age": 5, "city": "Bern", "size": 1, "label": "no"})
    units = SCHEMA_OF_ALL.with_units("who", 1)
    assert check_schema(frame, units).units.sizes.tolist() == [2, 1]
    noisy = check_schema(frame, SCHEMA_OF_ALL, epsilon=1.0)
    assert "given the frame's column types" in noisy.sentence and noisy.turned == ()
    assert "Privacy: " in str(noisy)

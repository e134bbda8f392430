"""The reader of a file, by its name or by that of a format."""

from dataclasses import replace
from datetime import date
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpcore import Schema
from dpcore.data.blocks.layout import Layout
from dpcore.data.blocks.layouts import layout_of
from dpcore.data.files import parts_of_rows
from dpcore.data.loader import named_parts
from dpcore.data.schema.columns import Drop, Label, Numeric
from dpcore.errors import DataError, InvalidInputError, RegistryError
from dpcore.plugin.parts import dataset_from_arrays, format_of, load_file, load_registry
from dpcore.privacy.statement import foreign_parts
from dpcore.registry.catalogue import Entry, Registry
from dpcore_tables.files import FILES, schema_from_rows
from dpcore_tables.kinds import Date
from dpcore_tables.store import convert


def installed(monkeypatch, entries):
    """Have these readers and stores alone."""
    registry = Registry(entries)
    monkeypatch.setattr("dpcore_tables.files.formats.load_registry", lambda kind: registry)
    monkeypatch.setattr("dpcore_tables.files.formats.registries", lambda kind: (registry,))


def without_loader(monkeypatch):
    nothing = Registry(())
    monkeypatch.setattr("dpcore.data.loader.load_registry", lambda kind: nothing)
    monkeypatch.setattr("dpcore.data.loader.registries", lambda kind: (nothing,))


def dated(unit=None):
    """Return a frame and its schema, of a date, or of a number and units."""
    day = date(2020, 1, 1), date(2021, 1, 1)
    x = Date("x", *day) if unit is None else Numeric("x", 0.0, 1.0)
    columns = x, Label("y", ((0,), (1,))), *([] if unit is None else [Drop(unit)])
    schema = Schema(columns, unit=unit, rows_per_unit=unit and 1)
    cells = ["2020-05-05", "2020-06-06"] if unit is None else [0.0, 1.0]
    frame = {"x": cells, "y": [0, 1]} | ({} if unit is None else {unit: [1, 2]})
    return pa.table(frame), schema


@pytest.mark.parametrize("unit", [None, "id"])
def test_where_no_reader_of_dates_and_ids_is_installed_what_has_one_is_said(unit, monkeypatch):
    frame, schema = dated(unit)
    without_loader(monkeypatch)
    with pytest.raises(InvalidInputError) as told:
        dataset_from_arrays(frame, schema=schema)
    assert str(told.value) == (
        "No reader of dates, truth values, hashed texts and ids of units is installed. "
        "It is in dpcore-tables: pip install dpcore-tables."
    )


def test_numbers_and_their_faults_are_told_where_no_reader_is_installed(monkeypatch):
    without_loader(monkeypatch)
    rows = dataset_from_arrays([[0.5]], [1], bounds=(0.0, 1.0))
    assert {part.rpartition(":")[2] for part in parts_of_rows(rows)} == {"Label", "Numeric"}
    with pytest.raises(DataError, match="the cell is not a finite number"):
        dataset_from_arrays([[float("nan")]], [1], bounds=(0.0, 1.0))


@pytest.mark.parametrize("unit", [None, "id"])
def test_a_foreign_reader_of_dates_and_ids_is_named(unit, monkeypatch):
    frame, schema = dated(unit)
    entry = Entry("file-loader", "files", f"{__name__}:LOADER", "Files.", "", "acme", "1", {})
    monkeypatch.setitem(globals(), "LOADER", FILES)
    monkeypatch.setattr("dpcore.data.loader.registries", lambda kind: (Registry([entry]),))
    parts = parts_of_rows(dataset_from_arrays(frame, schema=schema))
    assert foreign_parts(parts) == (f"{__name__}:LOADER",)


@pytest.mark.parametrize("asked", [("rows.csv", None), ("rows", "csv"), ("-", None), (".", None)])
def test_where_no_reader_is_installed_what_has_one_is_said(asked, monkeypatch):
    without_loader(monkeypatch)
    with pytest.raises(InvalidInputError) as told:
        format_of(*asked)
    assert str(told.value) == (
        "No reader of files is installed. It is in dpcore-tables: pip install dpcore-tables."
    )


def test_the_longest_suffix_that_a_name_ends_in_says_its_reader(monkeypatch):
    data = {"suffixes": (".csv",), "schemes": (), "named": True}
    facts = "x:y", "Rows.", "", "acme", "1"
    entries = [
        Entry(kind, name, *facts, {**data, "suffixes": (suffix,)})
        for kind, name, suffix in (
            ("reader", "csv", ".csv"),
            ("row-store", "wide", ".wide.csv"),
            ("reader", "taken", ".t.csv"),
            ("reader", "too", ".t.csv"),
        )
    ]
    installed(monkeypatch, entries)
    assert [format_of(name) for name in ("a.csv", "a.wide.csv.gz")] == ["csv", "wide"]
    with pytest.raises(RegistryError, match=r"'.t.csv' \(suffixes of the kind reader\) is regis"):
        format_of("a.t.csv")


def test_a_loader_of_files_of_another_distribution_is_named(monkeypatch):
    entry = Entry("file-loader", "files", f"{__name__}:LOADER", "Files.", "", "acme", "1", {})
    monkeypatch.setitem(globals(), "LOADER", replace(FILES, load=lambda path, schema: ROWS))
    registry = Registry([entry])
    monkeypatch.setattr("dpcore.data.loader.registries", lambda kind: (registry,))
    assert load_file("rows.csv", None).read_by == (f"{__name__}:LOADER",)
    monkeypatch.setitem(globals(), "LOADER", replace(FILES, load=lambda path, schema: "rows"))
    with pytest.raises(InvalidInputError, match=":LOADER made no Dataset of the rows"):
        load_file("rows.csv", None)


class KeptRows:
    """Rows of a foreign store, with a layout of their own."""

    row_layout = Layout()

    def __getattribute__(self, name):
        """It hides what its class states."""
        raise AttributeError(name)


def test_rows_with_a_layout_of_their_own_are_named():
    rows = KeptRows()
    assert layout_of(rows) is KeptRows.row_layout
    parts = parts_of_rows(replace(ROWS, X=rows))
    assert foreign_parts(parts) == (f"{__name__}:KeptRows",)


ROWS = dataset_from_arrays([[1.0]], [1])
LOADER = None


class Unread(Schema):
    """A schema that says of itself that it read no rows."""

    from_data = property(lambda self: False, lambda self, value: None)


def made(path, target, kind=Schema):
    label = Label(target, ((0,), (1,)))
    return kind((Numeric("x", 0.0, 1.0), label))


def test_a_schema_that_a_reader_makes_of_rows_is_marked(monkeypatch):
    data = {"suffixes": (".rows",), "schemes": (), "schema_from_rows": f"{__name__}:made"}
    entry = Entry("reader", "rows", "x:y", "Rows.", "", "acme", "1", data)
    installed(monkeypatch, [entry])
    assert schema_from_rows("a.rows", "y").from_data
    monkeypatch.setitem(globals(), "made", partial(made, kind=Unread))
    with pytest.raises(InvalidInputError, match="made no Schema"):
        schema_from_rows("a.rows", "y")


def test_who_registers_a_reader_of_ours_is_named_beside_it():
    # Its data say whether another program gave the columns their types.
    target, facts = "dpcore_tables.readers.parquet:open_parquet", ("Rows.", "")
    ours = Entry("reader", "parquet", target, *facts, "dpcore-tables", "1", {}, "dpcore_tables")
    theirs = Entry("reader", "pq2", target, *facts, "acme", "1", {}, "acme")
    assert named_parts(ours) == (target,)
    assert named_parts(theirs) == (target, "acme:pq2")
    assert named_parts(Entry("reader", "x", "acme.x:open", *facts, "acme", "1")) == ("acme.x:open",)
    borrowed = replace(ours, registered_by="acme")  # Its distribution calls itself as ours does.
    assert foreign_parts(named_parts(borrowed)) == ("dpcore-tables:parquet",)


def test_who_registered_a_name_is_kept_beside_it():
    entries = load_registry("reader").entries("reader")
    assert {e.registered_by for e in entries if e.target.startswith("dpcore_tables.")} == {
        "dpcore_tables"
    }


def test_a_store_keeps_who_registered_the_reader_of_its_rows(tmp_path, monkeypatch):
    registry = load_registry("reader")
    parquet = registry.get("reader", "parquet")
    theirs = {
        "name": "pq2",
        "distribution": "acme",
        "registered_by": "acme",
        "data": {**parquet.data, "suffixes": (".pq2",)},
    }
    entries = [*registry.entries("reader"), replace(parquet, **theirs)]
    entries += load_registry("row-store").entries("row-store")
    schema = Schema((Numeric("x", 0.0, 1.0), Label("y", ((0,), (1,)))))
    pq.write_table(pa.table({"x": [0.5, 1.0], "y": [0, 1]}), tmp_path / "r.pq2")
    installed(monkeypatch, entries)
    convert(tmp_path / "r.pq2", tmp_path / "r.dpcore", schema)
    assert "acme:pq2" in load_file(tmp_path / "r.dpcore", None).read_by

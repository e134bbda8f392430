"""The reader of a file, by its name or by that of a format."""

from dataclasses import dataclass, fields, replace
from datetime import date
from functools import partial
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_matrix

from dpcore import Schema
from dpcore.data.arrays import as_given, features_from_arrays
from dpcore.data.blocks.layout import Layout
from dpcore.data.blocks.layouts import layout_of
from dpcore.data.files import parts_of_rows
from dpcore.data.schema.columns import Drop, Label, Numeric
from dpcore.errors import DataError, InvalidInputError, RegistryError
from dpcore.plugin.columns import FeatureColumn
from dpcore.plugin.engines import Files
from dpcore.plugin.parts import Dataset, Registration, Registry, dataset_from_arrays, load_registry
from dpcore.plugin.readers import FileLoader
from dpcore.privacy.statement import foreign_parts
from dpcore_tables.bounds.unbounded import Unbounded
from dpcore_tables.files import FILES, schema_from_rows
from dpcore_tables.kinds import Date
from dpcore_tables.store import convert


def installed(monkeypatch, entries):
    """Have these readers and stores alone."""
    registry = Registry(entries)
    monkeypatch.setattr("dpcore_tables.files.formats.load_registry", lambda kind: registry)
    monkeypatch.setattr(
        "dpcore_tables.files.formats.Registry", SimpleNamespace(in_turn=lambda kind: (registry,))
    )


def without_loader(monkeypatch):
    nothing = Registry(())
    monkeypatch.setattr("dpcore.data.registered_loader.load_registry", lambda kind: nothing)
    monkeypatch.setattr(
        "dpcore.data.registered_loader.Registry", SimpleNamespace(in_turn=lambda kind: (nothing,))
    )


def dated(unit=None):
    """Return a frame and its schema, of a date, or of a number and units."""
    day = date(2020, 1, 1), date(2021, 1, 1)
    x = Date("x", *day) if unit is None else Numeric("x", 0.0, 1.0)
    columns = x, Label("y", ((0,), (1,))), *([] if unit is None else [Drop(unit)])
    schema = Schema(columns, unit=unit, rows_per_unit=unit and 1)
    cells = ["2020-05-05", "2020-06-06"] if unit is None else [0.0, 1.0]
    frame = {"x": cells, "y": [0, 1]} | ({} if unit is None else {unit: [1, 2]})
    return pa.table(frame), schema


def asked_in_memory():
    """Return what asks for the loader of rows in memory: those that are no array of numbers."""
    frame, schema = dated()
    numbers, classes = np.array([[0.5]]), np.array(["no"])
    return [
        partial(dataset_from_arrays, frame, schema=schema),
        partial(dataset_from_arrays, [[0.5]], np.array([1]), bounds=(0.0, 1.0)),
        partial(dataset_from_arrays, numbers, classes, classes=("no", "yes"), bounds=(0.0, 1.0)),
        partial(features_from_arrays, frame, schema),
        partial(as_given, frame),
    ]


@pytest.mark.parametrize("asked", range(len(asked_in_memory())))
def test_where_no_reader_of_rows_in_memory_is_installed_what_has_one_is_said(asked, monkeypatch):
    without_loader(monkeypatch)
    with pytest.raises(InvalidInputError) as told:
        asked_in_memory()[asked]()
    assert str(told.value) == (
        "No reader of frames, lists, and labels that are no numbers, is installed. "
        "It is in dpcore-tables: pip install . plugins/* in a checkout of dpcore, or its wheel."
    )


def test_numbers_and_their_faults_are_told_where_no_reader_is_installed(monkeypatch):
    without_loader(monkeypatch)
    y = np.array([1])
    rows = dataset_from_arrays(np.array([[0.5]]), y, bounds=(0.0, 1.0))
    assert {part.rpartition(":")[2] for part in parts_of_rows(rows)} == {"Label", "Numeric"}
    assert features_from_arrays(np.array([[2.0]]), rows.schema)[0].tolist() == [[1.0, 1.0]]
    with pytest.raises(DataError, match="row 1, column 'x1': the cell is not a finite number"):
        dataset_from_arrays(np.array([[float("nan")]]), y, bounds=(0.0, 1.0))
    sparse = dataset_from_arrays(csr_matrix([[0.5]]), y, intercept=False)
    assert sparse.X.toarray().tolist() == [[0.5]]


@pytest.mark.parametrize("unit", [None, "id"])
def test_a_foreign_reader_of_frames_is_named(unit, monkeypatch):
    frame, schema = dated(unit)
    foreign_loader(monkeypatch)
    parts = parts_of_rows(dataset_from_arrays(frame, schema=schema))
    assert foreign_parts(parts) == (f"{__name__}:LOADER",)


def test_a_foreign_reader_that_encodes_rows_once_bounds_are_released_is_named(monkeypatch):
    waiting = Schema((Unbounded("x"), Label("y", ((0,), (1,)))))
    rows = Dataset("rows", np.zeros((2, 2)), np.ones(2), waiting)
    foreign_loader(monkeypatch)
    assert foreign_parts(parts_of_rows(rows)) == (f"{__name__}:LOADER",)


def foreign_loader(monkeypatch, loader=FILES):
    """Have a loader of somebody else, who registered it."""
    entry = Registration(
        "file-loader", "files", f"{__name__}:LOADER", "Files.", "", "acme", "1", {}
    )
    monkeypatch.setitem(globals(), "LOADER", loader)
    monkeypatch.setattr(
        "dpcore.data.registered_loader.Registry",
        SimpleNamespace(in_turn=lambda kind: (Registry([entry]),)),
    )


@pytest.mark.parametrize("asked", [("rows.csv", None), ("rows", "csv"), ("-", None), (".", None)])
def test_where_no_reader_is_installed_what_has_one_is_said(asked, monkeypatch):
    without_loader(monkeypatch)
    with pytest.raises(InvalidInputError) as told:
        Files.format_of(*asked)
    assert str(told.value) == (
        "No reader of files is installed. It is in dpcore-tables: pip install . plugins/* in a "
        "checkout of dpcore, or its wheel."
    )


def test_the_longest_suffix_that_a_name_ends_in_says_its_reader(monkeypatch):
    data = {"suffixes": (".csv",), "schemes": (), "named": True}
    facts = "x:y", "Rows.", "", "acme", "1"
    entries = [
        Registration(kind, name, *facts, {**data, "suffixes": (suffix,)})
        for kind, name, suffix in (
            ("reader", "csv", ".csv"),
            ("row-store", "wide", ".wide.csv"),
            ("reader", "taken", ".t.csv"),
            ("reader", "too", ".t.csv"),
        )
    ]
    installed(monkeypatch, entries)
    assert [Files.format_of(name) for name in ("a.csv", "a.wide.csv.gz")] == ["csv", "wide"]
    with pytest.raises(RegistryError, match=r"'.t.csv' \(suffixes of the kind reader\) is regis"):
        Files.format_of("a.t.csv")


def test_a_loader_without_one_of_its_functions_is_refused(monkeypatch):
    entry = Registration(
        "file-loader", "files", f"{__name__}:LOADER", "Files.", "", "acme", "1", {}
    )
    functions = {each.name: getattr(FILES, each.name) for each in fields(FileLoader)}
    for name in functions:
        less = {other: functions[other] for other in functions if other != name}
        monkeypatch.setitem(globals(), "LOADER", SimpleNamespace(**less))
        with pytest.raises(RegistryError, match=f"has no function {name}[.]"):
            Registry([entry]).load("file-loader", "files")


def test_a_loader_of_files_of_another_distribution_is_named(monkeypatch):
    foreign_loader(monkeypatch, replace(FILES, load=lambda path, schema: ROWS))
    assert Dataset.from_file("rows.csv", None).read_by == (f"{__name__}:LOADER",)
    monkeypatch.setitem(globals(), "LOADER", replace(FILES, load=lambda path, schema: "rows"))
    with pytest.raises(InvalidInputError, match=":LOADER made no Dataset of the rows"):
        Dataset.from_file("rows.csv", None)


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
    entry = Registration("reader", "rows", "x:y", "Rows.", "", "acme", "1", data)
    installed(monkeypatch, [entry])
    assert schema_from_rows("a.rows", "y").from_data
    monkeypatch.setitem(globals(), "made", partial(made, kind=Unread))
    with pytest.raises(InvalidInputError, match="made no Schema"):
        schema_from_rows("a.rows", "y")


def test_who_registers_a_reader_of_ours_is_named_beside_it():
    # Its data say whether another program gave the columns their types.
    target, facts = "dpcore_tables.readers.parquet:open_parquet", ("Rows.", "")
    ours = Registration(
        "reader", "parquet", target, *facts, "dpcore-tables", "1", {}, "dpcore_tables"
    )
    theirs = Registration("reader", "pq2", target, *facts, "acme", "1", {}, "acme")
    assert ours.named_parts() == (target,)
    assert theirs.named_parts() == (target, "acme:pq2")
    assert Registration("reader", "x", "acme.x:open", *facts, "acme", "1").named_parts() == (
        "acme.x:open",
    )
    borrowed = replace(ours, registered_by="acme")  # Its distribution calls itself as ours does.
    assert foreign_parts(borrowed.named_parts()) == ("dpcore-tables:parquet",)


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
    assert "acme:pq2" in Dataset.from_file(tmp_path / "r.dpcore", None).read_by


def test_where_no_reader_is_installed_a_schema_is_its_keys_alone(monkeypatch):
    without_loader(monkeypatch)
    label = {"kind": "label", "classes": [0, 1]}
    schema = Schema.from_dict({"width": 2, "columns": {"y": label}})
    wild = {"x*": {"kind": "numeric", "lower": 0, "upper": 1}, "y": label}
    for asked in (
        schema.to_toml,
        lambda: Schema.from_toml("width = 2"),
        lambda: Schema.read("adult"),
        lambda: Schema.from_dict({"columns": wild}).for_names(["x1", "y"]),
    ):
        with pytest.raises(InvalidInputError, match="No reader of schemas in files is installed."):
            asked()
    assert schema.anew() == schema


def test_a_foreign_reader_of_numbers_without_bounds_is_named(monkeypatch):
    foreign_loader(monkeypatch)
    numbers = np.array([[1.0]]), np.array([1])
    waiting = dataset_from_arrays(*numbers, private_bounds=True)
    assert waiting.schema.unbounded
    assert foreign_parts(parts_of_rows(waiting)) == (f"{__name__}:LOADER",)
    # Of arrays too, whose schema may have come from a document that it read.
    named = (f"{__name__}:LOADER",)
    assert foreign_parts(parts_of_rows(dataset_from_arrays(*numbers, bounds=(0, 1)))) == named


def test_where_no_bounds_are_released_what_releases_them_is_said(monkeypatch):
    without_loader(monkeypatch)
    told = "No reader of numbers in bins, .* or without bounds is installed.*pip"
    with pytest.raises(InvalidInputError, match=told):
        dataset_from_arrays(np.array([[1.0]]), np.array([1]), private_bounds=True)


def test_a_foreign_reader_of_crosses_is_named(monkeypatch):
    foreign_loader(monkeypatch)
    bins = {name: {"kind": "numeric", "bins": [0.5]} for name in ("a", "b")}
    columns = {**bins, "y": {"kind": "label", "classes": [0, 1]}}
    schema = Schema.from_dict({"columns": columns, "crosses": [{"columns": ["a", "b"]}]})
    rows = dataset_from_arrays(pa.table({"a": [0.0], "b": [1.0], "y": [1]}), schema=schema)
    assert foreign_parts(parts_of_rows(rows)) == (f"{__name__}:LOADER",)


@dataclass(frozen=True, slots=True)
class Borrowed(FeatureColumn):
    """A kind of column under the name of a module of dpcore's."""

    __module__ = FeatureColumn.__module__
    kind: ClassVar[str] = "borrowed"
    name: str


def test_a_kind_of_column_under_a_borrowed_name_is_named():
    schema = SimpleNamespace(columns=(Borrowed("x"), Drop("y")))
    rows = SimpleNamespace(schema=schema, X=None, read_by=())
    assert foreign_parts(parts_of_rows(rows)) == (f"?{FeatureColumn.__module__}:Borrowed",)

"""The reader of a file, by its name or by that of a format."""

import pytest

from dpcore.errors import InvalidInputError, RegistryError
from dpcore.plugin.parts import format_of
from dpcore.registry.catalogue import Entry, Registry


def installed(monkeypatch, entries):
    """Have these readers and stores alone."""
    registry = Registry(entries)
    monkeypatch.setattr("dpcore.data.readers.load_registry", lambda kind: registry)
    monkeypatch.setattr("dpcore.data.readers.registries", lambda kind: (registry,))


@pytest.mark.parametrize("asked", [("rows.csv", None), ("rows", "csv"), ("-", None), (".", None)])
def test_where_no_reader_is_installed_what_has_one_is_said(asked, monkeypatch):
    installed(monkeypatch, ())
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

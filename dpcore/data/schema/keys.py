"""The keys of a schema, from which templates, checks and documents are; those of the kinds of
column are where the kinds are registered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dpcore.privacy.first_party import is_ours
from dpcore.registry.catalogue import Registry, load_registry

if TYPE_CHECKING:
    from dpcore.data.schema.values import Entry
    from dpcore.registry.entries import Registration

__all__ = ["FILL", "TOP_KEYS", "ColumnKind", "Key"]

_KIND = "column-kind"


@dataclass(frozen=True)
class Key:
    """A key of a schema.

    ``example`` : a value, as TOML writes it. ``meaning`` : what it says, and what holds without it.
    """

    name: str
    example: str
    meaning: str


@dataclass(frozen=True)
class ColumnKind:
    """A kind of column, as it is registered.

    Parameters
    ----------
    keys : that a schema may have of such a column, beside ``kind``.
    read : a function of the column's name and its ``Entry``, the table of its keys, that returns
        the column, or raises InvalidInputError.

    ``INDICATOR`` and ``MISSING`` are the keys of every kind with empty cells.
    """

    keys: tuple[Key, ...]
    read: Callable[[str, Entry], Any]

    INDICATOR: ClassVar[Key] = Key(
        "indicator", "true", "a feature of its own says that the cell is empty"
    )
    MISSING: ClassVar[Key] = Key(
        "missing", '["-9"]', "cells that mean no value in this column, too"
    )

    @staticmethod
    def named(name: str) -> ColumnKind:
        """Return a kind of column; RegistryError if none of that name is installed."""
        # A plugin is imported for a kind that can be one of theirs alone.
        for registry in Registry.in_turn(_KIND):
            if name in registry.names(_KIND):
                break
        found: ColumnKind = registry.load(_KIND, name)
        return found

    @staticmethod
    def installed() -> list[Registration]:
        """Return the installed kinds, each with its ``name`` and ``summary``: those of this project
        first, the label's and "drop" behind those of features, in the order of registration."""

        def place(each: Registration) -> tuple[bool, bool]:
            return not is_ours(each.target.partition(":")[0]), each.name in ("label", "drop")

        return sorted(load_registry(_KIND).in_order(_KIND), key=place)


TOP_KEYS = (
    Key("rows", "50000", "about how many rows there are, from public knowledge; rows, not units"),
    Key("capacity", "1000000", "sums are exact up to this many rows; default 2^27"),
    Key("row_norm", "2.0", "longer rows are scaled down to this l2 norm; default: none is"),
    Key(
        "intercept", "true", "add a last column of ones, which counts in the row norm (the default)"
    ),
    Key("header", "true", "the first line names the columns (the default)"),
    Key(
        "separator", '","', 'one character, "\\t" or "whitespace"; default: by the name of the file'
    ),
    Key("encoding", '"cp1252"', 'the code page of a text file, one byte a letter; default "utf-8"'),
    Key("missing", '["", "NA"]', 'cells that mean no value; default [""]; "-9" covers -9'),
    Key("decimal", '","', 'the decimal mark of numbers in text; default "."'),
    Key("thousands", '"."', "a mark that may separate groups of three digits; default: none"),
    Key("width", "123", "number of features in a file whose columns have no names"),
    Key("unit", '"patient_id"', "the column of ids: all rows of one id are protected together"),
    Key("rows_per_unit", "5", "at most so many rows of one id are used; needed with unit"),
    Key("unit_missing", '"row"', 'a row without an id is a unit by itself; default "refuse"'),
    Key("unit_in_one_file", "true", "you claim that no id has rows in two files or partitions"),
    Key(
        "ledger",
        '"table.ledger"',
        "runs are charged to this ledger; path from this file's folder",
    ),
    Key("wildcards", "[]", "names in [columns] whose * is any text; default: all that have a *"),
    Key("from_data", "true", "bounds or categories were read off the rows: models are not private"),
)

FILL = Key("fill", "40", "what an empty cell counts as")

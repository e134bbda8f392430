"""The keys of a schema, from which templates, checks and documents are; those of the kinds of
column are where the kinds are registered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpcore.data.schema.values import Entry

__all__ = ["FILL", "INDICATOR", "MISSING", "TOP_KEYS", "ColumnKind", "Key"]


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
    """

    keys: tuple[Key, ...]
    read: Callable[[str, Entry], Any]


TOP_KEYS = (
    Key("rows", "50000", "a public figure for the number of rows, not of units; no default"),
    Key("capacity", "1000000", "the most rows that exact sums hold; default 2^27"),
    Key("row_norm", "2.0", "rows are scaled down to this l2 norm; default: none is scaled"),
    Key("intercept", "true", "a constant column of ones, the last, in the row norm; default"),
    Key("header", "true", "the first line names the columns; default"),
    Key(
        "separator", '","', 'one character, "\\t" or "whitespace"; default: by the name of the file'
    ),
    Key("encoding", '"cp1252"', 'of a text file, a code page of one byte; default "utf-8"'),
    Key("missing", '["", "NA"]', 'words for no value; default [""]; "-9" is the number -9 too'),
    Key("decimal", '","', 'what is before the decimals of numbers in text; default "."'),
    Key("thousands", '"."', "what may be between groups of three digits in text; default: nothing"),
    Key("width", "123", "number of features of a file without columns, beside the label alone"),
    Key("unit", '"patient_id"', "the column that says whose a row is; no feature; default: none"),
    Key("rows_per_unit", "5", "at most so many rows of each are used; needed beside unit"),
    Key("unit_missing", '"row"', 'a row without an id is one by itself; default "refuse"'),
    Key("unit_in_one_file", "true", "a claim: no unit has rows in two files, or partitions"),
    Key(
        "ledger",
        '"table.ledger"',
        "the ledger that runs are charged to, from this file's folder on; no default",
    ),
    Key("wildcards", "[]", "names in [columns] whose * stands for any text; default: all with a *"),
    Key("from_data", "true", "bounds or categories were read off the rows: models are not private"),
)

FILL = Key("fill", "40", "what an empty cell counts as")
INDICATOR = Key("indicator", "true", "a feature of its own says that the cell is empty")
MISSING = Key("missing", '["-9"]', "words for no value here, beside those of the table")

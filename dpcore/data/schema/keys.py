"""The keys of a schema: the one table of them, from which templates, checks and documents are."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["COLUMN_KINDS", "CROSS_KEYS", "TOP_KEYS", "Key", "reference"]


@dataclass(frozen=True)
class Key:
    """A key of a schema.

    ``example`` : a value, as TOML writes it. ``meaning`` : what it says, and what holds without it.
    """

    name: str
    example: str
    meaning: str


TOP_KEYS = (
    Key("rows", "50000", "a public figure for the number of rows, not of units; no default"),
    Key("capacity", "1000000", "rows that the exact sums must hold; default 2^27"),
    Key("row_norm", "2.0", "rows are scaled down to this l2 norm; default: none is scaled"),
    Key("intercept", "true", "a constant column of ones, the last, in the row norm; default"),
    Key("header", "true", "the first line names the columns; default"),
    Key(
        "separator", '","', 'one character, "\\t" or "whitespace"; default: by the name of the file'
    ),
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

_FILL = Key("fill", "40", "what an empty cell counts as")
_INDICATOR = Key("indicator", "true", "a feature of its own says that the cell is empty")
_MISSING = Key("missing", '["-9"]', "words for no value here, beside those of the table")

COLUMN_KINDS: dict[str, tuple[str, tuple[Key, ...]]] = {
    "numeric": (
        "a number between public bounds, in public bins, or piecewise linear between public knots",
        (
            Key("lower", "17", 'the lower bound; values are clamped to it; "private": released'),
            Key("upper", "90", 'the upper bound; or "private"'),
            Key("scale", '"log"', "the number counts by its logarithm; needs lower > 0"),
            Key("bins", "[18, 30, 65]", "in place of bounds: edges of intervals, one-hot"),
            Key("knots", "[0, 10, 50]", "in place of bounds: where the slope may change"),
            _FILL,
            _INDICATOR,
            _MISSING,
        ),
    ),
    "categorical": (
        "one of the categories, one-hot; any other value is none of them",
        (
            Key("categories", '["Bern", "Basel"]', "text or numbers; true and false in any case"),
            Key("fill", '"Bern"', "the category that an empty cell counts as"),
            Key("indicator", "true", "the empty cell is a category of its own, the last"),
            _MISSING,
        ),
    ),
    "ordinal": (
        "one of the levels, by its position",
        (
            Key("levels", '["low", "mid", "high"]', "lowest first; any other value is a bad row"),
            Key("fill", '"mid"', "the level that an empty cell counts as"),
            _INDICATOR,
            _MISSING,
        ),
    ),
    "boolean": (
        "a truth value: true, t, yes, y, on, 1, 1.0; false, f, no, n, off, 0, 0.0",
        (Key("fill", "false", "what an empty cell counts as"), _INDICATOR, _MISSING),
    ),
    "date": (
        "a day between public bounds",
        (
            Key("lower", "2015-01-01", "the first day; others are clamped"),
            Key("upper", "2024-12-31", "the last day"),
            Key("parts", '["year", "month", "weekday"]', "these too, one-hot each"),
            Key("format", '"%d.%m.%Y"', "of text, by %Y %m %d %H %M %S; default ISO 8601"),
            Key("fill", "2020-01-01", "the day that an empty cell counts as"),
            _INDICATOR,
            _MISSING,
        ),
    ),
    "hashed": (
        "text by a public hash, one-hot: for values that nobody lists",
        (
            Key("buckets", "64", "how many features"),
            Key("numbers", "true", "cells are numbers: 3, 3.0 and \"3\" are one"),
            Key("fill", '"02139"', "the value that an empty cell counts as"),
            Key("indicator", "true", "the empty cell is a bucket of its own, the last"),
            _MISSING,
        ),
    ),
    "label": (
        "what is to be predicted; one column is",
        (
            Key(
                "classes",
                '["no", ["yes", "y"]]',
                "negative and positive, or three and more; each a value or a list",
            ),
            Key("positive", '["yes"]', "in place of classes: any other value is negative"),
            Key("other", '"no"', "the class of values that none lists: one of those, or one more"),
            Key("lower", "0", "in place of classes: the lower bound of a number to predict"),
            Key("upper", "1e6", 'and the upper bound; or "private", each'),
            _MISSING,
        ),
    ),
    "drop": ("not used", ()),
}  # fmt: skip
"""By kind: what a column of it becomes, and its keys beside ``kind``."""

CROSS_KEYS = (Key("columns", '["city", "flag"]', "two or more columns of levels, bins or buckets"),)


def reference() -> str:
    """Return all keys of a schema, as ``dpcore schema --help-keys`` prints them."""
    lines = ["At the top of the file:", "", *_lines(TOP_KEYS), ""]
    lines += ['[columns], as in  age = { kind = "numeric", lower = 17, upper = 90 }', ""]
    for kind, (becomes, keys) in COLUMN_KINDS.items():
        lines += [f'  kind = "{kind}": {becomes}', *_lines(keys, "    "), ""]
    lines += [
        'A name with a *, as in  "x*" = { kind = "numeric", lower = 0, upper = 1 }, stands for all',
        "columns of the file that the schema does not name otherwise; the first that fits holds.",
        "",
        "[[crosses]]: a combination of the levels of columns, one-hot",
        "",
        *_lines(CROSS_KEYS),
    ]
    return "\n".join(lines) + "\n"


def _lines(keys: tuple[Key, ...], indent: str = "  ") -> list[str]:
    return [f"{indent}{f'{key.name} = {key.example}':<38}  {key.meaning}" for key in keys]

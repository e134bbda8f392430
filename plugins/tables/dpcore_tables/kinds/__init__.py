"""Kinds of column of tables, as they are registered: their keys, and what reads them."""

from __future__ import annotations

from dpcore.plugin.columns import ColumnKind, Key
from dpcore_tables.kinds.categorical import (
    Boolean,
    Categorical,
    Ordinal,
    boolean_from,
    categorical_from,
    ordinal_from,
)
from dpcore_tables.kinds.dates import Date, date_from
from dpcore_tables.kinds.hashed import Hashed, hashed_from

__all__ = [
    "BOOLEAN",
    "CATEGORICAL",
    "DATE",
    "HASHED",
    "ORDINAL",
    "Boolean",
    "Categorical",
    "Date",
    "Hashed",
    "Ordinal",
]

CATEGORICAL = ColumnKind(
    (
        Key("categories", '["Bern", "Basel"]', "text or numbers; true and false in any case"),
        Key("fill", '"Bern"', "the category that an empty cell counts as"),
        Key("indicator", "true", "the empty cell is a category of its own, the last"),
        ColumnKind.MISSING,
    ),
    categorical_from,
)

ORDINAL = ColumnKind(
    (
        Key("levels", '["low", "mid", "high"]', "lowest first; any other value is a bad row"),
        Key("fill", '"mid"', "the level that an empty cell counts as"),
        ColumnKind.INDICATOR,
        ColumnKind.MISSING,
    ),
    ordinal_from,
)

BOOLEAN = ColumnKind(
    (
        Key("fill", "false", "what an empty cell counts as"),
        ColumnKind.INDICATOR,
        ColumnKind.MISSING,
    ),
    boolean_from,
)

DATE = ColumnKind(
    (
        Key("lower", "2015-01-01", "the first day; others are clamped"),
        Key("upper", "2024-12-31", "the last day"),
        Key("parts", '["year", "month", "weekday"]', "these too, one-hot each"),
        Key("format", '"%d.%m.%Y"', "of text, by %Y %m %d %H %M %S; default ISO 8601"),
        Key("fill", "2020-01-01", "the day that an empty cell counts as"),
        ColumnKind.INDICATOR,
        ColumnKind.MISSING,
    ),
    date_from,
)

HASHED = ColumnKind(
    (
        Key("buckets", "64", "how many features"),
        Key("numbers", "true", 'cells are numbers: 3, 3.0 and "3" are one'),
        Key("fill", '"02139"', "the value that an empty cell counts as"),
        Key("indicator", "true", "the empty cell is a bucket of its own, the last"),
        ColumnKind.MISSING,
    ),
    hashed_from,
)

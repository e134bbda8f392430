"""The kinds of column of dpcore, as they are registered: their keys, and what reads them."""

from __future__ import annotations

from dpcore.data.schema.columns import Column, Drop
from dpcore.data.schema.dates import date_from
from dpcore.data.schema.hashed import hashed_from
from dpcore.data.schema.keys import FILL, INDICATOR, MISSING, ColumnKind, Key
from dpcore.data.schema.label import label_from
from dpcore.data.schema.levels import boolean_from, categorical_from, ordinal_from
from dpcore.data.schema.numeric import numeric_from
from dpcore.data.schema.unbounded import has_private_bounds, unbounded_from, unbounded_label_from
from dpcore.data.schema.values import Entry

__all__ = ["BOOLEAN", "CATEGORICAL", "DATE", "DROP", "HASHED", "LABEL", "NUMERIC", "ORDINAL"]


def _number_from(name: str, entry: Entry) -> Column:
    is_private = has_private_bounds(entry)
    return unbounded_from(name, entry) if is_private else numeric_from(name, entry)


def _target_from(name: str, entry: Entry) -> Column:
    is_private = has_private_bounds(entry)
    return unbounded_label_from(name, entry) if is_private else label_from(name, entry)


NUMERIC = ColumnKind(
    (
        Key("lower", "17", 'the lower bound; values are clamped to it; "private": released'),
        Key("upper", "90", 'the upper bound; or "private"'),
        Key("scale", '"log"', "the number counts by its logarithm; needs lower > 0"),
        Key("bins", "[18, 30, 65]", "in place of bounds: edges of intervals, one-hot"),
        Key("knots", "[0, 10, 50]", "in place of bounds: where the slope may change"),
        FILL,
        INDICATOR,
        MISSING,
    ),
    _number_from,
)

CATEGORICAL = ColumnKind(
    (
        Key("categories", '["Bern", "Basel"]', "text or numbers; true and false in any case"),
        Key("fill", '"Bern"', "the category that an empty cell counts as"),
        Key("indicator", "true", "the empty cell is a category of its own, the last"),
        MISSING,
    ),
    categorical_from,
)

ORDINAL = ColumnKind(
    (
        Key("levels", '["low", "mid", "high"]', "lowest first; any other value is a bad row"),
        Key("fill", '"mid"', "the level that an empty cell counts as"),
        INDICATOR,
        MISSING,
    ),
    ordinal_from,
)

BOOLEAN = ColumnKind(
    (Key("fill", "false", "what an empty cell counts as"), INDICATOR, MISSING),
    boolean_from,
)

DATE = ColumnKind(
    (
        Key("lower", "2015-01-01", "the first day; others are clamped"),
        Key("upper", "2024-12-31", "the last day"),
        Key("parts", '["year", "month", "weekday"]', "these too, one-hot each"),
        Key("format", '"%d.%m.%Y"', "of text, by %Y %m %d %H %M %S; default ISO 8601"),
        Key("fill", "2020-01-01", "the day that an empty cell counts as"),
        INDICATOR,
        MISSING,
    ),
    date_from,
)

HASHED = ColumnKind(
    (
        Key("buckets", "64", "how many features"),
        Key("numbers", "true", 'cells are numbers: 3, 3.0 and "3" are one'),
        Key("fill", '"02139"', "the value that an empty cell counts as"),
        Key("indicator", "true", "the empty cell is a bucket of its own, the last"),
        MISSING,
    ),
    hashed_from,
)

LABEL = ColumnKind(
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
        MISSING,
    ),
    _target_from,
)

DROP = ColumnKind((), lambda name, _: Drop(name))

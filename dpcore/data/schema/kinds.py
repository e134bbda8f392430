"""The kinds of column of the core, as they are registered: their keys, and what reads them."""

from dpcore.data.schema.columns import Column, Drop
from dpcore.data.schema.features.numeric import numeric_from
from dpcore.data.schema.keys import FILL, ColumnKind, Key
from dpcore.data.schema.label import label_from
from dpcore.data.schema.unbounded_columns import other_number
from dpcore.data.schema.values import Entry

__all__ = ["DROP", "LABEL", "NUMERIC"]


def _number_from(name: str, entry: Entry) -> Column:
    return other_number(name, entry) or numeric_from(name, entry)


def _target_from(name: str, entry: Entry) -> Column:
    return other_number(name, entry, is_label=True) or label_from(name, entry)


NUMERIC = ColumnKind(
    (
        Key("lower", "17", 'the lower bound; values are clamped to it; "private": released'),
        Key("upper", "90", 'the upper bound; or "private"'),
        Key("scale", '"log"', "the number counts by its logarithm; needs lower > 0"),
        Key("bins", "[18, 30, 65]", "in place of bounds: edges of intervals, one-hot"),
        Key("knots", "[0, 10, 50]", "where the slope may change; a number, as 8: beside bounds"),
        FILL,
        ColumnKind.INDICATOR,
        ColumnKind.MISSING,
    ),
    _number_from,
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
        ColumnKind.MISSING,
    ),
    _target_from,
)

DROP = ColumnKind((), lambda name, _: Drop(name))

"""The kinds of column that a schema knows: all that is public about each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from dpcore.data.schema.label import Drop, Label, label_from
from dpcore.data.schema.levels import Categorical, categorical_from
from dpcore.data.schema.numeric import Numeric, numeric_from
from dpcore.data.schema.values import PLACEHOLDER, Entry, check_keys
from dpcore.errors import InvalidInputError

__all__ = [
    "Categorical",
    "Column",
    "Drop",
    "FeatureColumn",
    "Label",
    "Numeric",
    "column_from_dict",
]

FeatureColumn: TypeAlias = Numeric | Categorical
"""A column that becomes features. Each has ``parts``, its features in order; ``square``, an upper
bound of what they add to the square of a row's l2 norm; and ``fill`` and ``indicator``."""
Column: TypeAlias = FeatureColumn | Label | Drop

_KEYS = {
    "numeric": ("lower", "upper", "fill", "indicator"),
    "categorical": ("categories", "fill", "indicator"),
    "label": ("classes", "positive", "lower", "upper"),
    "drop": (),
}
_READERS: dict[str, Callable[[str, Entry], Column]] = {
    "numeric": numeric_from,
    "categorical": categorical_from,
    "label": label_from,
    "drop": lambda name, _: Drop(name),
}


def column_from_dict(name: str, data: Any) -> Column:
    """Return the column described by ``data``, as ``to_dict`` writes it.

    Raises InvalidInputError, naming the column, for anything else.
    """
    where = f"column {name!r}"
    if not (isinstance(name, str) and name.strip() == name and name):
        raise InvalidInputError(f"Expected column name {name!r} to be text without outer spaces.")
    if not isinstance(data, Mapping):
        raise InvalidInputError(f"Expected {where} to be a table with a kind.")
    kind = data.get("kind")
    if kind == PLACEHOLDER:
        raise InvalidInputError(f"The kind of {where} is still to be filled in.")
    if not isinstance(kind, str) or kind not in _KEYS:
        raise InvalidInputError(f"Expected kind of {where} to be one of: {', '.join(_KEYS)}.")
    check_keys(where, data, ("kind", *_KEYS[kind]))
    return _READERS[kind](name, Entry(where, data))

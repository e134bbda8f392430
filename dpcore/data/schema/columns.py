"""The kinds of column that a schema knows: all that is public about each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from dpcore.data.schema.dates import Date, date_from
from dpcore.data.schema.feature_column import FeatureColumn
from dpcore.data.schema.hashed import Hashed, hashed_from
from dpcore.data.schema.keys import COLUMN_KINDS
from dpcore.data.schema.label import Drop, Label, label_from
from dpcore.data.schema.levels import (
    Boolean,
    Categorical,
    Ordinal,
    boolean_from,
    categorical_from,
    ordinal_from,
)
from dpcore.data.schema.numeric import Binned, Numeric, Piecewise, numeric_from
from dpcore.data.schema.unbounded import (
    Unbounded,
    UnboundedLabel,
    has_private_bounds,
    unbounded_from,
    unbounded_label_from,
)
from dpcore.data.schema.values import PLACEHOLDER, Entry, check_keys
from dpcore.errors import InvalidInputError

__all__ = [
    "Binned",
    "Boolean",
    "Categorical",
    "Column",
    "Date",
    "Drop",
    "FeatureColumn",
    "Hashed",
    "Label",
    "Numeric",
    "Ordinal",
    "Piecewise",
    "Unbounded",
    "UnboundedLabel",
    "Waiting",
    "column_from_dict",
]

Column: TypeAlias = FeatureColumn | Label | Drop
Waiting: TypeAlias = Unbounded | UnboundedLabel
"""A column whose bounds are still to be released."""


def _number_from(name: str, entry: Entry) -> Column:
    is_private = has_private_bounds(entry)
    return unbounded_from(name, entry) if is_private else numeric_from(name, entry)


def _target_from(name: str, entry: Entry) -> Column:
    is_private = has_private_bounds(entry)
    return unbounded_label_from(name, entry) if is_private else label_from(name, entry)


_READERS: dict[str, Callable[[str, Entry], Column]] = {
    "numeric": _number_from,
    "categorical": categorical_from,
    "ordinal": ordinal_from,
    "boolean": boolean_from,
    "date": date_from,
    "hashed": hashed_from,
    "label": _target_from,
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
    known = ", ".join(COLUMN_KINDS)
    if kind == PLACEHOLDER:
        raise InvalidInputError(f"The kind of {where} is still to be filled in: one of {known}.")
    if not isinstance(kind, str) or kind not in COLUMN_KINDS:
        raise InvalidInputError(f"Expected kind of {where} to be one of: {known}.")
    _, keys = COLUMN_KINDS[kind]
    check_keys(where, data, ("kind", *(key.name for key in keys)))
    return _READERS[kind](name, Entry(where, data))

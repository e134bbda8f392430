"""The top level of a schema's keys: each by its type, and the columns in order."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from dpcore.data.schema.consistency import SchemaKeys
from dpcore.data.schema.values import Entry
from dpcore.errors import InvalidInputError

__all__ = ["column_entries", "document_of", "typed_value"]


def column_entries(columns: Any) -> Iterable[tuple[str, Any]]:
    """Return name and table of each column, of a table of columns or a list of named ones."""
    if isinstance(columns, Mapping):
        return columns.items()
    if not isinstance(columns, (list, tuple)):
        raise InvalidInputError("Expected columns to be a table of columns.")
    if not all(isinstance(c, Mapping) and "name" in c for c in columns):
        raise InvalidInputError("Expected every entry of columns to have a name.")
    return [(c["name"], {k: v for k, v in c.items() if k != "name"}) for c in columns]


_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("intercept", "header", "from_data", "unit_in_one_file"), (bool,)),
    **dict.fromkeys(("rows", "capacity", "width", "rows_per_unit"), (int,)),
    "row_norm": (int, float),
    "missing": (list, tuple),
    "wildcards": (list, tuple),
}
"""The types of the keys that are no text. A truth value is no number."""


def typed_value(key: str, value: Any) -> Any:
    """Return a top-level value with its field's type, or raise InvalidInputError."""
    if value == Entry.PLACEHOLDER:
        raise InvalidInputError(f"The {key} in the schema is still to be filled in.")
    types = _TYPES.get(key, (str,))
    fits = isinstance(value, types) and (bool in types or not isinstance(value, bool))
    if list in types:
        if not fits or not all(isinstance(each, str) for each in value):
            raise InvalidInputError(
                f'Expected {key} of the schema to be a list of texts, as in ["", "-9"].'
            )
        return tuple(value)
    if not fits:
        raise InvalidInputError(f"The value of {key} in the schema has the wrong type.")
    return min(max(value, -1.0), 1e300) * 1.0 if float in types else value


def document_of(schema: SchemaKeys) -> dict[str, Any]:
    """Return the keys of a schema that are not the default, JSON-able, columns as a list."""
    data: dict[str, Any] = {}
    for key in fields(schema):
        if not key.init or key.name in ("columns", "crosses"):
            continue
        value = getattr(schema, key.name)
        if value != key.default:
            name = "row_norm" if key.name == "norm" else key.name
            data[name] = list(value) if isinstance(value, tuple) else value
    data["columns"] = [{"name": c.name, **c.to_dict()} for c in schema.columns]
    if schema.crosses:
        data["crosses"] = [cross.to_dict() for cross in schema.crosses]
    return data

"""A column of a schema, read by the installed kind that its table names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpcore.data.schema.columns import Column, Drop, FeatureColumn, Label
from dpcore.data.schema.keys import ColumnKind
from dpcore.data.schema.values import Entry
from dpcore.errors import InvalidInputError, RegistryError, replacing
from dpcore.privacy.immutable import fault_of_unfrozen

__all__ = ["column_from_dict"]


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
    if kind == Entry.PLACEHOLDER:
        raise InvalidInputError(f"The kind of {where} is still to be filled in: one of {_known()}.")
    if not isinstance(kind, str):
        raise InvalidInputError(f"Expected kind of {where} to be one of: {_known()}.")

    def told(error: RegistryError) -> InvalidInputError:
        return InvalidInputError(f"Expected kind of {where} to be one that is installed. {error}")

    with replacing(RegistryError, by=told):
        described = ColumnKind.named(kind)
    entry = Entry(where, data)
    entry.check_keys(("kind", *(key.name for key in described.keys)))
    column = described.read(name, entry)
    if not isinstance(column, (FeatureColumn, Label, Drop)) or fault_of_unfrozen(type(column)):
        raise InvalidInputError(
            f"Kind {kind!r} cannot be used: what it reads is no column, or can be changed; it is "
            "to be a frozen dataclass of FeatureColumn."
        )
    return column


def _known() -> str:
    return ", ".join(each.name for each in ColumnKind.installed())

"""The installed kinds of column: what a schema's tables of columns are read by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpcore.data.schema.columns import Drop, FeatureColumn, Label
from dpcore.data.schema.keys import ColumnKind
from dpcore.data.schema.values import PLACEHOLDER, Entry, check_keys
from dpcore.errors import InvalidInputError, RegistryError, replacing
from dpcore.privacy.first_party import is_ours
from dpcore.privacy.immutable import fault_of_unfrozen
from dpcore.registry.catalogue import load_registry, registries

if TYPE_CHECKING:
    from dpcore.data.schema.columns import Column
    from dpcore.registry.catalogue import Entry as RegistryEntry

__all__ = ["column_from_dict", "column_kind", "installed_kinds"]

_KIND = "column-kind"


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
        raise InvalidInputError(f"The kind of {where} is still to be filled in: one of {_known()}.")
    if not isinstance(kind, str):
        raise InvalidInputError(f"Expected kind of {where} to be one of: {_known()}.")

    def told(error: RegistryError) -> InvalidInputError:
        return InvalidInputError(f"Expected kind of {where} to be one that is installed. {error}")

    with replacing(RegistryError, by=told):
        described = column_kind(kind)
    check_keys(where, data, ("kind", *(key.name for key in described.keys)))
    column = described.read(name, Entry(where, data))
    if not isinstance(column, (FeatureColumn, Label, Drop)) or fault_of_unfrozen(type(column)):
        raise InvalidInputError(
            f"Kind {kind!r} cannot be used: what it reads is no column, or can be changed; it is "
            "to be a frozen dataclass of FeatureColumn."
        )
    return column


def _known() -> str:
    return ", ".join(each.name for each in installed_kinds())


def column_kind(name: str) -> ColumnKind:
    """Return a kind of column; RegistryError if none of that name is installed."""
    # A plugin is imported for a kind that can be one of theirs alone.
    for registry in registries(_KIND):
        if name in registry.names(_KIND):
            break
    found: ColumnKind = registry.load(_KIND, name)
    return found


def installed_kinds() -> list[RegistryEntry]:
    """Return the installed kinds: those of this project first, the label's and "drop" behind those
    of features, in the order of registration."""

    def place(each: RegistryEntry) -> tuple[bool, bool]:
        return not is_ours(each.target.partition(":")[0]), each.name in ("label", "drop")

    return sorted(load_registry(_KIND).in_order(_KIND), key=place)

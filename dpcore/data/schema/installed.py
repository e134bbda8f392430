"""The installed kinds of column: what a schema's tables of columns are read by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpcore.data.schema.columns import Drop, FeatureColumn, Label
from dpcore.data.schema.keys import CROSS_KEYS, TOP_KEYS, ColumnKind, Key
from dpcore.data.schema.values import PLACEHOLDER, Entry, check_keys
from dpcore.errors import InvalidInputError, RegistryError, replacing
from dpcore.privacy.first_party import is_ours
from dpcore.privacy.immutable import fault_of_unfrozen
from dpcore.registry.catalogue import load_registry, registries

if TYPE_CHECKING:
    from dpcore.data.schema.columns import Column
    from dpcore.registry.catalogue import Entry as RegistryEntry
    from dpcore.registry.catalogue import Registry

__all__ = ["column_from_dict", "column_kinds", "keys_of", "reference"]

_KIND = "column-kind"


def column_kinds() -> dict[str, tuple[str, tuple[Key, ...]]]:
    """Return, by kind, what a column of it becomes, and its keys beside ``kind``."""
    registry = load_registry(_KIND)
    kinds = {name: registry.get(_KIND, name).summary for name in _names(registry)}
    return {name: (becomes, _load(name).keys) for name, becomes in kinds.items()}


def keys_of(kind: str) -> frozenset[str]:
    """Return the names of the keys that a column of a kind may have."""
    return frozenset(key.name for key in _load(kind).keys)


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
        described = _load(kind)
    check_keys(where, data, ("kind", *(key.name for key in described.keys)))
    column = described.read(name, Entry(where, data))
    if not isinstance(column, (FeatureColumn, Label, Drop)) or fault_of_unfrozen(type(column)):
        raise InvalidInputError(
            f"Kind {kind!r} cannot be used: what it reads is no column, or can be changed; it is "
            "to be a frozen dataclass of FeatureColumn."
        )
    return column


def reference() -> str:
    """Return all keys of a schema, as ``dpcore schema --help-keys`` prints them."""
    lines = ["At the top of the file:", "", *_lines(TOP_KEYS), ""]
    lines += ['[columns], as in  age = { kind = "numeric", lower = 17, upper = 90 }', ""]
    for kind, (becomes, keys) in column_kinds().items():
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


def _known() -> str:
    return ", ".join(_names(load_registry(_KIND)))


def _load(kind: str) -> ColumnKind:
    # A plugin is imported for a kind that can be one of theirs alone.
    for registry in registries(_KIND):
        if kind in registry.names(_KIND):
            break
    found: ColumnKind = registry.load(_KIND, kind)
    return found


def _names(registry: Registry) -> list[str]:
    """Return the installed kinds: those of this project first, the label's and "drop" behind those
    of features, in the order of registration."""
    entries = registry.in_order(_KIND)

    def place(each: RegistryEntry) -> tuple[bool, bool]:
        return not is_ours(each.target.partition(":")[0]), each.name in ("label", "drop")

    return [each.name for each in sorted(entries, key=place)]


def _lines(keys: tuple[Key, ...], indent: str = "  ") -> list[str]:
    return [f"{indent}{f'{key.name} = {key.example}':<38}  {key.meaning}" for key in keys]

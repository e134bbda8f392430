"""The store of a ledger: by the scheme of its address, or else the suffix of its path."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import PurePath
from typing import TYPE_CHECKING

from dpcore.errors import InvalidInputError, near_names
from dpcore.plugin.parts import Registry, load_registry

if TYPE_CHECKING:
    from dpcore_ledger.stores.store import Store

__all__ = ["part_at", "store_at"]

_KIND = "ledger-store"
_USUAL = "sqlite"
"""The store of a path whose suffix none claims."""


def store_at(place: str | os.PathLike[str]) -> Store:
    """Return the store of a ledger.

    Raises InvalidInputError for a scheme that there is no store of, RegistryError for a scheme or
    suffix that two claim, or a store that cannot be loaded.
    """
    registry, name = _found(os.fspath(place))
    store: Store = registry.load(_KIND, name)(os.fspath(place))
    return store


def part_at(place: str | os.PathLike[str]) -> str:
    """Return ``"module:Class"`` of a ledger's store, as it is registered."""
    registry, name = _found(os.fspath(place))
    return registry.get(_KIND, name).target


def _found(place: str) -> tuple[Registry, str]:
    """Return the name of the store of a place, and the registry that has it: that of the stores
    here, without the import of a plugin, if it can."""
    scheme, _, rest = place.partition(":")
    suffix = PurePath(place).suffix.lower()
    for registry in _registries():
        found = registry.claimant(_KIND, "schemes", scheme)
        if found is None and not rest.startswith("//") and suffix:
            found = registry.claimant(_KIND, "suffixes", suffix)
        if found is not None:
            return registry, found.name
    if rest.startswith("//"):
        known = [s for entry in registry.entries(_KIND) for s in entry.data["schemes"]]
        raise InvalidInputError(
            f"There is no store of ledgers for addresses of {scheme!r}.{near_names(scheme, known)}"
        )
    return _own_registry(), _USUAL


def _registries() -> Iterator[Registry]:
    yield _own_registry()
    yield load_registry(_KIND)


@cache
def _own_registry() -> Registry:
    """Return the registry of this package alone."""
    points = metadata.distribution("dpcore-ledger").entry_points
    return Registry.of(points.select(group="dpcore"))

"""The one loader of files that is registered: what reads them, their cells and their schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError
from dpcore.moved import where_to_get
from dpcore.privacy.first_party import is_ours
from dpcore.registry.catalogue import Registry, load_registry

if TYPE_CHECKING:
    from dpcore.registry.entries import Registration

__all__ = ["foreign_loader", "loader_entry", "registered_loader"]

_KIND, _NAME = "file-loader", "files"
"""The kind, and the one name of it that there is: a path means the same rows everywhere."""


def loader_entry() -> Registration | None:
    """Return the entry of the loader that is registered, ``None`` if there is none."""
    known = (registry for registry in Registry.in_turn(_KIND) if _NAME in registry.names(_KIND))
    return next((registry.get(_KIND, _NAME) for registry in known), None)


def registered_loader(what: str) -> tuple[Registration, Any]:
    """Return the entry and the ``dpcore.data.loader.FileLoader`` of it; InvalidInputError, with
    what to install, if there is none. ``what`` : it is to read, for the message."""
    for registry in Registry.in_turn(_KIND):
        if _NAME in registry.names(_KIND):
            break
    else:
        registry = load_registry(_KIND)
        if not registry.failures:
            where = where_to_get(_KIND, _NAME)
            raise InvalidInputError(f"No reader of {what} is installed. {where}")
    return registry.get(_KIND, _NAME), registry.load(_KIND, _NAME)


def foreign_loader() -> tuple[str, ...]:
    """Return what the statement names of the loader that is registered; nothing where it is ours.

    It is named whatever rows a run has: a schema's document, and what looks like an array, may have
    gone through it.
    """
    entry = loader_entry()
    named = () if entry is None else entry.named_parts()
    return tuple(part for part in named if not is_ours(part.partition(":")[0]))

"""The one loader of files that is registered: what reads them, their cells and their schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError
from dpcore.moved import where_to_get
from dpcore.registry.catalogue import load_registry, registries

if TYPE_CHECKING:
    from dpcore.registry.entries import Entry

__all__ = ["loader_entry", "registered_loader"]

_KIND, _NAME = "file-loader", "files"
"""The kind, and the one name of it that there is: a path means the same rows everywhere."""


def loader_entry() -> Entry | None:
    """Return the entry of the loader that is registered, ``None`` if there is none."""
    known = (registry for registry in registries(_KIND) if _NAME in registry.names(_KIND))
    return next((registry.get(_KIND, _NAME) for registry in known), None)


def registered_loader(what: str) -> tuple[Entry, Any]:
    """Return the entry and the ``dpcore.data.loader.FileLoader`` of it; InvalidInputError, with
    what to install, if there is none. ``what`` : it is to read, for the message."""
    for registry in registries(_KIND):
        if _NAME in registry.names(_KIND):
            break
    else:
        registry = load_registry(_KIND)
        if not registry.failures:
            where = where_to_get(_KIND, _NAME)
            raise InvalidInputError(f"No reader of {what} is installed. {where}")
    return registry.get(_KIND, _NAME), registry.load(_KIND, _NAME)

"""Export formats, each chosen by the suffix of a file's name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError
from dpcore.plugin.parts import Registry

if TYPE_CHECKING:
    from dpcore.plugin.parts import Model

__all__ = ["content_of", "exporter_of"]


def exporter_of(path: str | os.PathLike[str]) -> Any:
    """Return what the exporter of a file's suffix states, which is there to be used.

    No plugin is imported for a suffix of the core's own. Raises InvalidInputError for a suffix that
    nobody writes, RegistryError where two claim it.
    """
    suffix = Path(path).suffix.lower()
    for registry in Registry.in_turn("exporter"):
        found = registry.claimant("exporter", "suffixes", suffix)
        if found is not None:
            exporter = registry.facts_of("exporter", registry.load("exporter", found.name))
            if exporter.check is not None:
                exporter.check()
            return exporter
    known = [s for entry in registry.entries("exporter") for s in entry.data["suffixes"]]
    raise InvalidInputError(
        f"Expected the file {os.fspath(path)!r} as {' or '.join(sorted(known))}."
        f"{registry.failed_hint()}"
    )


def content_of(exporter: Any, model: Model) -> bytes:
    """Return the bytes of a model's file; InvalidInputError where an exporter returns no bytes."""
    content = exporter.content(model)
    if not isinstance(content, bytes):
        raise InvalidInputError("The exporter returned no bytes.")
    return content

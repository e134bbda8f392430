"""One reader per file format; each is chosen by the file's suffix or by name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import PurePath
from typing import Literal

from dpcore.data.readers.places import STDIN
from dpcore.errors import InvalidInputError
from dpcore.registry.catalogue import Registry, core_registry, load_registry
from dpcore.registry.entries import Entry

__all__ = [
    "BadRows",
    "entry_of",
    "format_of",
    "is_named",
    "is_store",
    "is_typed",
    "separator_of",
    "suffixes",
]

BadRows = Literal["refuse", "drop"]
"""Whether a row that does not satisfy the schema is an error, or is left out."""

READER, STORE = "reader", "row-store"
"""The kinds of what a file of rows may be, in the registry."""


def format_of(path: str, format: str | None = None) -> str:
    """Return the format to read ``path`` with: ``format``, or by its suffix; of standard input
    ("-") it is csv, of a folder parquet. A further ``.gz`` is unpacked.

    Raises InvalidInputError for an unknown format or suffix.

    Examples
    --------
    >>> from dpcore.plugin.parts import format_of
    >>> format_of("rows.csv.gz"), format_of("rows.parquet")
    ('csv', 'parquet')
    """
    return entry_of(path, format).name


def entry_of(path: str, format: str | None = None) -> Entry:
    """Return the registered reader, or store, of a file. Raises as ``format_of``."""
    if format is not None:
        return _named(format)
    if path == STDIN:
        return _named("csv")
    if os.path.isdir(path):
        return _named("parquet")
    if "://" in path and not os.path.exists(path):
        return _of_scheme(path)
    name = PurePath(path).name.lower().removesuffix(".gz")
    for kind, registry in _registries():
        for entry in registry.in_order(kind):
            for suffix in entry.data["suffixes"]:
                if name.endswith(suffix):
                    registry.claimant(kind, "suffixes", suffix)  # or raises: two have it
                    return entry
    raise InvalidInputError(
        f"Cannot tell the format of {path!r} from its name: let it end in one of "
        f"{', '.join(suffixes())}. Save a file of another program (.xlsx, .sav, .feather) as CSV "
        "or Parquet from there, or read it with pandas and pass the frame to dpcore.fit."
    )


def _of_scheme(path: str) -> Entry:
    """Return the reader of an address, by its scheme, whatever it ends in."""
    scheme, registry = path.partition("://")[0], load_registry(READER)
    found: Entry | None = registry.claimant(READER, "schemes", scheme)
    if found is not None:
        return found
    known = [s for entry in registry.in_order(READER) for s in entry.data["schemes"]]
    raise InvalidInputError(
        f"No installed reader has the scheme of {path!r}. Known: "
        f"{', '.join(f'{one}://' for one in known) or 'none'}."
    )


def suffixes() -> tuple[str, ...]:
    """Return the suffixes of all files that can be read, those of dpcore's own readers first."""
    entries = [entry for kind in (READER, STORE) for entry in load_registry(kind).in_order(kind)]
    entries.sort(key=lambda entry: entry.distribution != "dpcore")
    return tuple(suffix for entry in entries for suffix in entry.data["suffixes"])


def is_store(path: str, format: str | None = None) -> bool:
    """Return whether the file is a store of encoded rows."""
    return entry_of(path, format).kind == STORE


def is_named(path: str, format: str | None = None) -> bool:
    """Return whether a file's rows, not those of a store, have named columns."""
    return bool(entry_of(path, format).data.get("named", False))


def is_typed(path: str, format: str | None = None) -> bool:
    """Return whether the file declares types of its columns, which another program chose."""
    return bool(entry_of(path, format).data.get("typed", False))


def _named(form: str) -> Entry:
    known: dict[str, None] = {}
    for kind, registry in _registries():
        entries = {entry.name: entry for entry in registry.in_order(kind)}
        if form in entries:
            return entries[form]
        known |= dict.fromkeys(entries)
    raise InvalidInputError(f"Unknown format {form!r}. Known: {', '.join(known)}.")


def _registries() -> Iterator[tuple[str, Registry]]:
    """Yield the core's readers and stores, then those of all plugins: imported if it is come to."""
    for kind in (READER, STORE):
        yield kind, core_registry()
    for kind in (READER, STORE):
        yield kind, load_registry(kind)


def separator_of(path: str, format: str) -> str:
    """Return the separator of cells that a text file's name says: a schema may say another."""
    if format == "whitespace":
        return "whitespace"
    return "\t" if PurePath(path).name.lower().removesuffix(".gz").endswith(".tsv") else ","

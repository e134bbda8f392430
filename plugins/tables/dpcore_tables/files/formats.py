"""One reader or store per file format; each is chosen by the file's suffix or by name."""

from __future__ import annotations

import hashlib
import importlib
import os
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError
from dpcore.plugin.parts import PrivacyStatement, Registry, load_registry
from dpcore_tables.databases.address import Address, refuse_password
from dpcore_tables.files.input_paths import STDIN

if TYPE_CHECKING:
    from dpcore import Schema
    from dpcore.plugin.parts import Registration
    from dpcore_tables.store.contract import RowStore

__all__ = [
    "claim_of",
    "entry_of",
    "format_of",
    "is_named",
    "is_store",
    "is_typed",
    "loaded",
    "query_of",
    "schema_from_rows",
    "store_of",
    "suffixes",
]

READER, STORE = "reader", "row-store"
"""The kinds of what a file of rows may be, in the registry."""


def format_of(path: str, format: str | None = None) -> str:
    """Return the format to read ``path`` with, as ``dpcore.plugin.engines.Files.format_of`` has it.

    Raises InvalidInputError for an unknown format or suffix.
    """
    return entry_of(path, format).name


def entry_of(path: str, format: str | None = None) -> Registration:
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
    for of_readers, of_stores in zip(
        Registry.in_turn(READER), Registry.in_turn(STORE), strict=True
    ):
        claims = [
            (suffix, kind, registry)
            for kind, registry in ((READER, of_readers), (STORE, of_stores))
            for entry in registry.in_order(kind)
            for suffix in entry.data["suffixes"]
            if name.endswith(suffix)
        ]
        if claims:
            suffix, kind, registry = max(claims, key=lambda claim: len(claim[0]))
            found: Registration | None = registry.claimant(kind, "suffixes", suffix)
            if found is not None:
                return found
    raise InvalidInputError(
        f"Cannot tell the format of {path!r} from its name: let it end in one of "
        f"{', '.join(suffixes())}. Save a file of another program (.sav, .feather) as CSV "
        "or Parquet from there, or read it with pandas and pass the frame to dpcore.fit. A "
        "database is named by its address, such as sqlite:///FILE or duckdb:///FILE, with --query."
    )


def _of_scheme(path: str) -> Registration:
    """Return the reader of an address, by its scheme, whatever it ends in."""
    scheme, registry = path.partition("://")[0], load_registry(READER)
    found: Registration | None = registry.claimant(READER, "schemes", scheme)
    if found is None or found.data["query"]:
        refuse_password(path)
    if found is not None:
        return found
    known = [s for entry in registry.in_order(READER) for s in entry.data["schemes"]]
    raise InvalidInputError(
        f"No installed reader has the scheme {scheme!r}. Known: "
        f"{', '.join(f'{one}://' for one in known) or 'none'}."
    )


def suffixes() -> tuple[str, ...]:
    """Return the suffixes of all files that can be read, those of this project first."""
    entries = [entry for kind in (READER, STORE) for entry in load_registry(kind).in_order(kind)]
    entries.sort(key=lambda entry: not PrivacyStatement.is_ours(entry.target.partition(":")[0]))
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


def claim_of(entry: Registration, source: str, schema: Schema) -> str:
    """Return what rows of a reader rest on, as a statement's ``typed_by`` has it; nothing for those
    of files."""
    if not entry.data.get("query"):
        return ""
    how = "claimed" if Address.of(source).is_claimed else "checked"
    types = " of types" if entry.data["typed"] else ""
    return f"{how} query{types}{'' if schema.unit is None else ' of units'}"


def query_of(entry: Registration, source: str) -> str:
    """Return the SHA-256 of the query that rows of a reader are the result of, as ``Dataset`` has
    it; nothing for those of files."""
    if not entry.data.get("query"):
        return ""
    return hashlib.sha256(Address.of(source).query.encode()).hexdigest()


def schema_from_rows(path: str, target: str) -> Schema:
    """Return a schema that the file's reader reads off its rows: a fit by it is not private.

    Raises InvalidInputError for a format whose reader makes none, and what that one raises.
    """
    entry = entry_of(path)
    module, _, attribute = entry.data.get("schema_from_rows", "").partition(":")
    if entry.kind == STORE:
        raise InvalidInputError(f"The store {path} has its own schema; leave --schema-from-data.")
    if not attribute:
        raise InvalidInputError(f"The {entry.name} reader makes no schema of rows; write one.")
    from dpcore import Schema

    found = getattr(importlib.import_module(module), attribute)(path, target)
    if type(found) is not Schema:  # Another class might say of itself that it read no rows.
        raise InvalidInputError(f"The {entry.name} reader made no Schema of the rows; write one.")
    return replace(found, from_data=True)


def _named(form: str) -> Registration:
    known: dict[str, None] = {}
    for kind in (READER, STORE):
        for registry in Registry.in_turn(kind):
            entries = {entry.name: entry for entry in registry.in_order(kind)}
            if form in entries:
                return entries[form]
            known |= dict.fromkeys(entries)
    raise InvalidInputError(f"Unknown format {form!r}. Known: {', '.join(known)}.")


def loaded(entry: Registration) -> Any:
    """Return what a reader or a store of rows was registered as, imported now."""
    for registry in Registry.in_turn(entry.kind):
        if entry in registry.entries(entry.kind):
            return registry.load(entry.kind, entry.name)
    return load_registry(entry.kind).load(entry.kind, entry.name)


def store_of(path: str) -> RowStore | None:
    """Return the kind of store that a path names by its suffix; ``None`` if it names none."""
    registry, name = load_registry(STORE), path.lower()
    for entry in registry.in_order(STORE):
        if name.endswith(entry.data["suffixes"]):
            found: RowStore = registry.load(STORE, entry.name)
            return found
    return None

"""A schema as a document: the keys of its TOML text, and the text of a schema."""

from __future__ import annotations

import os
import tomllib
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError, replacing
from dpcore_tables.schemas.shipped import schema_text
from dpcore_tables.schemas.toml_writer import format_document

if TYPE_CHECKING:
    from dpcore import Schema

__all__ = ["schema_file", "schema_keys", "schema_toml"]


def schema_keys(text: str, source: str) -> dict[str, Any]:
    """Return the keys of TOML text; InvalidInputError names ``source`` if it is none."""

    def no_toml(error: Exception) -> InvalidInputError:
        return InvalidInputError(f"{source} is not TOML: {error}")

    with replacing(ValueError, RecursionError, by=no_toml):
        return tomllib.loads(text)


def schema_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the keys of a TOML file, or of the shipped schema of that name. A ledger in it is
    found from the folder of the file on, so that runs from any folder are charged to one.

    Raises InvalidInputError if it cannot be read, or is no TOML.
    """
    keys = schema_keys(schema_text(path), os.fspath(path))
    ledger = keys.get("ledger")
    if isinstance(ledger, str) and "://" not in ledger:  # The address of a server is as it is.
        folder = os.path.dirname(os.fspath(path))
        keys["ledger"] = os.path.abspath(os.path.join(folder, ledger))
    return keys


def schema_toml(schema: Schema) -> str:
    """Return the TOML text of a schema."""
    data = schema.to_dict() | {"wildcards": list(schema.wildcards)}
    if schema.wildcards == schema.with_a_star(schema.columns):
        del data["wildcards"]
    return format_document(data | {"columns": {c.name: c.to_dict() for c in schema.columns}})

"""Keys of a schema from a resource's ``dialect`` and ``encoding``: CSV Dialect of Frictionless Data
(specs.frictionlessdata.io, version 1) and Table Dialect (datapackage.org, version 2)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from dpcore.errors import InvalidInputError, replacing
from dpcore_tables.readers.code_pages import checked_encoding
from dpcore_tables.schemas.codebooks.description import refuse
from dpcore_tables.schemas.codebooks.json_document import table_at, text_at

__all__ = ["layout_of"]

_AS_READ: dict[str, tuple[Any, ...]] = {
    "quoteChar": ('"',),
    "doubleQuote": (True,),
    "escapeChar": (),
    "lineTerminator": ("\r\n", "\n"),
    "skipInitialSpace": (False,),
    "headerRows": ([1],),
    "commentRows": ([],),
    "commentChar": (),
}
"""Keys of a dialect that a schema has none for, with the values that files are read by."""
_SEPARATOR = re.compile(r"[\t !#-/:-@\[-`{-~]")
"""As the schema's: a tab, or printable, no letter, digit or quote."""


def layout_of(resource: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Return ``separator``, ``header`` and ``encoding`` of a schema, those that the resource of a
    text file says. Raises InvalidInputError with the key of a dialect that is not read."""
    dialect, where = table_at(resource, "dialect", source), f"{source}, key 'dialect'"
    for key, values in _AS_READ.items():
        if dialect.get(key) is not None and dialect[key] not in values:
            by = " or ".join(json.dumps(value) for value in values)
            what = f"files are read by {by} alone" if values else "no file is read by it"
            raise refuse(f"{where}, key {key!r}", f"{what}; save the file so, or leave it out")
    found: dict[str, Any] = {}
    if (separator := text_at(dialect, "delimiter", where)) is not None:
        if not _SEPARATOR.fullmatch(separator):
            raise refuse(f"{where}, key 'delimiter'", "expected a tab or one mark of ASCII")
        found["separator"] = separator
    if (header := dialect.get("header")) is not None:
        if not isinstance(header, bool):
            raise refuse(f"{where}, key 'header'", "expected true or false")
        found["header"] = header
    if (name := text_at(resource, "encoding", source)) is not None:
        with replacing(InvalidInputError, by=lambda _: _no_encoding(source)):
            found["encoding"] = checked_encoding(name)
    return found


def _no_encoding(source: str) -> InvalidInputError:
    what = "expected utf-8 or a code page of one byte for each letter; save the file as UTF-8"
    return refuse(f"{source}, key 'encoding'", what)

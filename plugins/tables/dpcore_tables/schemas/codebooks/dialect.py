"""Keys of a schema from a resource's ``dialect`` and ``encoding``. Dialects are the CSV Dialect of
Frictionless Data (specs.frictionlessdata.io, version 1), the Table Dialect (datapackage.org,
version 2), and the dialect descriptions of CSV on the Web (W3C, "Metadata Vocabulary for Tabular
Data", 2015, section 5.9)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from dpcore.errors import InvalidInputError, replacing
from dpcore_tables.readers.code_pages import checked_encoding
from dpcore_tables.schemas.codebooks.description import refuse
from dpcore_tables.schemas.codebooks.json_document import table_at, text_at

__all__ = ["layout_of", "sheet_of"]

_AS_READ: dict[str, tuple[Any, ...]] = {
    "quoteChar": ('"',),
    "doubleQuote": (True,),
    "escapeChar": (),
    "lineTerminator": ("\r\n", "\n"),
    "lineTerminators": ("\r\n", "\n", ["\r\n", "\n"], ["\n", "\r\n"], ["\r\n"], ["\n"]),
    "skipInitialSpace": (False,),
    "headerRows": ([1],),
    "commentRows": ([],),
    "commentChar": (),
    "commentPrefix": (),
    "skipRows": (0,),
    "skipColumns": (0,),
    "trim": (False, "false"),
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
    if (rows := dialect.get("headerRowCount")) is not None:
        if type(rows) is not int or rows not in (0, 1):
            raise refuse(f"{where}, key 'headerRowCount'", "files have one row of names, or none")
        if found.setdefault("header", rows == 1) != (rows == 1):
            raise refuse(f"{where}, key 'headerRowCount'", "'header' says otherwise")
    for keys, place in ((dialect, where), (resource, source)):
        if (name := text_at(keys, "encoding", place)) is not None:
            with replacing(InvalidInputError, by=partial(_no_encoding, place)):
                found["encoding"] = checked_encoding(name)
    return found


def sheet_of(resource: Mapping[str, Any], source: str) -> str | None:
    """Return the name of the sheet that a Table Dialect says; ``None`` where it says none. Raises
    InvalidInputError for one by its number, which moves with the others."""
    dialect, where = table_at(resource, "dialect", source), f"{source}, key 'dialect'"
    if dialect.get("sheetNumber") not in (None, 1):
        raise refuse(f"{where}, key 'sheetNumber'", "name the sheet, by sheetName")
    return text_at(dialect, "sheetName", where)


def _no_encoding(source: str, _: Exception) -> InvalidInputError:
    what = "expected utf-8 or a code page of one byte for each letter; save the file as UTF-8"
    return refuse(f"{source}, key 'encoding'", what)

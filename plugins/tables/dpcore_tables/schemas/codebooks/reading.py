"""The codebook in a file, whatever its form."""

from __future__ import annotations

import os
from pathlib import Path

from dpcore.errors import DataError, replacing
from dpcore_tables.schemas.codebooks.csvw import codebook_of_csvw, is_csvw
from dpcore_tables.schemas.codebooks.delimited import codebook_of_text
from dpcore_tables.schemas.codebooks.description import Codebook, refuse
from dpcore_tables.schemas.codebooks.frictionless import codebook_of_table_schema, is_table_schema
from dpcore_tables.schemas.codebooks.json_document import json_document
from dpcore_tables.schemas.codebooks.tables import codebook_of_toml

__all__ = ["read_codebook"]

_LARGEST = 2**25
_TABLES = (".xlsx", ".xls", ".xlsb", ".xlsm", ".ods", ".parquet", ".pq")


def read_codebook(path: str | os.PathLike[str], rows: str = "") -> Codebook:
    """Return the codebook of a file: TOML and JSON by its name's end, delimited text otherwise.

    ``rows`` : the name of the file of rows, for metadata of several files.
    Raises DataError for a file that cannot be read, InvalidInputError for what is no codebook, with
    its place and none of its text: the file of rows may have been named by mistake.
    """
    source = os.fspath(path)
    text = _text(source)
    if source.lower().endswith(".toml"):
        return codebook_of_toml(text, source)
    if not source.lower().endswith((".json", ".jsonld")):
        return codebook_of_text(text, source)
    document = json_document(text, source)
    if is_csvw(document):
        return codebook_of_csvw(document, source, rows)
    if is_table_schema(document):
        return codebook_of_table_schema(document, source, rows)
    raise refuse(source, "neither a Table Schema (fields) nor CSV on the Web (tableSchema)")


def _text(source: str) -> str:
    def unread(error: Exception) -> DataError:
        return DataError(f"{source} cannot be read ({type(error).__name__}).")

    if source.lower().endswith(_TABLES):
        raise refuse(source, "a codebook is CSV, TOML or JSON; save its table as CSV")
    with replacing(OSError, by=unread):
        if os.path.getsize(source) > _LARGEST:
            raise refuse(source, "this is larger than codebooks are")
        content = Path(source).read_bytes()
    broken = next((k for k, line in enumerate(content.split(b"\n"), 1) if not _is_utf8(line)), None)
    if broken is not None:
        raise refuse(f"{source}, line {broken}", "the bytes are not UTF-8; save the file as UTF-8")
    return content.decode("utf-8-sig")


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True

"""The names and declared types of columns, without a look at a row."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import pyarrow as pa

from dpcore import Schema
from dpcore.errors import InvalidInputError
from dpcore_tables.databases.rows import QueryRows
from dpcore_tables.files.formats import entry_of, format_of, is_named, is_store, loaded
from dpcore_tables.memory.frames import frame_schema
from dpcore_tables.raw.reader import ReadFacts
from dpcore_tables.readers.code_pages import UTF_8, checked_encoding, to_utf8
from dpcore_tables.readers.csv import read_header
from dpcore_tables.readers.excel import column_names
from dpcore_tables.readers.parquet import read_parquet_types
from dpcore_tables.readers.pieces import read_bytes
from dpcore_tables.readers.records import first_line, utf8_lines
from dpcore_tables.readers.separators import separator_in, separator_of

__all__ = ["ColumnType", "file_types", "frame_types", "query_types", "type_of"]

_ANY = Schema.from_dict(
    {"columns": {"a": {"kind": "boolean"}, "b": {"kind": "label", "classes": [0, 1]}}}
)
"""A schema for whoever asks for names alone."""
ColumnType: TypeAlias = Literal["number", "fraction", "boolean", "date", "text", "unknown"]


def frame_types(frame: Any) -> list[tuple[str, ColumnType]]:
    """Return names and types of a frame's columns; a column of objects has none."""
    return [(str(field.name), _declared(field.type)) for field in frame_schema(frame)]


def file_types(
    source: str, encoding: str = UTF_8, separator: str | None = None
) -> tuple[list[tuple[str, ColumnType]], str]:
    """Return names and types of a file's columns, those of a text file without one, and the
    separator of its cells, by the header where it is ``None``. ``encoding`` : of a text file.

    Raises DataError for a header that cannot be read, InvalidInputError for a format of no names.
    """
    form = format_of(source)
    if form == "csv":
        content = to_utf8(read_bytes(source), checked_encoding(encoding))
        utf8_lines(first_line(content)[0], source)
        if separator is None:
            header = read_header(content, source, separator_of(source, form))
            separator = separator_in(source, form, header)
        header = read_header(content, source, separator)
        return [(name, "unknown") for name in header], separator
    if is_store(source, form):
        raise InvalidInputError(
            f"The store {source} has its own schema, which `dpcore schema {source}` prints; "
            "nothing is to be read off its rows."
        )
    if form == "excel":
        return [(name, "unknown") for name in column_names(source)], ","
    if form not in ("parquet", "whitespace") and is_named(source, form):
        raise InvalidInputError(
            f"A {form} file says no types of its columns to dpcore: write its schema by hand, "
            "whose keys `dpcore schema --help-keys` lists."
        )
    if form != "parquet":
        raise InvalidInputError(
            f"A {form} file has no column names; `dpcore schema` without --from-data writes a "
            "template with its width."
        )
    return [(name, _declared(kind)) for name, kind in read_parquet_types(source)], ","


def query_types(source: str) -> list[tuple[str, ColumnType]]:
    """Return names and types of the columns of a query's result, as the database declares them,
    without a look at a row. Raises as its reader does."""
    opened = loaded(entry_of(source))(source, ReadFacts(_ANY, promised=False))
    kinds = opened.types() if isinstance(opened, QueryRows) else [(n, None) for n in opened.names()]
    return [(name, "unknown" if kind is None else _declared(kind)) for name, kind in kinds]


def type_of(kind: pa.DataType) -> ColumnType:
    """Return what a declared type says of a column."""
    if pa.types.is_null(kind):
        return "unknown"
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return "date"
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return "number" if any(test(kind) for test in tests) else "text"


def _declared(kind: pa.DataType) -> ColumnType:
    """Return what ``type_of`` does, and of numbers whether they are declared to be fractions."""
    is_decimal = pa.types.is_decimal(kind) and kind.scale > 0
    return "fraction" if pa.types.is_floating(kind) or is_decimal else type_of(kind)

"""Codebooks as CSV on the Web has them (W3C, "Metadata Vocabulary for Tabular Data", 2015)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from dpcore_tables.schemas.codebooks.description import Codebook, Description, bound_of, refuse
from dpcore_tables.schemas.codebooks.json_document import (
    list_of_tables,
    table_at,
    text_at,
    words_at,
)
from dpcore_tables.schemas.column_table import Known

__all__ = ["codebook_of_csvw", "is_csvw"]

_TYPES = {
    **dict.fromkeys(("number", "decimal", "double", "float"), "number"),
    **dict.fromkeys(
        """integer long int short byte nonNegativeInteger positiveInteger nonPositiveInteger
        negativeInteger unsignedLong unsignedInt unsignedShort unsignedByte gYear""".split(),
        "integer",
    ),
    "boolean": "boolean",
    **dict.fromkeys(("date", "datetime", "dateTime", "dateTimeStamp"), "date"),
    **dict.fromkeys(("string", "normalizedString", "token", "Name"), "text"),
}
_LOWEST = ("minimum", "minInclusive", "minExclusive")
_HIGHEST = ("maximum", "maxInclusive", "maxExclusive")
_DIRECTIVES = {"yyyy": "%Y", "MM": "%m", "M": "%m", "dd": "%d", "d": "%d", "HH": "%H", "mm": "%M"}
_LETTERS = re.compile(r"([A-Za-z])\1*")


def is_csvw(document: Mapping[str, Any]) -> bool:
    """Return whether a document says that it is CSV on the Web's, or has its parts."""
    return any(key in document for key in ("tableSchema", "tables")) or "csvw" in str(
        document.get("@context")
    )


def codebook_of_csvw(document: Mapping[str, Any], source: str, rows: str) -> Codebook:
    """Return the entries of the columns of a table; of several tables, of that whose ``url`` is of
    the file ``rows``. Raises InvalidInputError with the column and its key."""
    table = document
    if "tables" in document:
        found = list_of_tables(document, "tables", source)
        if len(found) > 1:
            urls = [text_at(each, "url", source) or "" for each in found]
            ends = [unquote(url).rpartition("/")[2] for url in urls]
            found = [each for each, end in zip(found, ends, strict=True) if end == rows]
        if len(found) != 1:
            raise refuse(f"{source}, key 'tables'", "not one of them has the file of the rows")
        table = found[0]
    schema = table_at(table, "tableSchema", source)
    inherited = {
        key: each[key] for each in (document, table, schema) for key in _INHERITED if key in each
    }
    columns = list_of_tables(schema, "columns", source)
    entries = tuple(
        _entry({**inherited, **column}, f"{source}, column {k}")
        for k, column in enumerate(columns, 1)
        if column.get("virtual") is not True
    )
    # A table's own dialect takes the place of the group's.
    described = next((each for each in (table, document) if "dialect" in each), {})
    return Codebook(source, entries, resource=described and {"dialect": described["dialect"]})


_INHERITED = ("datatype", "null")


def _entry(column: Mapping[str, Any], where: str) -> Description:
    names = _names(column, where)
    if not names:
        raise refuse(where, "neither titles nor a name")
    datatype = column.get("datatype", "string" if "datatype" in column else "")
    if isinstance(datatype, str):
        datatype = {"base": datatype}
    if not isinstance(datatype, dict):
        raise refuse(f"{where}, key 'datatype'", "expected a text or an object")
    kind = _TYPES.get(text_at(datatype, "base", where) or "string" * bool(datatype), "")
    lower, upper = (
        bound_of(_first(datatype, ends), kind, f"{where}, key {ends[0]!r}")
        for ends in (_LOWEST, _HIGHEST)
    )
    missing = tuple(word for word in words_at(column, "null", where) if word)
    form: Any = datatype.get("format")
    truths: Any = ((), ())
    if kind == "boolean" and isinstance(form, str) and form.count("|") == 1:
        true, false = form.split("|")
        truths = (false.strip(),), (true.strip(),)
    elif kind == "boolean":
        truths = ("false", "0"), ("true", "1")
    form = _strftime(form) if kind == "date" and isinstance(form, str) else None
    empty = column.get("required") is False
    return Description(names, where, Known(kind, lower, upper, (), missing, form, truths, empty))


def _names(column: Mapping[str, Any], where: str) -> tuple[str, ...]:
    """Return the titles of a column, in whatever language, and its name."""
    titles = column.get("titles", [])
    of_languages = titles.values() if isinstance(titles, dict) else [titles]
    found: list[str] = []
    for each in of_languages:
        found += words_at({"titles": each}, "titles", where)
    name = text_at(column, "name", where)
    return (*found, *([] if name is None else [unquote(name)]))


def _first(table: Mapping[str, Any], keys: tuple[str, ...]) -> object:
    return next((table[key] for key in keys if key in table), None)


def _strftime(pattern: str) -> str | None:
    """Return the format of a date pattern such as dd.MM.yyyy; ``None`` for one with other parts."""
    letters = [found[0] for found in _LETTERS.finditer(pattern)]
    if "%" in pattern or not set(letters) <= {*_DIRECTIVES, "T"}:
        return None
    form = _LETTERS.sub(lambda found: _DIRECTIVES.get(found[0], found[0]), pattern)
    return form if form != "%Y-%m-%d" else None

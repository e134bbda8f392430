"""Codebooks in TOML, a table for each column::

[columns]
age = { type = "integer", lower = 18, upper = 90 }
vote = { labels = { 0 = "Clinton", 1 = "Dole" } }
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpcore_tables.schemas.codebooks.description import (
    Codebook,
    Description,
    bound_of,
    refuse,
    type_named,
    values_of,
)
from dpcore_tables.schemas.column_table import Known
from dpcore_tables.schemas.documents import schema_keys

__all__ = ["codebook_of_toml"]

_KEYS = ("type", "lower", "upper", "labels", "missing", "format", "empty")


def codebook_of_toml(text: str, source: str) -> Codebook:
    """Return the entries of ``[columns]``, a table of tables. Labels are a list of values, or a
    table of words by value.

    Raises InvalidInputError with the line of what is no TOML, and with the entry and its key.
    """
    document = schema_keys(text, source)
    columns = document.get("columns")
    if not isinstance(columns, Mapping) or not columns:
        raise refuse(source, "expected a table [columns], as in age = { lower = 18, upper = 90 }")
    entries = []
    for place, (name, table) in enumerate(columns.items(), 1):
        where = f"{source}, entry {place}"
        if not isinstance(table, Mapping) or not set(table) <= set(_KEYS):
            raise refuse(where, f"expected a table of {', '.join(_KEYS)}")
        entries.append(Description((name,), where, _known(table, where)))
    return Codebook(source, tuple(entries))


def _known(table: Mapping[str, Any], where: str) -> Known:
    kind = type_named(table.get("type"), f"{where}, key 'type'")
    lower, upper = (
        bound_of(table.get(key), kind, f"{where}, key {key!r}") for key in ("lower", "upper")
    )
    labels, missing = table.get("labels", []), table.get("missing", [])
    if not isinstance(labels, (list, Mapping)):
        raise refuse(f"{where}, key 'labels'", "expected a list of values, or a table of words")
    if not isinstance(missing, list) or not all(isinstance(word, str) for word in missing):
        raise refuse(f"{where}, key 'missing'", "expected a list of texts")
    form = table.get("format")
    if form is not None and not isinstance(form, str):
        raise refuse(f"{where}, key 'format'", "expected a text")
    empty = table.get("empty", False)
    if not isinstance(empty, bool):
        raise refuse(f"{where}, key 'empty'", "expected true or false")
    values = values_of(labels, kind, f"{where}, key 'labels'")
    return Known(kind, lower, upper, values, tuple(missing), form, has_empty=empty)

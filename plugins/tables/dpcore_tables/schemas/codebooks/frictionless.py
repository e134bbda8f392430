"""Codebooks as Table Schema of Frictionless Data has them (specs.frictionlessdata.io, version 1 and
datapackage.org, version 2): a schema, the resource that has it, or a package of resources."""

from __future__ import annotations

import os
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
from dpcore_tables.schemas.codebooks.json_document import (
    list_of_tables,
    table_at,
    text_at,
    words_at,
)
from dpcore_tables.schemas.column_table import Known

__all__ = ["codebook_of_table_schema", "is_table_schema"]

_TYPES = {
    "string": "text",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
    "date": "date",
    "datetime": "date",
    "year": "integer",
}
"""Types of fields and those of a codebook; the others (geopoint, object, ...) say nothing here."""
_FALSE, _TRUE = ("false", "False", "FALSE", "0"), ("true", "True", "TRUE", "1")
_LOWEST, _HIGHEST = ("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")


def is_table_schema(document: Mapping[str, Any]) -> bool:
    """Return whether a document is a schema of fields, a resource with one, or a package."""
    return any(key in document for key in ("fields", "schema", "resources"))


def codebook_of_table_schema(document: Mapping[str, Any], source: str, rows: str) -> Codebook:
    """Return the entries of a Table Schema. ``rows`` : the name of the file, which one of several
    resources has. Raises InvalidInputError with the field and its key."""
    resource = _resource_in(document, source, rows)
    schema = resource if "fields" in resource else table_at(resource, "schema", source)
    fields = list_of_tables(schema, "fields", source)
    keys = _one_key(schema.get("primaryKey"))
    entries = tuple(
        _entry(field, f"{source}, field {k}", keys) for k, field in enumerate(fields, 1)
    )
    of_all = _keys(schema, fields, source)
    if empty := text_at(table_at(resource, "dialect", source), "nullSequence", source):
        of_all["missing"] = [*dict.fromkeys([*of_all.get("missing", [""]), empty])]
    return Codebook(source, entries, of_all, resource)


def _resource_in(document: Mapping[str, Any], source: str, rows: str) -> Mapping[str, Any]:
    if "resources" in document:
        found = list_of_tables(document, "resources", source)
        if len(found) > 1:
            paths = [words_at(each, "path", source) for each in found]
            fits = [any(os.path.basename(path) == rows for path in each) for each in paths]
            found = [each for each, fit in zip(found, fits, strict=True) if fit]
        if len(found) != 1:
            raise refuse(f"{source}, key 'resources'", "not one of them has the file of the rows")
        document = found[0]
    return document


def _entry(field: Mapping[str, Any], where: str, keys: tuple[str, ...]) -> Description:
    name = text_at(field, "name", where)
    if not name:
        raise refuse(f"{where}, key 'name'", "no name of a column")
    kind = _TYPES.get(text_at(field, "type", where) or "", "")
    allowed = table_at(field, "constraints", where)
    lower, upper = (
        bound_of(_first(allowed, ends), kind, f"{where}, key {ends[0]!r}")
        for ends in (_LOWEST, _HIGHEST)
    )
    listed = field.get("categories", allowed.get("enum", []))
    labels = [x.get("value") if isinstance(x, dict) else x for x in _list(listed, where)]
    values = values_of(labels, kind, f"{where}, key 'enum'")
    kind = "ordinal" if field.get("categoriesOrdered") is True and values else kind
    if name in keys:
        kind = type_named("drop", where)
    form = text_at(field, "format", where)
    form = form if kind == "date" and form and "%" in form else None
    truths: Any = ((), ())
    if kind == "boolean":
        truths = words_at(field, "falseValues", where) or _FALSE, _true_words(field, where)
    missing, empty = words_at(field, "missingValues", where), allowed.get("required") is False
    known = Known(kind, lower, upper, values, missing, form, truths, empty)
    return Description((name,), where, known)


def _true_words(field: Mapping[str, Any], where: str) -> tuple[str, ...]:
    return words_at(field, "trueValues", where) or _TRUE


def _list(found: object, where: str) -> list[Any]:
    if not isinstance(found, list):
        raise refuse(f"{where}, key 'enum'", "expected a list of values")
    return found


def _first(table: Mapping[str, Any], keys: tuple[str, ...]) -> object:
    return next((table[key] for key in keys if key in table), None)


def _one_key(found: object) -> tuple[str, ...]:
    """Return the name of the field that tells rows apart by itself, if there is one."""
    keys = [found] if isinstance(found, str) else found
    return tuple(keys) if isinstance(keys, list) and len(keys) == 1 and str(keys[0]) else ()


def _keys(
    schema: Mapping[str, Any], fields: list[Mapping[str, Any]], source: str
) -> dict[str, Any]:
    """Return the keys of the whole schema: words for no value, and how numbers are written."""
    keys: dict[str, Any] = {}
    missing = words_at(schema, "missingValues", source)
    if missing not in ((), ("",)):
        keys["missing"] = [*missing]
    for said, key in (("decimalChar", "decimal"), ("groupChar", "thousands")):
        marks = {text_at(field, said, source) for field in fields if said in field}
        if len(marks) > 1:
            raise refuse(f"{source}, key {said!r}", "fields differ; a schema has one for all")
        if mark := next(iter(marks), None):
            keys[key] = mark
    return keys

"""Documents in JSON, and values of their keys, each checked as it is read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dpcore.errors import InvalidInputError, replacing
from dpcore_tables.schemas.codebooks.description import refuse

__all__ = ["json_document", "list_of_tables", "table_at", "text_at", "words_at"]


def json_document(text: str, source: str) -> Mapping[str, Any]:
    """Return the object that JSON text is; InvalidInputError, with the line, for anything else."""

    def no_json(error: Exception) -> InvalidInputError:
        at = error if isinstance(error, json.JSONDecodeError) else None
        place = f", line {at.lineno}, column {at.colno}" if at else ""
        return refuse(f"{source}{place}", "this is no JSON, or it has a key twice")

    with replacing(ValueError, RecursionError, by=no_json):
        found = json.loads(text, object_pairs_hook=_each_once)
    if not isinstance(found, dict):
        raise refuse(source, "expected an object of JSON")
    return found


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError
    return table


def table_at(table: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    """Return the object of a key, an empty one where it is not there."""
    found = table.get(key, {})
    if not isinstance(found, dict):
        raise refuse(f"{where}, key {key!r}", "expected an object")
    return found


def list_of_tables(table: Mapping[str, Any], key: str, where: str) -> list[Mapping[str, Any]]:
    """Return the objects that a key lists, at least one."""
    found = table.get(key)
    if not isinstance(found, list) or not found or not all(isinstance(x, dict) for x in found):
        raise refuse(f"{where}, key {key!r}", "expected a list of objects")
    return found


def text_at(table: Mapping[str, Any], key: str, where: str) -> str | None:
    """Return the text of a key, ``None`` where it is not there."""
    found = table.get(key)
    if found is not None and not isinstance(found, str):
        raise refuse(f"{where}, key {key!r}", "expected a text")
    return found


def words_at(table: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    """Return the texts that a key lists, or the one text that it is."""
    found = table.get(key, [])
    words = [found] if isinstance(found, str) else found
    # The second version of Table Schema lists words with a label each.
    if isinstance(words, list):
        words = [word.get("value") if isinstance(word, dict) else word for word in words]
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise refuse(f"{where}, key {key!r}", "expected a list of texts")
    return tuple(words)

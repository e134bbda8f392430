"""A schema as TOML text: scalars, lists, and one inline table per column."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

__all__ = ["format_document", "format_table", "format_value"]

_WIDTH = 100


def format_document(data: Mapping[str, Any]) -> str:
    """Return TOML of ``data``: scalars first, then each table as a section of inline tables, and
    each list of tables as sections of the same name."""
    nested = {name: value for name, value in data.items() if _is_table(value) or _has_tables(value)}
    lines = [f"{_key(k)} = {format_value(v)}" for k, v in data.items() if k not in nested]
    for name, value in nested.items():
        if _is_table(value):
            lines += ["", f"[{_key(name)}]"]
            lines += [f"{_key(k)} = {format_table(v)}" for k, v in value.items()]
        else:
            for table in value:
                lines += ["", f"[[{_key(name)}]]"]
                lines += [f"{_key(k)} = {format_value(v)}" for k, v in table.items()]
    return "\n".join(lines) + "\n"


def format_table(table: Mapping[str, Any]) -> str:
    """Return an inline table; a long list in it is broken over lines, as TOML 1.0 allows."""
    return "{ " + ", ".join(f"{_key(k)} = {format_value(v)}" for k, v in table.items()) + " }"


def format_value(value: Any) -> str:
    """Return a TOML value: text, bool, whole or finite number, or a list of these."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return _list([format_value(item) for item in value])
    if isinstance(value, str):
        # A JSON string in ASCII is a TOML basic string, but for surrogate pairs and DEL.
        return "".join(_character(c) for c in json.dumps(value, ensure_ascii=False))
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return str(int(value)) if abs(value) < 2**53 else repr(value)
    return repr(value)


def _list(items: list[str]) -> str:
    if sum(map(len, items)) + 2 * len(items) < _WIDTH // 2:
        return f"[{', '.join(items)}]"
    lines = [""]
    for item in items:
        if len(lines[-1]) + len(item) + 6 > _WIDTH:
            lines.append("")
        lines[-1] += f" {item},"
    return "[\n" + "".join(f"   {line}\n" for line in lines) + "]"


def _character(c: str) -> str:
    return f"\\u{ord(c):04X}" if ord(c) == 0x7F else c


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("_", "a").replace("-", "a").isalnum()
    return name if bare else format_value(name)


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping)


def _has_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_table, value))

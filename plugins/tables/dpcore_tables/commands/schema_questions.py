"""``dpcore schema --interactive``: questions about columns, a key or a number each.

Asked are what neither types nor a codebook say. No row is read, so that no question and no answer
depends on a cell.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from datetime import date
from typing import Any, TypeVar

from dpcore import Schema
from dpcore.errors import InvalidInputError
from dpcore.plugin.commands import print_lines
from dpcore_tables.schemas.codebooks.description import values_of
from dpcore_tables.schemas.column_table import is_filled
from dpcore_tables.schemas.template import Columns, check_target, column_lines
from dpcore_tables.schemas.toml_writer import format_value

__all__ = ["asked_schema"]

T = TypeVar("T")
_KINDS = {
    "n": ("numeric", "a number"),
    "c": ("categorical", "categories"),
    "b": ("boolean", "true or false"),
    "o": ("ordinal", "levels in an order"),
    "d": ("date", "a date"),
    "x": ("drop", "not used"),
}
_LABELS = {
    "c": "classes, the negative one first",
    "p": "some values against all others",
    "n": "a number to be predicted",
}


def asked_schema(target: str | None, columns: Columns) -> str:
    """Return the TOML of a schema of these columns, whose open keys are asked for: on standard
    error, and answered in lines of standard input.

    Raises InvalidInputError where the answers end before the schema is whole, and as
    ``schema_template``.
    """
    check_target(target, columns.names, columns.source)
    label = _label_asked(columns) if target is None else target
    tables = columns.tables(label)
    tables[label] = _label_table(label, tables[label])
    still_open = [name for name, table in tables.items() if not is_filled(table)]
    for place, name in enumerate(still_open, 1):
        tables[name] = _table_asked(f"{name} ({place} of {len(still_open)})", tables[name])
    rows = _asked("Rows, as a public number, or Enter", _whole_or_none)
    keys = {**({} if rows is None else {"rows": rows}), **columns.keys}
    lines = [f"{key} = {format_value(value)}" for key, value in keys.items()]
    listed = column_lines(tables, label, columns.keys.get("header", True))
    text = "\n".join([*lines, *([""] if lines else []), *listed]) + "\n"
    Schema.from_toml(text, "the schema of these answers")
    return text


def _label_asked(columns: Columns) -> str:
    print_lines(*(f"  {k} {name}" for k, name in enumerate(columns.names, 1)), err=True)
    place = _asked("Which column is to be predicted? Its number", _between(1, len(columns.names)))
    return columns.names[place - 1]


def _label_table(name: str, table: dict[str, Any]) -> dict[str, Any]:
    """Return the label's keys: classes that are known are as they are, bounds may be left."""
    if "classes" in table and is_filled(table):
        return table
    is_bounded = "lower" in table and is_filled(table)
    ends = f" from {table['lower']} to {table['upper']}" if is_bounded else ""
    default = "n" if "lower" in table else None  # by its type or the codebook
    known = f", or Enter: a number{ends}" if default else ""
    others = {key: value for key, value in table.items() if key in ("missing",)}
    key = _key_asked(f"{name}, to be predicted", _LABELS, default, known)
    if key == "n":
        return table if is_bounded else {"kind": "label", **_bounds_asked(_number), **others}
    least = 2 if key == "c" else 1
    values = _asked("Its values, with commas between", lambda text: _values(text, least))
    return {"kind": "label", {"c": "classes", "p": "positive"}[key]: values, **others}


def _table_asked(title: str, table: dict[str, Any]) -> dict[str, Any]:
    """Return a column's keys."""
    of_kinds = {kind: key for key, (kind, _) in _KINDS.items()}
    default = of_kinds.get(table["kind"])
    known = f", or Enter: {_KINDS[default][1]}" if default else ""
    key = _key_asked(title, {k: said for k, (_, said) in _KINDS.items()}, default, known)
    kind = _KINDS[key][0]
    found: dict[str, Any] = {"kind": kind}
    if key in "nd":
        given = table if key == default else {}
        found |= _bounds_asked(_number if key == "n" else _date, given)
    elif key in "co":
        name = {"c": "categories", "o": "levels"}[key]
        found[name] = _asked("Its values, with commas between", lambda text: _values(text, 1))
    return found | {k: table[k] for k in ("missing", "format") if k in table and key == default}


def _bounds_asked(
    parse: Callable[[str], Any], given: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return bounds; those that are given are not asked for."""
    found: dict[str, Any] = {}
    for end in ("lower", "upper"):
        known = (given or {}).get(end)
        if known is not None and is_filled({end: known}):
            found[end] = known
        else:
            found[end] = _asked(f"  {end} bound", parse)
    ends = found["lower"], found["upper"]
    if "private" in ends or ends[0] < ends[1]:
        return found
    print_lines("  Expected the lower bound below the upper one.", err=True)
    return _bounds_asked(parse)


def _key_asked(title: str, keys: dict[str, str], default: str | None, known: str) -> str:
    listed = ", ".join(f"{key} {said}" for key, said in keys.items())

    def parse(text: str) -> str:
        key = text.lower() or default
        if key not in keys:
            raise ValueError(f"one of the keys {' '.join(keys)}")
        return str(key)

    return _asked(f"{title}: {listed}{known}", parse)


def _asked(question: str, parse: Callable[[str], T]) -> T:
    """Return an answer, asked for until it can be parsed; what is expected is said, not what was
    answered."""
    while True:
        print_lines(f"{question}:", err=True)
        line = sys.stdin.readline()
        if not line:
            raise InvalidInputError(
                "The answers ended before the schema was whole, so that none is written."
            )
        expected = ""
        try:
            return parse(line.strip())
        except ValueError as error:
            expected = str(error.args[0])
        print_lines(f"  Expected {expected}.", err=True)


def _number(text: str) -> float | str:
    """Return a bound: a number, or ``p``, which lets a fit release it."""
    if text.lower() == "p":
        return "private"
    expected = "a number, or p: a fit releases it, for a tenth of its budget"
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(expected)
    return number


def _date(text: str) -> str:
    try:
        return str(date.fromisoformat(text))
    except ValueError:
        pass
    raise ValueError("a date, as in 2024-02-29")


def _values(text: str, least: int) -> list[Any]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    if len(words) < least or len(set(words)) < len(words):
        raise ValueError(f"{least} or more values, each once, with commas between them")
    if "," not in text and any(mark in words[0] for mark in " |;"):
        raise ValueError("values with commas between them; behind a single one, a comma too")
    return [*values_of(words, "", "the answer")]


def _between(lower: int, upper: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not (text.isdecimal() and len(text) < 9 and lower <= int(text) <= upper):
            raise ValueError(f"a whole number from {lower} to {upper}")
        return int(text)

    return parse


def _whole_or_none(text: str) -> int | None:
    if not text:
        return None
    if not (text.isdecimal() and 0 < len(text) < 12 and int(text) > 0):
        raise ValueError("a whole number, or nothing")
    return int(text)

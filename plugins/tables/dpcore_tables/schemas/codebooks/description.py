"""A codebook's entry for a column, and the keys of a schema that follow from it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from dpcore.errors import InvalidInputError
from dpcore.plugin.columns import Entry
from dpcore_tables.schemas.column_table import Known

__all__ = ["Codebook", "Description", "bound_of", "refuse", "type_named", "values_of"]

_WORDS = {
    "number": "number numeric float double double precision real decimal",
    "integer": "integer int long short byte count year",
    "boolean": "boolean bool logical",
    "date": "date datetime timestamp",
    "text": "text string str character char",
    "category": "category categorical factor nominal enum",
    "ordinal": "ordinal ordered",
    "hashed": "hashed",
    "drop": "drop id identifier key derived",
}
_TYPES = {word: kind for kind, words in _WORDS.items() for word in words.split()}
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_PLAIN = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
"""A number without leading zeros, so that a postal code stays text."""


@dataclass(frozen=True)
class Description:
    """An entry for a column.

    Parameters
    ----------
    names : that a file may have for the column, the likeliest first.
    where : the entry is, as in ``"book.csv, line 3"``.
    known : of the column.
    """

    names: tuple[str, ...]
    where: str
    known: Known


@dataclass(frozen=True)
class Codebook:
    """The entries of a codebook, and keys of the whole schema, such as ``missing``. ``resource`` :
    what says how a file of text is written (``layout_of``)."""

    source: str
    entries: tuple[Description, ...]
    keys: Mapping[str, Any] = field(default_factory=dict)
    resource: Mapping[str, Any] = field(default_factory=dict)

    def of_columns(self, names: Iterable[str]) -> dict[str, Known]:
        """Return what is known of a file's columns, by name; columns without an entry are left out.

        Raises InvalidInputError, with the place in the codebook and none of its text, where two
        entries are of one column, and where none is of any: it is another file's.
        """
        found: dict[str, Known] = {}
        present = set(names)
        for entry in self.entries:
            name = next((name for name in entry.names if name in present), None)
            if name is None:
                continue
            if name in found:
                raise InvalidInputError(f"{entry.where}: column {name!r} has an entry already.")
            found[name] = entry.known
        if not found:
            raise InvalidInputError(
                f"{self.source} describes none of the columns of the rows; it may be the codebook "
                "of another file, or no codebook."
            )
        return found


def refuse(where: str, what: str) -> InvalidInputError:
    """Return the error of an entry; it has no text of the codebook, for which rows may be taken."""
    return InvalidInputError(f"{where}: {what}.")


def type_named(word: object, where: str) -> str:
    """Return a type by one of its words, empty for none."""
    if word in (None, ""):
        return ""
    kind = _TYPES.get(word.strip().lower()) if isinstance(word, str) else None
    if kind is None:
        raise refuse(where, f"expected a type, one of {', '.join(_WORDS)}, or none")
    return kind


def bound_of(value: object, kind: str, where: str) -> float | int | str | None:
    """Return a lower or upper bound, a date as text; ``None`` for none."""
    if value in (None, "") or isinstance(value, str) and not value.strip():
        return None
    if kind == "date":
        try:
            # Of a time stamp the day.
            return str(date.fromisoformat(str(value).strip()[:10]))
        except ValueError:
            pass
        raise refuse(where, "expected a date, as in 2024-02-29, or nothing")
    number = _as_number(value)
    if number is None:
        raise refuse(where, "expected a finite number, or nothing")
    return number


def values_of(values: Iterable[object], kind: str, where: str) -> tuple[Any, ...]:
    """Return labels: numbers where all are written as such and the type is not text, else text."""
    found: list[Any] = []
    for value in values:
        if not isinstance(value, (str, bool, int, float)):
            raise refuse(where, "expected labels to be texts or numbers")
        found.append(value.strip() if isinstance(value, str) else value)
    if "" in found or Entry.PLACEHOLDER in found:
        raise refuse(where, "a label is empty, or still to be filled in")
    numbers = [_as_number(value, _PLAIN) for value in found]
    if kind not in ("text", "boolean") and None not in numbers:
        found = [*numbers]
    elif any(not isinstance(value, str) for value in found):
        found = [str(v).lower() if isinstance(v, bool) else str(v) for v in found]
    if len(set(found)) < len(found):
        raise refuse(where, "two labels are equal")
    return tuple(found)


def _as_number(value: object, pattern: re.Pattern[str] = _NUMBER) -> int | float | None:
    """Return a number, whole where it is; ``None`` for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if isinstance(value, str) and not pattern.fullmatch(value.strip()):
        return None
    if isinstance(value, int) and abs(value) >= 2**53 or isinstance(value, str) and len(value) > 99:
        return None
    number = float(value)
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() and abs(number) < 2**53 else number

"""Codebooks in delimited text, a line for each column::

column,type,lower,upper,labels,missing
age,integer,18,90,,-9
city,category,,,Bern | Basel | Genf,
vote,,,,0=Clinton | 1=Dole,
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence

from dpcore.errors import InvalidInputError, replacing
from dpcore_tables.readers.separators import likely_separator
from dpcore_tables.schemas.codebooks.description import (
    Codebook,
    Description,
    bound_of,
    refuse,
    type_named,
    values_of,
)
from dpcore_tables.schemas.column_table import Known

__all__ = ["codebook_of_text"]

_HEADS = {
    "column": ("column", "name", "variable", "field"),
    "type": ("type", "kind"),
    "lower": ("lower", "minimum", "min"),
    "upper": ("upper", "maximum", "max"),
    "labels": ("labels", "values", "categories"),
    "missing": ("missing",),
    "format": ("format",),
    "empty": ("empty",),
}
_LABEL = re.compile(r"([\w.+-]+)\s*=\s*\S.*", re.DOTALL)
"""A value, and a word for it. What has another sign before ``=`` is a value, as in <=50K."""


def codebook_of_text(text: str, source: str) -> Codebook:
    """Return the entries of delimited text with a header, whose further columns are left out.

    Labels and missing words are separated by a bar or a semicolon; of a label ``value=word`` the
    value is what cells have. Raises InvalidInputError with line and column, without the text.
    """
    records = _records(text, source)
    _, header = next(records, (1, []))
    places = _places(header, source)
    entries = []
    for line, cells in records:
        if len(cells) != len(header):
            what = f"{len(cells)} cells, expected {len(header)}"
            raise refuse(f"{source}, line {line}", what)
        given = {key: cells[place].strip() for key, place in places.items()}
        if any(given.values()):
            entries.append(_entry(given, f"{source}, line {line}"))
    return Codebook(source, tuple(entries))


def _records(text: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the first line of each record that is not blank, and its cells."""
    first = text.lstrip("\r\n").splitlines()[:1] or [""]
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=likely_separator(first) or ",", strict=True
    )
    line = 1

    def cut(_: Exception) -> InvalidInputError:
        return refuse(f"{source}, line {line}", "a cell cannot be read, perhaps for an open quote")

    with replacing(csv.Error, by=cut):
        for cells in reader:
            if any(map(str.strip, cells)):
                yield line, cells
            line = reader.line_num + 1


def _places(header: Sequence[str], source: str) -> dict[str, int]:
    heads = [head.strip().lower() for head in header]
    places: dict[str, int] = {}
    for key, names in _HEADS.items():
        found = [place for place, head in enumerate(heads) if head in names]
        if len(found) > 1:
            raise refuse(f"{source}, line 1", f"two columns are for {key!r}")
        places |= dict.fromkeys([key] * len(found), *found) if found else {}
    if "column" not in places or len(places) == 1:
        raise refuse(
            f"{source}, line 1",
            "expected the header of a codebook: column, and type, lower, upper, labels, missing, "
            "empty or format",
        )
    return places


def _entry(given: dict[str, str], where: str) -> Description:
    name = given["column"]
    if not name:
        raise refuse(where, "no name of a column")
    kind = type_named(given.get("type"), f"{where}, column 'type'")
    lower, upper = (
        bound_of(given.get(key), kind, f"{where}, column {key!r}") for key in ("lower", "upper")
    )
    if isinstance(lower, int | float) and isinstance(upper, int | float) and lower >= upper:
        raise refuse(where, "column 'lower' has no number below that of column 'upper'")
    words = [_value(word) for word in _split(given.get("labels", ""))]
    if len(words) == 1 and "," in words[0]:
        raise refuse(f"{where}, column 'labels'", "one label, with a comma: put | between labels")
    labels = values_of(words, kind, f"{where}, column 'labels'")
    missing, form = tuple(_split(given.get("missing", ""))), given.get("format") or None
    empty = _flag(given.get("empty", ""), f"{where}, column 'empty'")
    known = Known(kind, lower, upper, labels, missing, form, has_empty=empty)
    return Description((name,), where, known)


def _flag(word: str, where: str) -> bool:
    if word.lower() not in ("", "yes", "no"):
        raise refuse(where, "expected yes or no, or nothing")
    return word.lower() == "yes"


def _split(text: str) -> list[str]:
    return [word.strip() for word in re.split(r"[|;]", text) if word.strip()]


def _value(word: str) -> str:
    found = _LABEL.fullmatch(word)
    return found[1] if found else word

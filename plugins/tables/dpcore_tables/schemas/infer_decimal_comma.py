"""A text table whose numbers have a decimal comma, as its rows show: for schemas off the rows."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dpcore.plugin.columns import Notation

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["with_notation"]

_COMMA, _BOTH = Notation(decimal=","), Notation(decimal=",", thousands=".")
_TOLD = (
    "dpcore: warning: numbers with a comma, as in column %r, are taken for decimals: the schema "
    'has decimal = ","%s.'
)


def with_notation(read: Callable[[str], pa.Table]) -> tuple[pa.Table, Notation]:
    """Return a table, its columns of numbers as such, and the notation that they are written in.

    ``read(decimal)`` : reads the table, with that character before decimals.

    Numbers have a decimal comma where a column of text has only such numbers and every column of
    numbers remains one; the ``dpcore`` logger is told of it. Otherwise the table is read with a
    point.
    """
    table = read(".")
    name = next((name for name in table.column_names if _has_commas(table[name])), None)
    if name is None:
        return table, Notation()
    other, notation = read(","), _COMMA
    for place, given in enumerate(other.columns):
        if (words := _words(given)) and _are_numbers(words, _BOTH):
            other = other.set_column(place, other.column_names[place], _numbers(given))
            notation = _BOTH
        elif words and not _words(table.column(place)):
            return table, Notation()
    also = ' and thousands = "."' if notation is _BOTH else ""
    logging.getLogger("dpcore").warning(_TOLD, name, also)
    return other, notation


def _has_commas(array: Any) -> bool:
    words = _words(array)
    return any("," in word for word in words) and _are_numbers(words, _BOTH)


def _words(array: Any) -> set[str]:
    """Return the distinct words of a column of text that are no usual words for no value."""
    import pyarrow as pa
    import pyarrow.csv as pacsv

    if not pa.types.is_string(array.type):
        return set()
    return {*array.unique().drop_null().to_pylist()}.difference(pacsv.ConvertOptions().null_values)


def _are_numbers(words: set[str], notation: Notation) -> bool:
    return not any(math.isnan(notation.number(word)) for word in words)


def _numbers(array: Any) -> Any:
    import pyarrow as pa

    numbers = (_BOTH.number(word) for word in array.to_pylist())
    cells = [None if math.isnan(number) else number for number in numbers]
    return pa.chunked_array([pa.array(cells, pa.float64())])

"""Ids of units in their normal form, in which they are compared exactly, cell by cell.

Text is taken without the blanks around it; a whole number as its decimal digits, also where text
has it with a decimal point and zeros, as programs write a column with a gap, or in groups of three,
each as the schema writes numbers. So 7, 7.0, " 7" and "7.0" are one id whatever type a program gave
the column, and "007" is another. A blank cell, one of the schema's words for no value in any of its
forms, a number that such a word is, and what says that it is none have no id. Anything else (a
fraction, a float64 of 2^53 or more, for which two ids may have become one, a whole number of more
than 1,000 digits, a truth value, a date, bytes that are no text) is none either, and its row is a
bad row.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from numbers import Integral
from typing import Any

import numpy as np
import pyarrow as pa

from dpcore.plugin.columns import Notation
from dpcore_tables.cells.objects import is_missing_object, text_of
from dpcore_tables.cells.typed import Cells, UnreadTypeError, is_text

__all__ = ["ids_of"]

_LOSSY = 2.0**53
_LONG = 10**1000
_NO_TEXT = "\ufffd"
_BLANK = Notation()
"""The numbers of words for no value are compared exactly here, not as floats."""


def ids_of(cells: Cells, notation: Notation) -> tuple[np.ndarray, np.ndarray]:
    """Return the normal form of each cell, an object array of str, None where it is empty, and
    which cells are no id, bool; UnreadTypeError for a declared type that holds no ids."""
    found: list[Any] = []
    reading = _Reading(notation)
    if isinstance(cells, np.ndarray):
        found = [reading.normal(cell) for cell in cells]
    else:
        _require_type(cells.type)
        for chunk in cells.chunks:
            found += _of_chunk(chunk, reading)
    bad = np.fromiter((form is False for form in found), bool, len(found))
    forms = np.empty(len(found), dtype=object)
    forms[:] = [form or None for form in found]
    return forms, bad


def _of_chunk(chunk: pa.Array, reading: _Reading) -> list[Any]:
    if not pa.types.is_dictionary(chunk.type):
        return [reading.normal(cell) for cell in chunk.to_pylist()]
    words = [reading.normal(word) for word in chunk.dictionary.to_pylist()]
    return [None if at is None else words[at] for at in chunk.indices.to_pylist()]


class _Reading:
    """Normal forms of cells, as a schema writes numbers and says that there is no value."""

    def __init__(self, notation: Notation) -> None:
        self._empty, self._thousands = notation.empty, notation.thousands
        self._whole = _whole_numbers(notation)
        self._no_forms = frozenset(map(self._of_text, notation.empty)) - {False}
        numbers = (_number(word.strip(), notation) for word in notation.empty)
        self._no_numbers = frozenset(number for number in numbers if number is not None)

    def normal(self, cell: Any) -> str | bool | None:
        """Return the normal form, None for an empty cell, False for what is no id."""
        if is_missing_object(cell, _BLANK) or self._is_listed(cell):
            return None
        form = _of_number(cell)
        if isinstance(cell, (str, bytes)):
            form = self._of_text(text_of(cell))
        return None if form in self._no_forms else form

    def _is_listed(self, cell: Any) -> bool:
        """Return whether a cell is a word for no value as it is, or a number that such a word is,
        compared exactly: a float by its shortest text."""
        if isinstance(cell, (str, bytes)):
            return text_of(cell).strip() in self._empty
        if isinstance(cell, bool) or not self._no_numbers:
            return False
        if isinstance(cell, (float, np.floating)):
            cell = Decimal(repr(float(cell)))
        elif isinstance(cell, Integral):
            cell = int(cell)
        return isinstance(cell, (int, Decimal)) and cell in self._no_numbers

    def _of_text(self, text: str) -> str | bool:
        word = text.strip()
        whole = self._whole.fullmatch(word)
        if whole is not None:
            digits = whole[1].replace(self._thousands, "") if self._thousands else whole[1]
            return str(int(digits))
        return _NO_TEXT not in word and word.isprintable() and word


def _of_number(cell: Any) -> str | bool:
    if isinstance(cell, Integral) and not isinstance(cell, bool):
        number = int(cell)
        return abs(number) < _LONG and str(number)
    # np.float64 is a float, and the shorter floats are none.
    is_whole = isinstance(cell, float) and cell.is_integer() and abs(cell) < _LOSSY
    return is_whole and str(int(cell))


def _whole_numbers(notation: Notation) -> re.Pattern[str]:
    """Return the texts that are whole numbers of up to 1,000 digits, their whole part a group."""
    point, between = re.escape(notation.decimal), re.escape(notation.thousands)
    groups = f"|[1-9][0-9]{{0,2}}(?:{between}[0-9]{{3}}){{1,332}}" if between else ""
    return re.compile(f"(-?(?:0|[1-9][0-9]{{0,999}}{groups}))(?:{point}0+)?")


def _number(word: str, notation: Notation) -> Decimal | None:
    """Return a word for no value as the exact number that it is, None if it is none."""
    if notation.matcher.match(word) is None:
        return None
    if notation.thousands:
        word = word.replace(notation.thousands, "")
    try:
        return Decimal(word.replace(notation.decimal, "."))
    except InvalidOperation:  # An exponent that no number of a cell has.
        return None


def _require_type(kind: pa.DataType) -> None:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    held = (is_text, pa.types.is_null, pa.types.is_integer, pa.types.is_float64)
    if not any(test(kind) for test in held):
        raise UnreadTypeError(
            f"holds ids of units, and is of type {kind}: expected text or whole numbers. Write its "
            "cells as text."
        )

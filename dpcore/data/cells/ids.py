"""Ids of units in their normal form, in which they are compared exactly, cell by cell.

Text is taken without the blanks around it; a whole number as its decimal digits, also where text
has it with a point and zeros, as programs write a column with a gap. So 7, 7.0, " 7" and "7.0" are
one id whatever type a program gave the column, and "007" is another. A blank cell, one of
the schema's words for no value, and what says that it is none have no id. Anything else (a
fraction, a float64 of 2^53 or more, for which two ids may have become one, a truth value, a date,
bytes that are no text) is none either, and its row is a bad row.
"""

from __future__ import annotations

import re
from collections.abc import Container
from numbers import Integral
from typing import Any

import numpy as np
import pyarrow as pa

from dpcore.data.cells.objects import is_missing_object, text_of
from dpcore.data.cells.typed import Cells, UnreadTypeError, is_text
from dpcore.data.schema.notation import Notation

__all__ = ["ids_of"]

_LOSSY = 2.0**53
_NO_TEXT = "\ufffd"
_WHOLE = re.compile("(-?(?:0|[1-9][0-9]{0,999}))(?:[.]0+)?")
_BLANK = Notation()
"""Words for no value are compared with normal forms, not with numbers that were rounded."""


def ids_of(cells: Cells, notation: Notation) -> tuple[np.ndarray, np.ndarray]:
    """Return the normal form of each cell, an object array of str, None where it is empty, and
    which cells are no id, bool; UnreadTypeError for a declared type that holds no ids."""
    found: list[Any] = []
    if isinstance(cells, np.ndarray):
        found = [_normal(cell, notation.empty) for cell in cells]
    else:
        _require_type(cells.type)
        for chunk in cells.chunks:
            found += _of_chunk(chunk, notation.empty)
    bad = np.fromiter((form is False for form in found), bool, len(found))
    forms = np.empty(len(found), dtype=object)
    forms[:] = [form or None for form in found]
    return forms, bad


def _of_chunk(chunk: pa.Array, empty: Container[str]) -> list[Any]:
    if not pa.types.is_dictionary(chunk.type):
        return [_normal(cell, empty) for cell in chunk.to_pylist()]
    words = [_normal(word, empty) for word in chunk.dictionary.to_pylist()]
    return [None if at is None else words[at] for at in chunk.indices.to_pylist()]


def _normal(cell: Any, empty: Container[str]) -> str | bool | None:
    """Return the normal form, None for an empty cell, False for what is no id."""
    if is_missing_object(cell, _BLANK):
        return None
    form = _form(cell)
    return None if form in empty else form


def _form(cell: Any) -> str | bool:
    if isinstance(cell, (str, bytes)):
        word = text_of(cell).strip()
        whole = _WHOLE.fullmatch(word)
        word = word if whole is None else str(int(whole[1]))
        return _NO_TEXT not in word and word.isprintable() and word
    if isinstance(cell, Integral) and not isinstance(cell, bool):
        return str(int(cell))
    # np.float64 is a float, and the shorter floats are none.
    is_whole = isinstance(cell, float) and cell.is_integer() and abs(cell) < _LOSSY
    return is_whole and str(int(cell))


def _require_type(kind: pa.DataType) -> None:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    held = (is_text, pa.types.is_null, pa.types.is_integer, pa.types.is_float64)
    if not any(test(kind) for test in held):
        raise UnreadTypeError(
            f"holds ids of units, and is of type {kind}: expected text or whole numbers. Write its "
            "cells as text."
        )

"""Cells to plain numbers: what a cell becomes is a function of that cell and of public facts,
whatever is in the other rows.

Public are the schema and the declared type of the column: what a Parquet file, an array or a frame
says that it holds. Which cells have a reading is decided by these two before any cell is looked at:

* a numeric column, a real-valued label, and categories or classes that are numbers take numbers,
  truth values (0 and 1) and text that is a number;
* categories or classes that are text take text; numbers only where all that is listed is whole
  numbers, and truth values only where it is true and false (``Vocabulary``); a column of any other
  type is refused, with or without the row that made another program choose that type;
* a column of Python objects has no type, and each of its cells is looked at by itself.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpcore.plugin.columns import Notation, Vocabulary, transforms
from dpcore_tables.cells.objects import is_missing_object, object_codes, object_numbers, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dpcore.plugin.columns import ColumnPlan

__all__ = [
    "Cells",
    "UnreadTypeError",
    "by_text",
    "empty_cells",
    "is_text",
    "plain_numbers",
    "text_at",
    "to_codes",
    "to_numbers",
]

Cells: TypeAlias = pa.ChunkedArray | np.ndarray
"""The cells of a column as a source gave them: of one declared type, or Python objects."""


class UnreadTypeError(Exception):
    """A declared type has no reading under the schema; the text ends a sentence."""


def empty_cells(cells: Cells, notation: Notation) -> np.ndarray:
    """Return which cells hold no value, bool of shape (n_cells,): none at all, not a number (NaN),
    or a text that is blank or one of the words for it."""
    if isinstance(cells, np.ndarray):
        found = (is_missing_object(cell, notation) for cell in cells)
        return np.fromiter(found, bool, len(cells))
    kind = _value_type(cells.type)
    if is_text(kind):
        codes = _coded(
            cells, lambda word: transforms.Lookup.ABSENT if word.strip() in notation.empty else 0
        )
        return np.asarray(codes == transforms.Lookup.ABSENT)
    if _is_number(kind):
        return np.asarray(np.isnan(to_numbers(cells, notation)))
    return np.asarray(_to_numpy(cells.is_null().cast(pa.int64()), np.int64(1)) == 1)


def text_at(cells: Cells, row: int) -> str | None:
    """Return a cell's text without outer spaces, None for a cell that is no text."""
    cell: object = None
    if isinstance(cells, np.ndarray):
        cell = cells[row]
    elif is_text(_value_type(cells.type)):
        cell = cells.slice(row, 1).cast(pa.binary()).to_pylist()[0]
    return text_of(cell).strip() if isinstance(cell, (str, bytes)) else None


def to_codes(cells: Cells, plan: ColumnPlan) -> np.ndarray:
    """Return each cell's place in the lookup of a plan, or UNKNOWN or ABSENT: int32."""
    notation = plan.notation
    if plan.vocabulary is None:
        return plan.places_of_numbers(to_numbers(cells, notation))
    return plan.places(_of_words(cells, plan.vocabulary, notation))


def _of_words(cells: Cells, vocabulary: Vocabulary, notation: Notation) -> np.ndarray:
    """Return the codes of cells in a vocabulary, int32."""
    if isinstance(cells, np.ndarray):
        return object_codes(cells, vocabulary)
    kind = _value_type(cells.type)
    if is_text(kind) or pa.types.is_null(kind):
        code, folded = vocabulary.code, vocabulary.folded
        if not folded:
            return _coded(cells, lambda word: code.get(word.strip(), transforms.Lookup.UNKNOWN))
        return _coded(cells, vocabulary.of_text)
    if pa.types.is_boolean(kind):
        _require(vocabulary.takes_booleans, kind, vocabulary)
        return _coded(cells, lambda word: vocabulary.of_truth(word == "true"))
    if not _is_number(kind):
        raise UnreadTypeError(
            f"cannot be read: it is of type {kind}. Write its cells as text, or drop it."
        )
    _require(vocabulary.takes_numbers, kind, vocabulary)
    return vocabulary.of_numbers(to_numbers(cells, notation))


def _require(is_read: bool, kind: pa.DataType, vocabulary: Vocabulary) -> None:
    """Raise for a type whose cells may have been other texts in the rows' own source."""
    if not is_read:
        raise UnreadTypeError(
            f"is of type {kind}, and what is listed for it is text, such as "
            f"{vocabulary.texts[0]!r}: one odd cell decides what type a program gives a column, "
            "and with it the text of every cell. Keep the column as text where the table is made "
            "(pandas: dtype=str), or give dpcore the text file that it came from."
        )


def by_text(cells: pa.ChunkedArray, number: Callable[[str], float]) -> np.ndarray:
    """Return the numbers of the cells' texts, float64, NaN where there is none: a chunk at a time,
    each by its own list of texts."""
    return _mapped(cells, number, np.float64("nan"))


def _coded(cells: pa.ChunkedArray, code: Callable[[str], int]) -> np.ndarray:
    """Return the codes of the cells' texts, int32."""
    return _mapped(cells, code, np.int32(transforms.Lookup.ABSENT))


def _mapped(
    cells: pa.ChunkedArray, value: Callable[[str], float], absent: np.float64 | np.int32
) -> np.ndarray:
    if not pa.types.is_dictionary(cells.type):
        cells = _text(cells).dictionary_encode()
    parts = [np.empty(0, dtype=absent.dtype)]
    for chunk in cells.chunks:
        words = _text(chunk.dictionary).to_pylist()
        table = [absent if word is None else value(word) for word in words]
        indices = _to_numpy(pa.chunked_array([chunk.indices.cast(pa.int64())]), np.int64(-1))
        parts.append(np.array([*table, absent], dtype=absent.dtype)[indices])
    return np.concatenate(parts)


def plain_numbers(cells: pa.ChunkedArray) -> np.ndarray:
    """Return cells of a type of numbers as float64, NaN for none."""
    return _to_numpy(cells.cast(pa.float64(), safe=False), np.float64("nan"))


def _text(array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return the cells as text. Bytes that are not UTF-8 are no text and no number: U+FFFD."""
    if not is_text(array.type):
        return array.cast(pa.string())
    # Text too: a Parquet file's may be any bytes, and only this way round they are looked at.
    content = array.cast(pa.binary())
    with suppress(pa.ArrowInvalid):
        return content.cast(pa.string())
    cells = content.to_pylist()
    decoded = [None if c is None else c.decode("utf-8", "replace") for c in cells]
    return pa.chunked_array([_texts(decoded)])


def to_numbers(cells: Cells, notation: Notation) -> np.ndarray:
    """Return the cells as float64, NaN for what is missing or no number."""
    if isinstance(cells, np.ndarray):
        return object_numbers(cells, notation)
    kind = _value_type(cells.type)
    array = cells.cast(kind) if pa.types.is_dictionary(cells.type) else cells
    if pa.types.is_temporal(kind):
        raise pa.ArrowInvalid("a date is not a number")
    if is_text(kind):
        array = _parse(_text(array), notation)
    elif kind != pa.float64():
        array = array.cast(pa.float64(), safe=False)
    numbers = _to_numpy(array, np.float64("nan"))
    if notation.numbers and _is_number(kind):
        return np.where(np.isin(numbers, notation.numbers), np.nan, numbers)
    return numbers


def _to_numpy(array: pa.ChunkedArray, null: np.float64 | np.int64) -> np.ndarray:
    """Return numbers of the type of ``null``, which takes the place of those that the array lacks.

    Arrow's ``fill_null``, ``to_numpy``, ``array`` and ``scalar`` import pandas where it is
    installed, which takes longer than reading the file; where the cells decide whether they are
    called, the modules that a process has would tell of a cell.
    """
    flat = array.combine_chunks()
    if len(flat) == 0:
        return np.empty(0, dtype=null.dtype)
    values = np.frombuffer(
        flat.buffers()[1], null.dtype, len(flat), flat.offset * null.dtype.itemsize
    )
    if flat.null_count == 0:
        return values
    return np.where(np.from_dlpack(flat.is_null().cast(pa.uint8())) == 1, null, values)


def _texts(words: Iterable[str | None]) -> pa.Array:
    """Return an Arrow array of texts."""
    builder = pa.lib.StringBuilder()
    builder.append_values(list(words))
    return builder.finish()


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_number(kind: pa.DataType) -> bool:
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return any(test(kind) for test in tests)


def is_text(kind: pa.DataType) -> bool:
    """Return whether cells of a declared type are text, or bytes that may be. Those of a fixed size
    are none: polars hands out the addresses of Python objects as such."""
    tests = (
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_string_view,
        pa.types.is_binary,
        pa.types.is_large_binary,
    )
    return any(test(kind) for test in tests)


def _parse(array: pa.ChunkedArray, notation: Notation) -> pa.ChunkedArray:
    text = pc.utf8_trim_whitespace(array)
    is_number = pc.match_substring_regex(text, notation.pattern)
    if notation.missing:
        known = pc.is_in(text, value_set=_texts(notation.missing))
        is_number = pc.and_(is_number, pc.invert(known))
    kept = pc.if_else(is_number, text, _texts([None])[0])
    if notation.thousands:
        kept = pc.replace_substring(kept, notation.thousands, "")
    if notation.decimal != ".":
        kept = pc.replace_substring(kept, notation.decimal, ".")
    return pc.replace_substring_regex(kept, r"^\+", "").cast(pa.float64())

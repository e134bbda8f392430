"""Arrow columns to plain numbers under a schema, row by row: a cell never affects another row.

A row that does not satisfy the schema is refused with its place (for the owner's eyes: this is
loading), or mapped to no row. Either way the result is a function of each row alone. Rows are
dropped where the number of rows is private (add-or-remove-one): replace-one makes it public.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpcore.data.columns import Categorical, Label, Numeric, Value, is_boolean
from dpcore.data.encode import scale_to_unit
from dpcore.data.raw_table import RawTable
from dpcore.data.schema import Schema
from dpcore.errors import BadRowError, DataError

__all__ = ["NUMBER", "BadRows", "Columns", "conform", "convert_column", "to_numbers"]

BadRows = Literal["refuse", "drop"]

NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
"""What counts as a number in text (a regular expression): decimal, with an exponent or without."""
_NO_NUMBER = "the cell is not a finite number"


@dataclass(frozen=True)
class Columns:
    """Cells as numbers, by column name.

    ``values[name]`` : ndarray of shape (n_rows,): float64 for a numeric column; int32 for a
    categorical one, the position of the category, -1 for none; float64 for the label, -1 and +1 or
    the target scaled to [-1, 1]. The label is absent where it was not asked for.
    """

    values: dict[str, np.ndarray]
    n_rows: int


def conform(
    raw: RawTable, schema: Schema, *, labelled: bool = True, bad_rows: BadRows = "refuse"
) -> Columns:
    """Return the cells of every row that satisfies the schema.

    Raises DataError with file, line and column for the first row that does not, or drops such rows
    if ``bad_rows`` is ``"drop"``.
    """
    values: dict[str, np.ndarray] = {}
    bad = np.zeros(raw.n_rows, dtype=bool)
    faults: list[tuple[str, str, np.ndarray]] = []
    wanted = [*schema.features, *([schema.label] if labelled else [])]
    for column in wanted:
        array = raw.columns[column.name]
        cells, fault, reason = convert_column(array, column, schema.missing, raw.source)
        values[column.name] = cells
        if fault is not None and fault.any():
            faults.append((column.name, reason, fault))
            bad |= fault
    if not faults:
        return Columns(values, raw.n_rows)
    if bad_rows != "drop":
        raise _first_fault(raw, faults, schema.missing)
    return Columns({name: cells[~bad] for name, cells in values.items()}, int((~bad).sum()))


def convert_column(
    array: pa.ChunkedArray,
    column: Numeric | Categorical | Label,
    missing: tuple[str, ...],
    source: str,
) -> tuple[np.ndarray, np.ndarray | None, str]:
    """Return the cells as numbers, which of them are faults (bool or None), and the reason.

    Raises DataError for a column of a type that has no such reading.
    """
    try:
        return _convert(array, column, missing)
    except (pa.ArrowException, UnicodeError) as error:
        raise DataError(
            f"{source}: column {column.name!r} cannot be read as {column.kind} "
            f"({type(error).__name__})."
        ) from None


def _first_fault(
    raw: RawTable, faults: list[tuple[str, str, np.ndarray]], missing: tuple[str, ...]
) -> BadRowError:
    row, name, reason = min(
        ((int(np.argmax(fault)), name, reason) for name, reason, fault in faults),
        key=lambda entry: entry[0],
    )
    if reason == _NO_NUMBER and _is_empty(raw.columns[name], row, missing):
        reason = "the cell is empty; fill it in"
    return BadRowError(f"{raw.source}, {raw.where(row)}, column {name!r}: {reason}.")


def _is_empty(array: pa.ChunkedArray, row: int, missing: tuple[str, ...]) -> bool:
    """Return whether there is no value, be the column read as numbers (null) or as text."""
    cells = array.slice(row, 1)
    cell = (_text(cells) if _is_text(cells.type) else cells)[0].as_py()
    return cell is None or (isinstance(cell, str) and cell.strip() in ("", *missing))


def _convert(
    array: pa.ChunkedArray, column: Numeric | Categorical | Label, missing: tuple[str, ...]
) -> tuple[np.ndarray, np.ndarray | None, str]:
    if isinstance(column, Numeric):
        cells = to_numbers(array, missing)
        return cells, ~np.isfinite(cells), _NO_NUMBER
    if isinstance(column, Categorical):
        return _codes(array, column.categories, missing)[0], None, ""
    if column.lower is not None and column.upper is not None:
        cells = to_numbers(array, missing)
        y = 2.0 * scale_to_unit(cells, column.lower, column.upper) - 1.0
        return y, ~np.isfinite(cells), "the label is not a finite number"
    codes, absent = _codes(array, column.negative + column.positive, missing)
    y = np.where(codes < len(column.negative), -1.0, 1.0)
    if column.negative:
        return y, codes < 0, "the label is not one of the schema's classes"
    y[codes < 0] = -1.0
    return y, absent, "the label is missing"


def _codes(
    array: pa.ChunkedArray, values: tuple[Value, ...], missing: tuple[str, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Return each cell's position in ``values`` (int32, -1 for none), and which are missing."""
    if all(isinstance(value, float) for value in values):
        cells = to_numbers(array, missing)
        return _positions(cells, np.array(values, dtype=np.float64)), ~np.isfinite(cells)
    absent_code = -2
    indices, dictionary = _dictionary(array)
    words = [None if word is None else word.strip() for word in dictionary]
    position = _places([str(value) for value in values])
    table = [absent_code if w is None or w in missing else position(w) for w in words]
    codes = np.array([*table, absent_code], dtype=np.int32)[indices]
    return np.maximum(codes, -1), codes == absent_code


def _places(values: list[str]) -> Callable[[str], int]:
    """Return the function from a text to its position in ``values``, -1 for none.

    Software writes truth values as true, True or TRUE: where every value is one, the case of a cell
    that is none of them as it stands does not matter.
    """
    position = {value: i for i, value in enumerate(values)}
    if not all(map(is_boolean, values)):
        return lambda word: position.get(word, -1)
    folded = {value.lower(): i for i, value in reversed(list(enumerate(values)))}
    return lambda word: position.get(word, folded.get(word.lower(), -1))


def _positions(cells: np.ndarray, values: np.ndarray) -> np.ndarray:
    order = np.argsort(values)
    at = np.minimum(np.searchsorted(values, cells, sorter=order), len(values) - 1)
    found = order[at]
    return np.where(values[found] == cells, found, -1).astype(np.int32)


def _dictionary(array: pa.ChunkedArray) -> tuple[np.ndarray, list[str | None]]:
    """Return an index per cell into the list of distinct texts; -1, its last, for a null."""
    if not pa.types.is_dictionary(array.type):
        array = _text(array).dictionary_encode()
    array = array.unify_dictionaries()
    if array.num_chunks == 0:
        return np.empty(0, dtype=np.int64), []
    words = _text(array.chunk(0).dictionary).to_pylist()
    indices = pa.chunked_array([chunk.indices for chunk in array.chunks]).cast(pa.int64())
    return _to_numpy(indices, np.int64(-1)), words


def _text(array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return the cells as text. Bytes that are not UTF-8 are no text and no number: U+FFFD."""
    if not _is_text(array.type):
        return array.cast(pa.string())
    # Text too: a Parquet file's may be any bytes, and only this way round they are looked at.
    content = array.cast(pa.binary())
    try:
        return content.cast(pa.string())
    except pa.ArrowInvalid:
        cells = content.to_pylist()
        decoded = [None if c is None else c.decode("utf-8", "replace") for c in cells]
        return pa.chunked_array([pa.array(decoded, pa.string())])


def to_numbers(array: pa.ChunkedArray, missing: tuple[str, ...]) -> np.ndarray:
    """Return the cells as float64, NaN for what is missing or no number."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        array = array.cast(kind.value_type)
        kind = array.type
    if pa.types.is_temporal(kind):
        raise pa.ArrowInvalid("a date is not a number")
    if _is_text(kind):
        array = _parse(_text(array), missing)
    elif kind != pa.float64():
        array = array.cast(pa.float64(), safe=False)
    return _to_numpy(array, np.float64("nan"))


def _to_numpy(array: pa.ChunkedArray, null: np.float64 | np.int64) -> np.ndarray:
    """Return numbers of the type of ``null``, which stands where the array holds none.

    Arrow's ``fill_null`` and ``to_numpy`` import pandas where it is installed, which takes longer
    than reading the file.
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


def _is_text(kind: pa.DataType) -> bool:
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(test(kind) for test in (*tests, pa.types.is_binary, pa.types.is_large_binary))


def _parse(array: pa.ChunkedArray, missing: tuple[str, ...]) -> pa.ChunkedArray:
    text = pc.utf8_trim_whitespace(array)
    is_number = pc.match_substring_regex(text, NUMBER)
    if missing:
        known = pc.is_in(text, value_set=pa.array(missing, pa.string()))
        is_number = pc.and_(is_number, pc.invert(known))
    kept = pc.if_else(is_number, text, pa.scalar(None, pa.string()))
    return pc.replace_substring_regex(kept, r"^\+", "").cast(pa.float64())

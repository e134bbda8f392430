"""Cells as days, by the declared type of their column: texts, dates and time stamps."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from dpcore.plugin.columns import Notation
from dpcore_tables.cells.objects import text_of
from dpcore_tables.cells.typed import Cells, UnreadTypeError, by_text, is_text, plain_numbers
from dpcore_tables.kinds.date_formats import EPOCH, date_pattern

__all__ = ["to_days"]

_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def to_days(cells: Cells, name: str, format: str | None, notation: Notation) -> np.ndarray:
    """Return the cells of a column as days since 1970-01-01, float64, NaN for what is none."""
    pattern = date_pattern(name, format)

    def parsed(word: str) -> float:
        return np.nan if word.strip() in notation.missing else _parsed(word.strip(), pattern)

    if isinstance(cells, np.ndarray):
        return np.fromiter((_day_of(cell, parsed) for cell in cells), np.float64, len(cells))
    kind = cells.type.value_type if pa.types.is_dictionary(cells.type) else cells.type
    if is_text(kind) or pa.types.is_null(kind):
        return by_text(cells, parsed)
    cells = cells.cast(kind)
    if pa.types.is_date32(kind):
        return plain_numbers(cells.cast(pa.int32()))
    if pa.types.is_date64(kind):
        return _floored(cells, _PER_DAY["ms"])
    if pa.types.is_timestamp(kind):
        return _floored(cells, _PER_DAY[kind.unit])
    raise UnreadTypeError(
        f"is of type {kind}, and its kind is date: give it as dates, time stamps or text."
    )


def _floored(cells: pa.ChunkedArray, per_day: int) -> np.ndarray:
    """Return the days of counts since 1970, in whole numbers: float64 does not hold every one."""
    import pyarrow.compute as pc

    counts = cells.cast(pa.int64())
    days = pc.divide(counts, per_day)
    before = pc.less(counts, pc.multiply(days, per_day))  # Division rounds towards zero.
    return plain_numbers(pc.subtract(days, before.cast(pa.int64())))


def _parsed(word: str, pattern: re.Pattern[str]) -> float:
    match = pattern.fullmatch(word)
    if match is None:
        return np.nan
    try:
        day = date(int(match["Y"]), int(match["m"]), int(match["d"]))
    except ValueError:
        return np.nan
    return float(day.toordinal() - EPOCH)


def _day_of(cell: Any, parsed: Callable[[str], float]) -> float:
    """Return the day of a Python object."""
    if isinstance(cell, (str, bytes)):
        return parsed(text_of(cell))
    if isinstance(cell, np.datetime64):
        day = cell.astype("datetime64[D]")
        return np.nan if np.isnat(day) else float(day.astype(np.int64))
    pandas = sys.modules.get("pandas")
    if pandas is not None and cell is pandas.NaT or not isinstance(cell, date):
        return np.nan
    if isinstance(cell, datetime) and cell.tzinfo is not None:
        try:
            cell = cell.astimezone(UTC)
        except OverflowError:  # In UTC its day is before the year 1, or after 9999.
            return np.nan
    return float(cell.toordinal() - EPOCH)

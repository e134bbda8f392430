"""Frames: rows in memory under names, of pandas, polars, pyarrow or anything that speaks Arrow."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from dpcore import Schema
from dpcore.errors import DataError, InvalidInputError, replacing
from dpcore.plugin.engines import FrameParts
from dpcore_tables.cells.typed import Cells
from dpcore_tables.memory.columns import typed_cells
from dpcore_tables.raw.raw_table import RawTable, check_names

__all__ = [
    "declares_truth",
    "frame_cells",
    "frame_names",
    "frame_of",
    "frame_schema",
    "frame_table",
    "is_frame",
    "path_of",
]

_SOURCE = "the frame"


def is_frame(X: Any) -> bool:
    """Return whether rows in memory have names of columns."""
    return _is_pandas(X) or isinstance(X, pa.Table)


def frame_of(X: Any) -> Any:
    """Return a frame of pandas or of Arrow for rows that are one, and other rows as they are.

    What has ``__arrow_c_stream__`` is taken at its word: a polars or pyarrow table, a batch, a
    reader of batches, a relation of a database.
    Raises DataError for a stream of Arrow that has no columns or ends early, and for a lazy frame.
    """
    if _is_pandas(X) or isinstance(X, pa.Table):
        return X
    if isinstance(X, pa.RecordBatch) or hasattr(X, "__arrow_c_stream__"):
        with replacing(pa.ArrowException, TypeError, ValueError, OSError, by=_no_table):
            return pa.table(X)
    if hasattr(X, "lazy") and hasattr(X, "collect"):
        raise DataError(f"{_SOURCE} is lazy, so that it has no rows yet: pass frame.collect().")
    return X


def path_of(rows: Any) -> str:
    """Return the path of rows that are no frame; InvalidInputError where they are none either."""
    expected = "Expected the name of a file, or a frame of pandas, polars or pyarrow"
    with replacing(TypeError, by=lambda _: InvalidInputError(f"{expected}, as rows.")):
        path: str = os.fspath(rows)
    return path


def frame_names(frame: Any) -> list[str]:
    """Return the names of a frame's columns."""
    names = frame.column_names if isinstance(frame, pa.Table) else frame.columns
    return [str(name) for name in names]


def frame_schema(frame: Any) -> pa.Schema:
    """Return the names and types of a frame's columns, those of objects without one; DataError for
    a type that holds no cells."""
    if isinstance(frame, pa.Table):
        return frame.schema
    with replacing(pa.ArrowException, by=_no_cells):
        return pa.Schema.from_pandas(frame.iloc[:0], preserve_index=False)


def frame_table(
    frame: Any, schema: Schema, labelled: bool, with_ids: bool, where: Callable[[int], str]
) -> RawTable:
    """Return the columns of a frame that the schema wants; DataError for names or types that do
    not fit, and for a frame of Dask."""
    if FrameParts.are(frame):
        raise DataError("The rows of a Dask frame are not at hand: pass frame.compute().")
    names = frame_names(frame)
    wanted = check_names(names, schema, _SOURCE, labelled, with_ids)
    columns = {name: frame_cells(frame, names.index(name)) for name in wanted}
    return RawTable(columns, len(frame), _SOURCE, where)


def declares_truth(column: Any) -> bool:
    """Return whether a column declares that it holds truth values."""
    if isinstance(column, (pa.Array, pa.ChunkedArray)):
        return bool(pa.types.is_boolean(column.type))
    return getattr(getattr(column, "dtype", None), "kind", "") == "b"


def frame_cells(frame: Any, place: int) -> Cells:
    """Return the cells of a frame's column; DataError for a type that holds no cells."""
    if isinstance(frame, pa.Table):
        return frame.column(place)
    series = frame.iloc[:, place]
    unread = DataError(
        f"{_SOURCE}: column {str(series.name)!r} is of type {series.dtype}, which holds no numbers "
        "and no text."
    )
    kinds = pa.ArrowException, TypeError, ValueError, OverflowError
    with replacing(*kinds, by=lambda _: unread):
        return typed_cells(series)


def _no_table(error: Exception) -> DataError:
    if isinstance(error, OSError):
        return DataError(f"{_SOURCE}: this stream of Arrow broke off before its end.")
    return DataError(f"{_SOURCE}: this stream of Arrow is no table of named columns; give a frame.")


def _no_cells(error: Exception) -> DataError:
    return DataError(
        f"{_SOURCE}: a column is of a type that holds no numbers and no text "
        f"({type(error).__name__})."
    )


def _is_pandas(X: Any) -> bool:
    return hasattr(X, "iloc") and hasattr(X, "columns")

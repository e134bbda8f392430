"""The cells of one column of a file as text, to be written beside what is made of its rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from dpcore.errors import DataError, InvalidInputError, near_names, replacing
from dpcore.plugin.columns import Drop, Label
from dpcore_tables.files.formats import entry_of, is_named
from dpcore_tables.files.input_paths import refuse_stdin
from dpcore_tables.files.stream import open_rows
from dpcore_tables.kinds.hashed import Hashed
from dpcore_tables.raw.raw_table import RawTable

if TYPE_CHECKING:
    from dpcore import Schema

__all__ = ["column_texts"]


def column_texts(path: str, schema: Schema, name: str) -> Iterator[str]:
    """Return the text of a column's cells, row by row, empty where there is no value.

    Raises InvalidInputError at once for a column that the schema does not name, and rows without
    names or that can be read once only; DataError on the way, as ``open_rows`` does.
    """
    if schema.width is not None or not is_named(path):
        raise InvalidInputError(f"Expected a file with named columns to keep column {name!r} of.")
    names = [column.name for column in schema.columns if not isinstance(column, Label)]
    if name not in names:
        raise InvalidInputError(
            f"The schema has no column {name!r} to keep, beside the label.{near_names(name, names)}"
        )
    refuse_stdin(path)
    if entry_of(path).data.get("query"):
        raise InvalidInputError(
            f"Column {name!r} cannot be kept: a query may give its rows in another order when it "
            "is asked again. Save them as Parquet or CSV, and name that file."
        )
    # As one that is hashed a column of text is read as it is; all others are passed over.
    as_text = Hashed(name, 2)
    columns = tuple(
        as_text if c.name == name else c if isinstance(c, Label) else Drop(c.name)
        for c in schema.columns
    )
    rowwise = schema.with_units(None)
    return _texts(path, replace(rowwise, columns=columns, crosses=()), name)


def _texts(path: str, schema: Schema, name: str) -> Iterator[str]:
    for raw in open_rows(path, schema, labelled=False, promised=False).pieces():
        assert isinstance(raw, RawTable)
        kinds = pa.ArrowException, ValueError, OverflowError  # As of a day that Python has not.
        with replacing(*kinds, by=partial(_no_text, raw.source, name)):
            column = raw.columns[name]
            cells = column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()
            texts = ["" if cell is None else _text(cell) for cell in cells]
        yield from texts


def _text(cell: object) -> str:
    """Return the text of a cell; a sheet has no other kind of 7 than 7.0, and where words for
    missing cells are a table's own, a reader gives bytes."""
    if isinstance(cell, bytes):
        return cell.decode()
    return f"{cell:.0f}" if isinstance(cell, float) and cell.is_integer() else str(cell)


def _no_text(source: str, name: str, error: Exception) -> DataError:
    kind = type(error).__name__
    return DataError(f"{source}: column {name!r} has a cell that cannot be kept as text ({kind}).")

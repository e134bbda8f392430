"""The cells of one column of a file as text, to be written beside what is made of its rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from dpcore.errors import DataError, InvalidInputError, near_names, replacing
from dpcore.plugin.columns import Drop, Label
from dpcore_tables.files.formats import entry_of, is_named
from dpcore_tables.files.input_paths import STDIN
from dpcore_tables.files.stream import open_rows
from dpcore_tables.kinds.hashed import Hashed
from dpcore_tables.raw.raw_table import RawTable

if TYPE_CHECKING:
    from dpcore import Schema

__all__ = ["PassthroughColumn", "passthrough_column"]


class PassthroughColumn:
    """The text of a column's cells, of rows that are read once: those of a piece while it is gone
    through.

    ``schema`` : of the rows that are scored. Their reader reads them by ``self.schema``, which has
    the column too where it is no feature.
    Raises InvalidInputError for a column that the schema does not name.
    """

    def __init__(self, schema: Schema, name: str) -> None:
        _require_named(schema, name)
        columns = tuple(
            _as_text(name) if c.name == name and isinstance(c, Drop) else c for c in schema.columns
        )
        self.schema = replace(schema.with_units(None), columns=columns)
        self._name = name
        self._texts: deque[str] = deque()

    def add(self, raw: RawTable) -> None:
        """Take the texts of a piece. Raises DataError for a cell that has none."""
        self._texts.extend(_texts_of(raw, self._name))

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        return self._texts.popleft()


def passthrough_column(path: str, schema: Schema, name: str) -> Iterator[str]:
    """Return the text of a column's cells, row by row, empty where there is no value.

    Those of a query, which may give its rows in another order when it is asked again, are taken on
    the way of whoever reads the rows (``PassthroughColumn``), and so are those of standard input,
    of a column that is no feature.
    Raises InvalidInputError at once for a column that the schema does not name, and rows without
    names or that can be read once only; DataError on the way, as ``open_rows`` does.
    """
    if schema.width is not None or not is_named(path):
        raise InvalidInputError(f"Expected a file with named columns to keep column {name!r} of.")
    _require_named(schema, name)
    is_dropped = name in [column.name for column in schema.columns if isinstance(column, Drop)]
    if entry_of(path).data.get("query") or path == STDIN and is_dropped:
        return PassthroughColumn(schema, name)
    if path == STDIN:
        raise InvalidInputError(
            f"Column {name!r} is a feature, and standard input can be read once only: name a file, "
            "or keep a column that the schema drops."
        )
    # As one that is hashed a column of text is read as it is; all others are passed over.
    columns = tuple(
        _as_text(name) if c.name == name else c if isinstance(c, Label) else Drop(c.name)
        for c in schema.columns
    )
    rowwise = schema.with_units(None)
    return _texts(path, replace(rowwise, columns=columns, crosses=()), name)


def _require_named(schema: Schema, name: str) -> None:
    names = [column.name for column in schema.columns if not isinstance(column, Label)]
    if name not in names:
        raise InvalidInputError(
            f"The schema has no column {name!r} to keep, beside the label.{near_names(name, names)}"
        )


def _as_text(name: str) -> Hashed:
    """Return the column that text is read as it is by."""
    return Hashed(name, 2)


def _texts(path: str, schema: Schema, name: str) -> Iterator[str]:
    for raw in open_rows(path, schema, labelled=False, promised=False).pieces():
        assert isinstance(raw, RawTable)
        yield from _texts_of(raw, name)


def _texts_of(raw: RawTable, name: str) -> list[str]:
    kinds = pa.ArrowException, ValueError, OverflowError  # As of a day that Python has not.
    with replacing(*kinds, by=partial(_no_text, raw.source, name)):
        column = raw.columns[name]
        cells = column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()
        return ["" if cell is None else _text(cell) for cell in cells]


def _text(cell: object) -> str:
    """Return the text of a cell; a sheet has no other kind of 7 than 7.0, and where words for
    missing cells are a table's own, a reader gives bytes."""
    if isinstance(cell, bytes):
        return cell.decode()
    return f"{cell:.0f}" if isinstance(cell, float) and cell.is_integer() else str(cell)


def _no_text(source: str, name: str, error: Exception) -> DataError:
    kind = type(error).__name__
    return DataError(f"{source}: column {name!r} has a cell that cannot be kept as text ({kind}).")

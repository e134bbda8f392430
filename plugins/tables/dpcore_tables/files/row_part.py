"""The rows of a part of a table: those of one level of a column that lists its levels.

A row is in a part by the code of one cell of its own, which the public schema makes of that cell
alone. So it is in one part of a column at most, whatever other rows there are; a value that is none
of the levels is in none. Parallel composition, within a session and in a
ledger, rests on that. Another query of a database may make another cell of the same row, so that a
part of a query's rows is one of that query.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import InvalidInputError, near_names
from dpcore_tables.coded.rows import CodedRows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpcore import Schema
    from dpcore.plugin.parts import Dataset

__all__ = ["rows_of_part"]


def rows_of_part(dataset: Dataset, name: str) -> Dataset:
    """Return the rows of a part.

    Raises InvalidInputError for a name that is no level of a column with listed levels, rows that
    are in parts already, those of a query that is not known, and units of several rows, which may
    be in more than one part.
    """
    if not isinstance(name, str):
        raise InvalidInputError('Expected part to be text, as in part="ward=surgery".')
    if dataset.schema.unit is not None or dataset.part is not None:
        raise InvalidInputError(
            "Rows in parts are for units of one row, and by one column: those of a unit of several "
            "may be in more than one part. Run on all rows."
        )
    if "query" in (dataset.typed_by or "") and not dataset.query:
        raise InvalidInputError(
            f"{dataset.name} does not say of which query its rows are, as a store of an earlier "
            "version: parts of two queries may share a row. Convert its source again."
        )
    column, place, level = _found(dataset.schema, name)
    X: Any = dataset.X
    if isinstance(X, CodedRows):
        pieces: Iterable[CodedRows] = (X,)
    elif hasattr(X, "row_layout"):
        pieces = X.pieces()
    else:
        raise InvalidInputError(f"The rows of {dataset.name} hold no levels of {column.name!r}.")
    rows = dataset.take(_are_of(pieces, place, level))
    return rows.marked_as(column.name, name, len(column.feature_names))


def _are_of(pieces: Iterable[CodedRows], place: int, level: int) -> np.ndarray:
    """Return which rows have a level of the column of codes at a place, bool."""
    found = [piece.codes[:, place] == piece.layout.starts[place] + level for piece in pieces]
    return np.concatenate([np.empty(0, dtype=bool), *found])


def _found(schema: Schema, name: str) -> tuple[Any, int, int]:
    """Return the column of the part of that name, its place among those of codes, and that of the
    part's level among the column's."""
    known: dict[str, tuple[str, ...]] = {}
    place = 0
    for column in () if schema.width is not None else schema.features:
        codes = [part for part in column.parts if part.is_code]
        if len(column.parts) == 1 and codes and column.encoding.levels:
            names = column.feature_names
            if name in names:
                return column, place, names.index(name)
            known[column.name] = names
        place += len(codes)
    asked = name.partition("=")[0]
    raise InvalidInputError(
        f"{name!r} is no part: expected COLUMN=LEVEL, of a feature column of listed categories or "
        f"bins.{near_names(name, known[asked]) if asked in known else near_names(asked, known)}"
    )

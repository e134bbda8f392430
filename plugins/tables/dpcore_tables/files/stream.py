"""Files as encoded rows, a piece at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

from dpcore.errors import DataError, InvalidInputError, replacing
from dpcore.plugin.engines import BadRows
from dpcore_tables.cells.weights import read_by
from dpcore_tables.files.formats import READER, entry_of, is_named, loaded
from dpcore_tables.files.input_paths import STDIN
from dpcore_tables.raw.reader import ReadFacts, RowFile

if TYPE_CHECKING:
    import numpy as np
    from scipy.sparse import csr_matrix

    from dpcore import Schema
    from dpcore.plugin.parts import Registration
    from dpcore.plugin.readers import UnitIds
    from dpcore_tables.cells.columns import Reading
    from dpcore_tables.coded.rows import CodedRows
    from dpcore_tables.raw.raw_matrix import RawMatrix
    from dpcore_tables.raw.raw_table import RawTable

__all__ = ["encode_piece", "encoded_batches", "feature_batches", "named_schema", "open_rows"]


def named_schema(path: str | os.PathLike[str], schema: Schema, format: str | None = None) -> Schema:
    """Return the schema with the wildcards replaced by the file's columns; DataError for a header
    that cannot be read, InvalidInputError for a wildcard that means none, or no header."""
    if not schema.wildcards or not is_named(os.fspath(path), format):
        return schema
    return schema.for_names(open_rows(os.fspath(path), schema, format, promised=False).names())


def encoded_batches(
    path: str | os.PathLike[str],
    schema: Schema,
    *,
    format: str | None = None,
    bad_rows: BadRows = "refuse",
    labelled: bool = True,
    ids: UnitIds | None = None,
    weight: str | None = None,
) -> Iterator[tuple[np.ndarray | csr_matrix | CodedRows, np.ndarray | None]]:
    """Return the pieces (X, y) of a file's encoded rows, in order; one at least.

    X is of shape (n, n_features): coded rows where the schema has categories, else float64 in C
    order or CSR; y is float64 of shape (n,), None where the label was not asked for. Neither the
    rows nor a message depends on where the pieces end. The arrays are the caller's. ``ids`` : gets
    those of the rows' units, where the schema has units. ``weight`` : the column of weights, which
    come beside the labels then, as ``encode`` has them.

    Raises InvalidInputError at once for a schema that does not fit the format, and DataError on the
    way (file, line, column: for the owner's eyes) for a file that cannot be read or, unless
    ``bad_rows`` is ``"drop"``, for the first row that does not satisfy the schema.
    """
    file = open_rows(os.fspath(path), read_by(schema, weight), format, bad_rows, labelled)
    return encoded_rows(file, os.fspath(path), schema, bad_rows, labelled, ids, weight)


def feature_batches(
    path: str | os.PathLike[str],
    schema: Schema,
    *,
    bad_rows: BadRows = "refuse",
    texts: Any = None,
) -> Iterator[tuple[np.ndarray | csr_matrix | CodedRows, np.ndarray | None]]:
    """Return the pieces (X, kept) of a file's feature rows, whose label column may be absent.

    kept : bool, one for each row of the piece, None for all of them. Under ``bad_rows="drop"`` X
    lacks the rows with a cell that does not satisfy the schema; a line of text with too many or
    too few cells is refused all the same, so that every row of the file has its place. ``texts`` :
    a ``dpcore_tables.files.passthrough_column.PassthroughColumn``, which gets a column's cells of
    each piece before that is yielded.
    Raises as ``encoded_batches``.
    """
    read = schema if texts is None else texts.schema
    file = open_rows(os.fspath(path), read, labelled=False, promised=False)
    with _checked(file, os.fspath(path)):
        for raw in file.pieces():
            X, _, kept = _encode(raw, schema, bad_rows, labelled=False)
            if texts is not None:
                texts.add(raw)
            yield X, kept


def encoded_rows(
    file: RowFile,
    path: str,
    schema: Schema,
    bad_rows: BadRows,
    labelled: bool,
    ids: UnitIds | None,
    weight: str | None = None,
) -> Iterator[tuple[np.ndarray | csr_matrix | CodedRows, np.ndarray | None]]:
    """Yield the pieces of an opened file, as ``encoded_batches`` does."""
    try:
        for raw in file.pieces():
            X, y, _ = _encode(raw, schema, bad_rows, labelled, ids, weight)
            yield X, y
    except DataError as error:
        fault = error
    else:
        return
    raise _first_of(file, path, fault)


def _checked(file: RowFile, path: str) -> AbstractContextManager[None]:
    """Let the error that reading the file as one piece raises come before another one."""
    return replacing(DataError, by=partial(_first_of, file, path))


def _first_of(file: RowFile, path: str, error: DataError) -> DataError:
    if path != STDIN and os.path.isfile(path):  # a pipe cannot be read twice
        try:
            file.check()
        except DataError as earlier:
            return earlier
    return error


def encode_piece(
    raw: RawTable | RawMatrix,
    schema: Schema,
    *,
    bad_rows: BadRows = "refuse",
    labelled: bool = True,
    ids: UnitIds | None = None,
) -> tuple[np.ndarray | csr_matrix | CodedRows, np.ndarray | None]:
    """Return the encoded rows (X, y) of what a reader made. ``ids`` and errors are as of
    ``encoded_batches``."""
    X, y, _ = _encode(raw, schema, bad_rows, labelled, ids)
    return X, y


def _encode(
    raw: RawTable | RawMatrix,
    schema: Schema,
    bad_rows: BadRows,
    labelled: bool,
    ids: UnitIds | None = None,
    weight: str | None = None,
) -> tuple[np.ndarray | csr_matrix | CodedRows, np.ndarray | None, np.ndarray | None]:
    """Return encoded rows, labels, and which rows were kept, None for all."""
    from dpcore.plugin.readers import ArraySource
    from dpcore_tables.cells.cell_values import convert_column, validate_rows
    from dpcore_tables.cells.features import encode
    from dpcore_tables.raw.raw_matrix import RawMatrix

    if isinstance(raw, RawMatrix):

        def labels() -> Reading:
            each = raw.one_label_each()
            return convert_column(each, schema.label, schema.notation, raw.source)

        read = labels if labelled else None
        return ArraySource(raw.source).validate_rows(raw.X, schema, raw.where, read, bad_rows)
    columns = validate_rows(raw, schema, labelled=labelled, bad_rows=bad_rows, weight=weight)
    if ids is not None and columns.ids is not None:
        ids.add(columns.ids)
    return *encode(columns, schema), columns.kept


def open_rows(
    path: str,
    schema: Schema,
    format: str | None = None,
    bad_rows: BadRows = "refuse",
    labelled: bool = True,
    promised: bool = True,
) -> RowFile:
    """Return the reader of a file's rows as they are; InvalidInputError for a schema that does
    not fit the format."""
    check_bad_rows(bad_rows)
    facts = ReadFacts(schema, labelled, bad_rows == "drop", promised)
    return open_entry(entry_of(path, format), path, facts)


def check_bad_rows(bad_rows: BadRows) -> None:
    """Raise InvalidInputError for anything but refuse and drop."""
    if bad_rows not in ("refuse", "drop"):
        raise InvalidInputError(f"Expected bad_rows={bad_rows!r} to be refuse or drop.")


def open_entry(entry: Registration, path: str, facts: ReadFacts) -> RowFile:
    """Return the rows of a file as a registered reader opens it. Raises as ``open_rows``, and
    InvalidInputError for a store."""
    if entry.kind != READER:
        raise InvalidInputError(f"The store {path} holds encoded rows, which no reader reads.")
    if facts.schema.width is None and not entry.data["named"]:
        raise InvalidInputError(
            f"A {entry.name} file has unnamed features: its schema needs a width."
        )
    opened: RowFile = loaded(entry)(path, facts)
    return opened

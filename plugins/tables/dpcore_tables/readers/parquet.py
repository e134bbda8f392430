"""Parquet files through pyarrow."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq

from dpcore import Schema
from dpcore.errors import DataError, InvalidInputError, replacing
from dpcore_tables.files.input_paths import parquet_files
from dpcore_tables.raw.raw_table import RawTable, check_names
from dpcore_tables.raw.reader import ReadFacts
from dpcore_tables.readers.pieces import note_share, require_readable

__all__ = ["open_parquet", "BATCH_ROWS", "ParquetFile", "read_parquet_types"]

BATCH_ROWS = 2**15
"""How many rows are read at a time. No row and no message depends on it."""
_INDEX = re.compile("__index_level_[0-9]+__")
"""The name that pandas gives an index without one."""
_BUFFER = 2**16


class ParquetFile:
    """The schema's columns of a Parquet file, or of those of a folder or a pattern one after the
    other in the order of their names, read in batches. Each has the columns of the schema."""

    def __init__(self, path: str, schema: Schema, *, labelled: bool = True) -> None:
        self._path = path
        self._schema = schema
        self._labelled = labelled

    def names(self) -> list[str]:
        """Return the names of the columns of the first file."""
        return [name for name, _ in read_parquet_types(self._path)]

    def pieces(self) -> Iterator[RawTable]:
        """Yield the rows, a batch at a time, one at least; DataError if a file is unreadable or
        lacks a column."""
        files = parquet_files(self._path)
        for place, path in enumerate(files):
            yield from self._of_one(path, partial(note_share, self._path, files, place))

    def check(self) -> None:
        """Raise the DataError of a file that cannot be read to its end."""
        for _ in self.pieces():
            pass

    def _of_one(self, path: str, note: Callable[[float], None]) -> Iterator[RawTable]:
        names = [name for name, _ in read_parquet_types(path)]
        wanted = check_names(names, self._schema, path, self._labelled)
        before = 0
        for table in _tables(path, wanted, note):
            columns = {name: table.column(name) for name in wanted}
            yield RawTable(columns, table.num_rows, path, partial(_where, before))
            before += table.num_rows


def open_parquet(source: str, facts: ReadFacts) -> ParquetFile:
    """Return the Parquet files; InvalidInputError for a schema with a width."""
    if facts.schema.width is not None:
        raise InvalidInputError("A Parquet file has named columns: its schema has no width.")
    return ParquetFile(source, facts.schema, labelled=facts.labelled)


def _tables(path: str, wanted: list[str], note: Callable[[float], None]) -> Iterator[pa.Table]:
    require_readable(path)
    # A buffer for each column, instead of whole row groups ahead.
    with _errors(path), pq.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER) as file:
        missing = of_all = file.metadata.num_rows
        if missing == 0:
            yield file.read(columns=wanted)
        for batch in file.iter_batches(BATCH_ROWS, columns=wanted):
            missing -= batch.num_rows
            note(1.0 - missing / of_all)
            yield pa.Table.from_batches([batch])
        if missing:
            raise ValueError("Its groups have another number of rows than the whole.")


def _where(before: int, row: int) -> str:
    return f"row {before + row + 1}"


def read_parquet_types(path: str) -> list[tuple[str, pa.DataType]]:
    """Return the names and types of the columns, those of the first of several files, without
    reading a row. An index that pandas has put beside the columns is none of them."""
    path = parquet_files(path)[0]
    require_readable(path)
    with _errors(path):
        arrow = pq.ParquetFile(path).schema_arrow
    return [(field.name, field.type) for field in arrow if not _INDEX.fullmatch(field.name)]


def _errors(path: str) -> AbstractContextManager[None]:
    return replacing(pa.ArrowException, OSError, ValueError, by=partial(_fault_of, path))


def _fault_of(path: str, error: Exception) -> DataError:
    return DataError(
        f"{path}: not a whole Parquet file ({type(error).__name__}); it may be cut short."
    )

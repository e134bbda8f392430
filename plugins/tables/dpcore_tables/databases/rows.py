"""The rows of a query's result as a reader hands them over: some at a time, in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

from dpcore.errors import InvalidInputError
from dpcore_tables.raw.raw_table import RawTable, check_names
from dpcore_tables.raw.reader import ReadFacts

if TYPE_CHECKING:
    import pyarrow as pa

    from dpcore_tables.cells.typed import Cells

__all__ = ["PIECE", "Database", "QueryRows", "Result"]

PIECE = 2**14
"""How many rows are fetched at a time. No row and no message depends on it."""


@dataclass(frozen=True)
class Result:
    """The result of a query.

    Parameters
    ----------
    names : of its columns.
    types : as the database declares them, for a template; ``None`` of a column without a declared
        type. Of SQLite no cell follows from them.
    pieces : number of rows and columns of cells, some rows at a time, one piece at least.
    """

    names: Sequence[str]
    types: Sequence[pa.DataType | None]
    pieces: Iterator[tuple[int, Sequence[Cells]]]


class Database(Protocol):
    """A query, and where it is asked."""

    source: str
    """The name that messages have for it."""

    def opened(self) -> AbstractContextManager[Result]:
        """Lend the result in a transaction of its own, which reads and writes nothing; DataError
        for a database that cannot be read, without the text of an error that may quote a cell."""


class QueryRows:
    """The rows of a query's result, each pass a transaction."""

    def __init__(self, database: Database, facts: ReadFacts) -> None:
        if facts.schema.width is not None:
            raise InvalidInputError("A query has named columns: its schema has no width.")
        self._database, self._facts = database, facts

    def names(self) -> list[str]:
        """Return the names of the result's columns."""
        with self._database.opened() as result:
            return [*result.names]

    def types(self) -> list[tuple[str, pa.DataType | None]]:
        """Return the names and declared types of the result's columns."""
        with self._database.opened() as result:
            return [*zip(result.names, result.types, strict=True)]

    def pieces(self) -> Iterator[RawTable]:
        """Yield the rows, some at a time, one piece at least."""
        facts, source, before = self._facts, self._database.source, 0
        with self._database.opened() as result:
            names = [*result.names]
            wanted = check_names(names, facts.schema, source, facts.labelled)
            places = [names.index(name) for name in wanted]
            for n_rows, columns in result.pieces:
                cells = {name: columns[i] for name, i in zip(wanted, places, strict=True)}
                yield RawTable(cells, n_rows, source, partial(_where, before))
                before += n_rows

    def check(self) -> None:
        """Raise the DataError of a result that cannot be read to its end."""
        for _ in self.pieces():
            pass


def _where(before: int, row: int) -> str:
    return f"row {before + row + 1} of the result"

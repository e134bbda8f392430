"""Queries of a SQLite file, each cell by the type that it has itself.

The file is opened to read, in one transaction. Python objects are what SQLite's values are: whole
numbers, fractions, text, bytes, and nothing; a column's declared type is none of a cell's. (ADBC's
driver takes a column's type from its first rows, and a cell of another type ends the query.)
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import pyarrow as pa

from dpcore.errors import DataError, InvalidInputError, replacing
from dpcore_tables.cells.objects import as_objects
from dpcore_tables.databases.address import Address
from dpcore_tables.databases.queries import Query, Table, read_query
from dpcore_tables.databases.rows import PIECE, QueryRows, Result
from dpcore_tables.databases.unit_joins import unit_of
from dpcore_tables.raw.reader import ReadFacts

if TYPE_CHECKING:
    from dpcore_tables.cells.typed import Cells

__all__ = ["SqliteDatabase", "open_sqlite"]

_WAIT = 10.0
"""Seconds that a reader waits for a writer to end."""
_STEPS = 1_000_000
"""Steps of SQLite's machine between two looks at signals."""
_DECLARED: tuple[tuple[tuple[str, ...], pa.DataType], ...] = (
    (("BOOL",), pa.bool_()),
    (("DATE", "TIMESTAMP"), pa.date32()),
    (("INT",), pa.int64()),
    (("CHAR", "CLOB", "TEXT"), pa.string()),
    (("REAL", "FLOA", "DOUB", "NUMERIC", "DECIMAL"), pa.float64()),
)
"""Parts of the names of declared types, as in SQLite's rules of affinity, and what they mean."""
_KINDS_OF_IDS = {"INT": "INTEGER", "INTEGER": "INTEGER", "TEXT": "TEXT"}
_WITH_STRICT = (3, 37)
_ALIKE = "INTEGER and TEXT in STRICT tables without a collation"
_IDS = """
SELECT upper(info.type), info.hidden, made.sql
FROM sqlite_master AS made JOIN pragma_table_list AS listed
    ON listed.schema = 'main' AND listed.name = made.name AND listed.type = 'table'
    JOIN pragma_table_xinfo(made.name) AS info
WHERE made.type = 'table' AND lower(made.name) = lower(?) AND listed.strict
    AND lower(info.name) = lower(?)
"""
"""Finds the declared type of a STRICT table's column, and whether it is computed."""
_VIRTUAL = re.compile(r"\s*create\s+virtual", re.IGNORECASE)
_FAULTS = {
    "SQLITE_BUSY": "another program is writing it; try again",
    "SQLITE_LOCKED": "another program is writing it; try again",
    "SQLITE_CANTOPEN": "it cannot be opened",
    "SQLITE_NOTADB": "it is no SQLite file, or an encrypted one",
    "SQLITE_CORRUPT": "the file is damaged",
    "SQLITE_PERM": "it may not be read",
    "SQLITE_INTERRUPT": "the query was interrupted",
    "SQLITE_IOERR": "it cannot be read to its end",
}


def open_sqlite(source: str, facts: ReadFacts) -> QueryRows:
    """Return the rows of ``sqlite:///FILE?query=...``; four slashes before an absolute path.

    Raises InvalidInputError for a wrong address, a query that is none or visibly not row by row,
    and a schema with a width.
    """
    address = Address.of(source, facts.promised)
    return QueryRows(SqliteDatabase(address, unit_of(facts.schema)), facts)


class SqliteDatabase:
    """A query of one file. ``unit`` : the column of ids that its tables may be joined by."""

    def __init__(self, address: Address, unit: str | None = None) -> None:
        self.source = address.source
        if not address.place.startswith("/") or len(address.place) < 2 or address.others:
            raise InvalidInputError(
                "Expected the address of a SQLite file as sqlite:///FILE?query=..., with four "
                "slashes before an absolute path."
            )
        self._path = unquote(address.place[1:])
        self._query = read_query(address, "sqlite", unit)

    @contextmanager
    def opened(self) -> Iterator[Result]:
        """Lend the result. DataError for a file that is none, is locked or damaged, and for a query
        that it cannot answer."""
        if not os.path.isfile(self._path):
            raise DataError(f"{self.source}: no such file.")
        with replacing(sqlite3.Error, by=self._fault), closing(self._connected()) as opened:
            self._require_rows(opened)
            with replacing(sqlite3.OperationalError, by=self._fault_of_query):
                # Looks at no row, so that what is said of it quotes none.
                opened.execute(f"EXPLAIN {self._query.text}").close()
            cursor = opened.execute(self._query.text)
            names = [column[0] for column in cursor.description]
            self._query.require_named(names)
            declared = _declared_types(opened, self._query.tables)
            types = [declared.get(name.lower()) for name in names]
            yield Result(names, types, _pieces(cursor, len(names)))

    def _connected(self) -> sqlite3.Connection:
        place = f"file:{quote(os.path.abspath(self._path))}?mode=ro"
        opened = sqlite3.connect(place, uri=True, timeout=_WAIT, isolation_level=None)
        opened.text_factory = partial(str, encoding="utf-8", errors="replace")
        # Python sees to Ctrl-C meanwhile, which ends the query.
        opened.set_progress_handler(lambda: None, _STEPS)
        opened.execute("PRAGMA query_only = ON")
        opened.execute("PRAGMA trusted_schema = OFF")
        opened.execute("BEGIN")
        return opened

    def _require_rows(self, opened: sqlite3.Connection) -> None:
        """Raise for a query whose names are not those of a table's own columns, unless its rows are
        claimed."""
        if self._query.is_claimed:
            return
        known: set[str] = set()
        for table in self._query.tables:
            known |= _columns_of(opened, table, self._query)
        self._query.require_columns(known, lambda name, _: name.lower())
        if ids := self._query.joined_by:
            kinds = [_kind_of_ids(opened, table, ids.unit) for table in self._query.tables]
            ids.require_alike(kinds, _ALIKE, self._query.refuse_unclaimed)

    def _fault_of_query(self, error: sqlite3.OperationalError) -> Exception:
        if error.sqlite_errorname != "SQLITE_ERROR":
            return self._fault(error)
        return InvalidInputError(f"{self.source} cannot answer the query: {error}.")

    def _fault(self, error: sqlite3.Error) -> DataError:
        name = getattr(error, "sqlite_errorname", "")
        why = next((said for code, said in _FAULTS.items() if name.startswith(code)), None)
        why = why or f"the query ended with {name or type(error).__name__}, in the midst of rows"
        return DataError(f"{self.source}: {why}.")


def _columns_of(opened: sqlite3.Connection, table: Table, query: Query) -> set[str]:
    """Return the names of a table's columns, in small letters."""
    asked = "SELECT type, sql FROM sqlite_master WHERE lower(name) = lower(?)"
    found = [of for of in opened.execute(asked, (table.name,)) if of[0] in ("table", "view")]
    plain = [sql for kind, sql in found if kind == "table" and not _VIRTUAL.match(sql or "")]
    if _is_kept_by_sqlite(opened, table.name):
        plain = []
    is_there = bool(found) and table.schema.lower() in ("", "main")
    query.require_table(table, is_there=is_there, is_table=bool(plain))
    listed = opened.execute("SELECT name FROM pragma_table_xinfo(?)", (table.name,))
    return {column.lower() for (column,) in listed}


def _kind_of_ids(opened: sqlite3.Connection, table: Table, unit: str) -> str | None:
    """Return the type of the ids of a table, ``None`` where SQLite does not hold each cell to it,
    or may compare texts otherwise than by their bytes."""
    if sqlite3.sqlite_version_info < _WITH_STRICT:
        return None
    for kind, hidden, sql in opened.execute(_IDS, (table.name, unit)):
        if not hidden and "collate" not in sql.lower():
            return _KINDS_OF_IDS.get(kind)
    return None


def _declared_types(
    opened: sqlite3.Connection, tables: Sequence[Table]
) -> dict[str, pa.DataType | None]:
    """Return the types that tables declare for their columns, by name in small letters."""
    asked = "SELECT lower(name), upper(type) FROM pragma_table_xinfo(?)"
    listed = [each for table in tables for each in opened.execute(asked, (table.name,))]
    return {
        name: next((kind for words, kind in _DECLARED if any(w in text for w in words)), None)
        for name, text in listed
    }


def _is_kept_by_sqlite(opened: sqlite3.Connection, name: str) -> bool:
    """Return whether a table is made of others' rows: statistics, or what an index of words has."""
    virtual = "SELECT name FROM sqlite_master WHERE sql LIKE 'create virtual table%'"
    begins = [f"{each.lower()}_" for (each,) in opened.execute(virtual)]
    return name.lower().startswith(("sqlite_", *begins))


def _pieces(cursor: sqlite3.Cursor, width: int) -> Iterator[tuple[int, Sequence[Cells]]]:
    is_first = True
    while (part := cursor.fetchmany(PIECE)) or is_first:
        yield len(part), [as_objects(row[i] for row in part) for i in range(width)]
        is_first = False

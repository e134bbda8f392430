"""Queries of DuckDB: of a database file, or of Parquet files, by globs and on object stores.

Columns have the types that the database or the Parquet files declare, and come as Arrow batches.
Where DuckDB would guess how a text file is written, from its rows, a query is refused
(``dpcore_tables.databases.csv_calls`` says which text files it may read). DuckDB
installs no extension by itself here; its own secrets, or the environment, have the credentials of
an object store. No variable of Python is a table.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa

from dpcore.errors import DataError, InvalidInputError, replacing
from dpcore_tables.databases.address import Address
from dpcore_tables.databases.queries import Table, read_query, relations_in
from dpcore_tables.databases.rows import PIECE, QueryRows, Result
from dpcore_tables.databases.unit_joins import unit_of
from dpcore_tables.raw.reader import ReadFacts

if TYPE_CHECKING:
    from dpcore_tables.cells.typed import Cells

__all__ = ["DuckDatabase", "open_duckdb"]

_CONFIG = {
    "autoinstall_known_extensions": "false",
    "memory_limit": "1GB",
    "temp_directory": "",  # What does not fit would be written there, rows and all.
}
_SETTINGS = ("python_enable_replacements = false", "enable_progress_bar = false")
_PARQUET = (".parquet", ".pq")
_STORES = {
    "httpfs": re.compile(r"(https?|s3[an]?|gcs|gs|r2|hf)://", re.IGNORECASE),
    "azure": re.compile(r"(az|azure|abfss?)://", re.IGNORECASE),
}
"""By extension of DuckDB, the names of files that it reads."""
_INSTALLED = "SELECT 1 FROM duckdb_extensions() WHERE extension_name = ? AND installed"
_ONE_TEXT = """
SELECT * FROM read_csv('{name}', auto_detect = false, header = true, columns = {{'a': 'VARCHAR'}}"""
_OWN = "SELECT 1 FROM duckdb_functions() WHERE NOT internal LIMIT 1"
_OF_PATTERNS = frozenset("*?[{")
_TEXT = "SELECT sql FROM duckdb_{kind}s() WHERE lower({kind}_name) = lower(?) AND NOT internal"
_KINDS_OF_IDS = frozenset(
    ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
) | {"UUID", "VARCHAR"}
_ALIKE = "whole numbers of up to 64 bits, UUID, and VARCHAR in tables without a collation"
_MACROS = """
SELECT function_name, macro_definition FROM duckdb_functions()
WHERE NOT internal AND macro_definition IS NOT NULL
"""
_KNOWN = """
SELECT count(*) FROM duckdb_{kind}()
WHERE lower({of}_name) = lower(?) AND (? = '' OR lower(schema_name) = lower(?)) AND NOT internal
"""


def open_duckdb(source: str, facts: ReadFacts) -> QueryRows:
    """Return the rows of ``duckdb:///FILE?query=...``, with four slashes before an absolute path;
    of ``duckdb://`` those of Parquet files alone.

    Raises InvalidInputError for a wrong address, a query that is none or visibly not row by row,
    and a schema with a width.
    """
    address = Address.of(source, facts.promised)
    return QueryRows(DuckDatabase(address, unit_of(facts.schema)), facts)


class DuckDatabase:
    """A query of one database, or of none. ``unit`` : the column of ids that its tables may be
    joined by."""

    def __init__(self, address: Address, unit: str | None = None) -> None:
        self.source = address.source
        path = address.place
        if path and not path.startswith("/") or address.others:
            raise InvalidInputError(
                "Expected the address of a DuckDB file as duckdb:///FILE?query=..., with four "
                "slashes before an absolute path, or duckdb:// for Parquet files."
            )
        self._path = unquote(path[1:])
        self._query = read_query(address, "duckdb", unit)

    @contextmanager
    def opened(self) -> Iterator[Result]:
        """Lend the result. DataError for a file that is none, or that another process writes;
        InvalidInputError for a query that it cannot answer."""
        with replacing(_driver().Error, by=self._fault), closing(self._connected()) as opened:
            with replacing(_driver().Error, by=self._fault_of_query):
                self._require_extensions(opened)
                self._require_rows(opened)
                relation = opened.sql(self._query.text)  # Bound to names, and not run.
            with relation.to_arrow_reader(PIECE) as reader:
                schema = reader.schema
                self._query.require_named(schema.names)
                yield Result(schema.names, schema.types, _pieces(reader, schema))

    def _connected(self) -> Any:
        if self._path and not os.path.isfile(self._path):
            raise DataError(f"{self.source}: no such file.")
        place, is_file = self._path or ":memory:", bool(self._path)
        with replacing(_driver().Error, by=self._unopened):
            opened = _driver().connect(place, read_only=is_file, config=dict(_CONFIG))
        for setting in _SETTINGS:
            opened.execute(f"SET {setting}")
        return opened

    def _require_extensions(self, opened: Any) -> None:
        """Raise InvalidInputError where the files of an object store need what is not installed."""
        for name, of_store in _STORES.items():
            is_needed = any(of_store.match(table.name) for table in self._query.tables)
            if is_needed and not opened.execute(_INSTALLED, [name]).fetchone():
                raise InvalidInputError(
                    f"{self.source}: files of an object store need DuckDB's extension {name}, "
                    f"which is not installed by itself here: run INSTALL {name} in DuckDB once."
                )

    def _require_rows(self, opened: Any) -> None:
        """Raise for a query whose names are not those of a table's own columns, unless its rows are
        claimed."""
        self._refuse_drawn_columns(opened)
        if self._query.is_claimed:
            return
        if opened.execute(_OWN).fetchone():
            self._query.refuse_unclaimed("it has functions of its own, which may read other rows")
        known: set[str] = set()
        for table in self._query.tables:
            is_file = table.is_file
            if not is_file:
                asked = table.name, table.parts[-2][0] if table.schema else ""
                n_tables, n_views = (_count(opened, kind, asked) for kind in ("table", "view"))
                # No table and no view: a name of Parquet files is those files.
                n_files = not n_tables + n_views and table.name.lower().endswith(_PARQUET)
                is_there, is_table = n_tables + n_views + n_files > 0, n_views == 0
                self._query.require_table(table, is_there=is_there, is_table=is_table)
                is_file = n_files > 0
            if is_file and _has_columns_of_folders(opened, table):
                self._query.refuse_unclaimed(
                    "columns of folders' names, NAME=VALUE, have types that follow from all names"
                )
            names = table.columns or opened.sql(_all_of(table)).columns
            known |= {name.lower() for name in names}
        self._query.require_columns(known, lambda name, _: name.lower())
        if ids := self._query.joined_by:
            kinds = [_kind_of_ids(opened, table, ids.unit) for table in self._query.tables]
            ids.require_alike(kinds, _ALIKE, self._query.refuse_unclaimed)

    def _refuse_drawn_columns(self, opened: Any) -> None:
        """Raise for a relation, or a function of the database's own, with an expression of another
        value each time: of those that the query names, and of those that these are made of."""
        left, seen = {table.name for table in self._query.tables if not table.is_file}, set[str]()
        for name, text in opened.execute(_MACROS).fetchall():
            if name.lower() in self._query.text.lower():
                left |= relations_in(text, "duckdb", f"{self.source}: {name!r}")
        while left := {name.lower() for name in left} - seen:
            seen |= left
            asked = [(kind, name) for name in sorted(left) for kind in ("table", "view")]
            left = set()
            for kind, name in asked:
                for (text,) in opened.execute(_TEXT.format(kind=kind), [name]).fetchall():
                    if kind == "view" or "GENERATED" in text:
                        left |= relations_in(text, "duckdb", f"{self.source}: {name!r}")

    def _unopened(self, error: Exception) -> DataError:
        return DataError(
            f"{self.source} cannot be opened ({type(error).__name__}): it is no DuckDB file, it "
            "may not be read, or another process has it open to write."
        )

    def _fault_of_query(self, error: Exception) -> Exception:
        duckdb = _driver()
        if isinstance(error, duckdb.ProgrammingError):
            told = str(error).partition("\n")[0].strip()
            return InvalidInputError(f"{self.source} cannot answer the query: {told}")
        return DataError(
            f"{self.source}: what the query names cannot be opened ({type(error).__name__}): no "
            "such file, no right to read it, or no answer of the server that has it."
        )

    def _fault(self, error: Exception) -> DataError:
        return DataError(
            f"{self.source}: the query ended with {type(error).__name__} in the midst of rows: a "
            "cell that an expression cannot take, or a file that is damaged or gone. The message, "
            "which may quote a cell, is not shown."
        )


def _count(opened: Any, kind: str, name: tuple[str, str]) -> int:
    """Return how many tables, or views, have a name and, where one is given, a schema."""
    asked = _KNOWN.format(kind=f"{kind}s", of=kind)
    ((found,),) = opened.execute(asked, [name[0], name[1], name[1]]).fetchall()
    return int(found)


def _kind_of_ids(opened: Any, table: Table, unit: str) -> str | None:
    """Return the type of the ids of a table, or of Parquet files, ``None`` where equal ids may not
    be the same."""
    for kind in ("table", "view"):
        sqls = opened.execute(_TEXT.format(kind=kind), [table.name]).fetchall()
        if any("collate" in sql.lower() for (sql,) in sqls):
            return None
    found = opened.sql(_all_of(table))
    types = {name.lower(): str(kind) for name, kind in zip(found.columns, found.types, strict=True)}
    kind_of_ids = types.get(unit.lower())
    return kind_of_ids if kind_of_ids in _KINDS_OF_IDS else None


def _has_columns_of_folders(opened: Any, table: Table) -> bool:
    """Return whether folders of files may give columns: those that a name tells of, by a pattern
    too, or that DuckDB finds in a folder that is read whole."""
    name = table.name.replace("'", "''")
    if "=" in name or "**" in name or set(os.path.dirname(name)) & _OF_PATTERNS:
        return True
    asked = f"SELECT * FROM read_parquet('{name}'"
    if table.columns:
        asked = _ONE_TEXT.format(name=name)
    found = [opened.sql(f"{asked}{end}") for end in (")", ", hive_partitioning = false)")]
    with_folders, without = ([*zip(all.columns, all.types, strict=True)] for all in found)
    return bool(with_folders != without)


def _all_of(table: Table) -> str:
    if table.is_file:
        name = table.name.replace("'", "''")
        return f"SELECT * FROM read_parquet('{name}')"
    parts = (name.replace('"', '""') for name, _ in table.parts)
    return "SELECT * FROM " + ".".join(f'"{part}"' for part in parts)


def _pieces(reader: Any, schema: pa.Schema) -> Iterator[tuple[int, Sequence[Cells]]]:
    is_first = True
    for batch in reader:
        yield batch.num_rows, [pa.chunked_array([column]) for column in batch.columns]
        is_first = False
    if is_first:
        yield 0, [pa.chunked_array([], kind) for kind in schema.types]


def _driver() -> Any:
    try:
        import duckdb
    except ImportError:
        raise InvalidInputError(
            "DuckDB is not installed: pip install 'dpcore-tables[databases]'."
        ) from None
    return duckdb

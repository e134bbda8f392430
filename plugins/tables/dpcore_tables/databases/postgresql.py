"""Queries of a PostgreSQL database, in one snapshot (REPEATABLE READ, READ ONLY), through psycopg.

The types of a result's columns are those that the database declares, which are public: numbers,
truth values, days and times; all others are the text that the server writes. A cell is a function
of itself and of these, and of settings of the session, which are fixed here. Rows come through a
cursor of the server, some at a time. (ADBC's driver turns the date infinity into a number of days.)

A password is none of an address: it is in the environment (``PGPASSWORD``), in ``~/.pgpass`` or in
a service file. The text of an error that the server raises in the midst of rows may quote a cell,
and is not shown; before the first row it can only be about the query and the catalogue.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import numpy as np
import pyarrow as pa

from dpcore.errors import DataError, InvalidInputError, replacing
from dpcore_tables.cells.objects import as_objects
from dpcore_tables.databases.address import Address
from dpcore_tables.databases.queries import Table, read_query
from dpcore_tables.databases.rows import PIECE, QueryRows, Result
from dpcore_tables.databases.unit_joins import folded, require_alike_in_postgresql, unit_of
from dpcore_tables.raw.reader import ReadFacts

if TYPE_CHECKING:
    import psycopg

    from dpcore_tables.cells.typed import Cells

__all__ = ["PostgresqlDatabase", "open_postgresql"]

_PLACE = re.compile(r"([^:@/?#]*@)?[^@?#]*")
_SILENCE = {
    "connect_timeout": "10",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
"""Seconds, and milliseconds, after which a machine that does not answer is given up."""
_SETTINGS = {
    "bytea_output": "hex",
    "client_encoding": "UTF8",
    "cursor_tuple_fraction": "1",
    "datestyle": "ISO, YMD",
    "extra_float_digits": "1",
    "intervalstyle": "postgres",
    "lock_timeout": "10s",
    "standard_conforming_strings": "on",
    "timezone": "UTC",
}
"""Settings that decide what a cell's text is, and how the query is read."""
_OWN = """
SELECT 1 FROM (
    SELECT 'pg_catalog.pg_proc'::regclass AS kind, oid FROM pg_catalog.pg_proc
    UNION ALL SELECT 'pg_catalog.pg_operator'::regclass, oid FROM pg_catalog.pg_operator
    UNION ALL SELECT 'pg_catalog.pg_cast'::regclass, oid FROM pg_catalog.pg_cast) AS made
WHERE oid >= 16384 AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend
    WHERE objid = made.oid AND classid = made.kind AND deptype = 'e') LIMIT 1
"""
"""Finds a function, an operator or a cast of no extension, which may bear a listed name; what is
PostgreSQL's own has a smaller number (``FirstNormalObjectId`` in ``transam.h``)."""
_TABLE = """
WITH RECURSIVE parts(part) AS (
    SELECT to_regclass(%s)::oid
    UNION SELECT inhrelid FROM pg_catalog.pg_inherits JOIN parts ON inhparent = part)
SELECT NOT relrowsecurity AND relnamespace NOT IN (
    'pg_catalog'::regnamespace, 'information_schema'::regnamespace)
    AND NOT EXISTS (SELECT FROM parts JOIN pg_catalog.pg_class AS inner_one
        ON inner_one.oid = part WHERE inner_one.relkind NOT IN ('r', 'p')), attname
FROM pg_catalog.pg_class LEFT JOIN pg_catalog.pg_attribute
    ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
WHERE pg_class.oid = to_regclass(%s)
"""
"""Finds a table's columns, and whether its parts are tables too: a foreign one may be a view."""
_FAULTS = {
    "42501": "this user may not read what the query names; its owner grants SELECT",
    "55P03": "another transaction has locked it; try again",
    "57014": "the query was ended, by its statement_timeout or by the server's owner",
}
"""By SQLSTATE (PostgreSQL, appendix A)."""
_LOST = ("08", "57P", "53", "58")
"""Beginnings of those of a connection or a server that is gone."""
_INTEGERS = dict.fromkeys((20, 21, 23, 26), pa.int64())
_FLOATS = dict.fromkeys((700, 701, 1700), pa.float64())
_TYPES: dict[int, pa.DataType] = {
    **_INTEGERS,
    **_FLOATS,
    16: pa.bool_(),
    1082: pa.date32(),
    1114: pa.timestamp("us"),
    1184: pa.timestamp("us", "UTC"),
}
"""Types by their number in PostgreSQL's catalogue (``pg_type.dat``); all others are text."""


def open_postgresql(source: str, facts: ReadFacts) -> QueryRows:
    """Return the rows of ``postgresql://USER@HOST:PORT/DATABASE?query=...``; what is left out is
    libpq's own, as are further keys.

    Raises InvalidInputError for a wrong address, a query that is none or visibly not row by row,
    and a schema with a width.
    """
    address = Address.of(source, facts.promised)
    return QueryRows(PostgresqlDatabase(address, unit_of(facts.schema)), facts)


class PostgresqlDatabase:
    """A query of one database. ``unit`` : the column of ids that its tables may be joined by."""

    def __init__(self, address: Address, unit: str | None = None) -> None:
        self.source = address.source
        if not _PLACE.fullmatch(address.place):
            raise InvalidInputError(
                "Expected the address of a database as postgresql://USER@HOST:PORT/DATABASE, with "
                "%-escapes for other letters, and without a password."
            )
        keys = f"?{urlencode(address.others, quote_via=quote)}" if address.others else ""
        self._server = f"postgresql://{address.place}{keys}"
        self._query = read_query(address, "postgres", unit)

    @contextmanager
    def opened(self) -> Iterator[Result]:
        """Lend the result. DataError for a server that cannot be reached or is lost, and for rights
        that are missing; InvalidInputError for a query that it cannot answer."""
        with (
            replacing(_driver().Error, by=self._fault),
            ExitStack() as after,
            self._connected() as connection,
        ):
            self._require_rows(connection)
            cursor = connection.cursor("dpcore_rows")
            after.callback(cursor.close)  # Not before the connection, which may be lost.
            with replacing(_driver().Error, by=self._fault_of_query):
                cursor.execute(self._query.text.encode())  # Plans it, and fetches no row.
            described = cursor.description or ()
            kinds = [_TYPES.get(column.type_code, pa.string()) for column in described]
            names = [column.name for column in described]
            self._query.require_named(names)
            yield Result(names, kinds, _pieces(cursor, kinds))

    @contextmanager
    def _connected(self) -> Iterator[psycopg.Connection[Any]]:
        psycopg = _driver()

        def no_address(_: Exception) -> InvalidInputError:
            return InvalidInputError(f"{self.source} is no address that libpq understands.")

        with replacing(psycopg.ProgrammingError, by=no_address):
            told = psycopg.conninfo.conninfo_to_dict(self._server)
        options = {"application_name": "dpcore", **_SILENCE, **told}
        with replacing(psycopg.OperationalError, by=self._unreached):
            connection = psycopg.connect(**options)
        try:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.read_only = True
            settings = ", ".join("set_config(%s, %s, true)" for _ in _SETTINGS)
            connection.execute(f"SELECT {settings}", [*chain(*_SETTINGS.items())])
            _set_loaders(connection)
            yield connection
        finally:
            connection.close()

    def _require_rows(self, connection: psycopg.Connection[Any]) -> None:
        """Raise for a query whose names are not those of a table's own columns, unless its rows are
        claimed."""
        if self._query.is_claimed:
            return
        if connection.execute(_OWN).fetchall():
            self._query.refuse_unclaimed(
                "it has functions, operators or casts of its own, which may read other rows"
            )
        if any(folded(name, False) != name.lower() for name in self._query.bare_names()):
            self._query.refuse_unclaimed(
                "a capital letter beyond A to Z is small or not by the server's encoding: write "
                "its name in double quotes"
            )
        known: set[str] = set()
        for table in self._query.tables:
            found = connection.execute(_TABLE, [_named(table)] * 2).fetchall()
            is_table = any(of_table for of_table, _ in found)
            self._query.require_table(table, is_there=bool(found), is_table=is_table)
            known |= {column for _, column in found}
        self._query.require_columns(known, folded)
        if ids := self._query.joined_by:
            names, refuse = map(_named, self._query.tables), self._query.refuse_unclaimed
            require_alike_in_postgresql(connection, ids, [*names], refuse)

    def _unreached(self, error: psycopg.OperationalError) -> DataError:
        why = str(error).strip().partition("\n")[0]
        return DataError(f"{self.source} cannot be reached ({why}).")

    def _fault_of_query(self, error: psycopg.Error) -> Exception:
        state = error.sqlstate or ""
        if state in _FAULTS or state[:2] not in ("42", "0A", "3F"):
            return self._fault(error)
        told = (error.diag.message_primary or "").partition("\n")[0]
        return InvalidInputError(f"{self.source} cannot answer the query: {told}.")

    def _fault(self, error: psycopg.Error) -> DataError:
        state = error.sqlstate or ""
        why = _FAULTS.get(state, "")
        if not why and (not state or state.startswith(_LOST)):
            why = "the connection was lost before all rows were read"
        why = why or (
            f"the query ended with SQLSTATE {state} in the midst of rows; the message, which may "
            "quote a cell, is not shown: psql shows it"
        )
        return DataError(f"{self.source}: {why}.")


def _pieces(cursor: Any, kinds: Sequence[pa.DataType]) -> Iterator[tuple[int, Sequence[Cells]]]:
    is_first = True
    while (part := cursor.fetchmany(PIECE)) or is_first:
        columns = zip(*part, strict=True) if part else [()] * len(kinds)
        yield len(part), [_cells(c, kind) for c, kind in zip(columns, kinds, strict=True)]
        is_first = False


def _cells(column: Sequence[Any], kind: pa.DataType) -> Cells:
    """Return cells of a declared type; days and times as objects, since some are beyond Python's.

    Arrow's own ``array`` would import pandas.
    """
    if pa.types.is_temporal(kind):
        return as_objects(column)
    if pa.types.is_string(kind):
        builder = pa.lib.StringBuilder()
        builder.append_values(list(column))
        return pa.chunked_array([builder.finish()])
    n_cells, is_truth = len(column), pa.types.is_boolean(kind)
    there = np.fromiter((cell is not None for cell in column), bool, n_cells)
    dtype = bool if is_truth else np.dtype(str(kind).replace("double", "float64"))
    values = np.fromiter((0 if cell is None else cell for cell in column), dtype, n_cells)
    held = np.packbits(values, bitorder="little") if is_truth else values
    parts = [pa.py_buffer(np.packbits(there, bitorder="little")), pa.py_buffer(held)]
    return pa.chunked_array([pa.Array.from_buffers(kind, n_cells, parts)])


def _set_loaders(connection: psycopg.Connection[Any]) -> None:
    """Let each cell come as its type has it here, from the text that the server writes."""
    from psycopg.adapt import Loader
    from psycopg.types.numeric import IntLoader

    class Text(Loader):
        def load(self, data: Any) -> Any:
            # The server of a database without an encoding sends any bytes.
            return bytes(data).decode("utf-8", "replace")

    class Real(Loader):
        def load(self, data: Any) -> Any:
            return float(bytes(data))  # psycopg's raises where it is infinite, with the cell.

    class Truth(Loader):
        def load(self, data: Any) -> Any:
            return data == b"t"

    class Day(Text):
        def load(self, data: Any) -> Any:
            text = super().load(data)
            try:
                return datetime.datetime.fromisoformat(text)
            except ValueError:  # Infinity, before Christ, after 9999: a text that is no day.
                return text

    adapters = connection.adapters
    known = {oid for info in adapters.types for oid in (info.oid, info.array_oid)}
    for oid in {0, *known}:
        adapters.register_loader(oid, Text)
    for oid in _TYPES:
        numbers = IntLoader if oid in _INTEGERS else Real
        is_number = oid in _INTEGERS or oid in _FLOATS
        adapters.register_loader(oid, numbers if is_number else Truth if oid == 16 else Day)


def _named(table: Table) -> str:
    """Return a table's name with every part quoted."""
    parts = (folded(*part).replace('"', '""') for part in table.parts)
    return ".".join(f'"{part}"' for part in parts)


def _driver() -> Any:
    try:
        import psycopg
    except ImportError:
        raise InvalidInputError(
            "PostgreSQL is read by psycopg: pip install 'dpcore-tables[databases]'. Or save the "
            "rows as CSV or Parquet."
        ) from None
    return psycopg

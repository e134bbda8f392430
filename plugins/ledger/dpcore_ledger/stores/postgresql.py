"""A ledger in a PostgreSQL database, for several machines: a schema of its own with three tables.

A transaction that writes has the ledger's advisory lock from its first read to its end, and sees
what was committed before it had the lock (READ COMMITTED). Were the lock not kept, two transactions
would write an entry of one number, which the primary key refuses to the second. A commit waits for
the server's disk: ``synchronous_commit`` is switched on for it, and a server that runs with
``fsync = off`` or ``full_page_writes = off`` is refused. What the server's disk says of itself is
for the server's owner to know.

A connection that is lost rolls back what was not committed. Where it is lost during a commit, the
charge may be there: nothing is released all the same. A server that is silent is given up
(``dpcore_ledger.stores.patient``); what it was asked to commit it may commit when it goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError, LedgerError, replacing
from dpcore_ledger.stores.address import Address
from dpcore_ledger.stores.connection import Kept
from dpcore_ledger.stores.store import COPY, TABLES

if TYPE_CHECKING:
    import psycopg

__all__ = ["PostgresqlStore"]

_FORMAT = "dpcore ledger, format 2"
_WAIT = 10.0
"""Seconds that a transaction waits for others to end theirs."""
_SILENCE = {
    "connect_timeout": "10",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
"""Seconds, and milliseconds, after which a machine that does not answer is given up."""
_ABOUT = """
SELECT it::text, obj_description(it, 'pg_namespace'), has_schema_privilege(it, 'USAGE')
FROM (SELECT to_regnamespace(?)::oid::regnamespace AS it) AS named
"""
_GRANTS = "Its owner grants USAGE on the schema, SELECT and INSERT on the tables in it."
_LOCK = (
    "SELECT pg_advisory_xact_lock((1684043879::bigint << 32) | 'main.entry'::regclass::oid::bigint)"
)


class _Connection:
    """A connection whose statements are written as SQLite's: ``?`` for a value, and ``main`` for
    the schema, whatever the session's search path is."""

    def __init__(self, opened: psycopg.Connection[Any], schema: str) -> None:
        self._opened, self._schema = opened, schema

    def execute(self, statement: str, values: Sequence[Any] = ()) -> psycopg.Cursor[Any]:
        """Return a cursor after a statement; without values it may be several."""
        written = statement.replace("?", "%s").replace("main.", f'"{self._schema}".')
        return self._opened.execute(written, values or None)

    def close(self) -> None:
        self._opened.close()


class PostgresqlStore:
    """The store of an address.

    Raises InvalidInputError for a wrong address, and LedgerError without psycopg.
    """

    def __init__(self, address: str) -> None:
        self._place = Address.of(address)
        self.address = self._place.text
        self.stays_open = False
        self._main = Kept(lambda: self._connected("on"))
        self._log = Kept(lambda: self._connected("off"))

    @contextmanager
    def creating(self) -> Iterator[_Connection]:
        """Lend a new schema, which its maker alone may use until others are granted to."""
        there_already = _driver().errors.DuplicateSchema
        schema = self._place.ledger
        with self._lent(self._main) as connection, self._transaction(connection):
            there = LedgerError(
                f"{self.address!r} is there already; choose another name (?ledger=NAME)."
            )
            with replacing(there_already, by=lambda _: there):
                connection.execute(f'CREATE SCHEMA "{schema}"')
            connection.execute(f"COMMENT ON SCHEMA \"{schema}\" IS '{_FORMAT}'")
            for table in TABLES:
                connection.execute(table)
            yield connection

    @contextmanager
    def reading(self) -> Iterator[_Connection]:
        with self._lent(self._main) as connection:
            self._require_ledger(connection)
            yield connection

    @contextmanager
    def writing(self) -> Iterator[_Connection]:
        with self._lent(self._main) as connection, self._transaction(connection):
            self._require_ledger(connection)
            connection.execute(_LOCK)
            yield connection

    @contextmanager
    def logging(self) -> Iterator[_Connection]:
        with self._lent(self._log, stays_open=True) as connection:
            yield connection

    def close(self) -> None:
        """Close the connections of this process; the next call opens others."""
        self._log.close()
        self._main.close()

    @contextmanager
    def _lent(self, kept: Kept[_Connection], stays_open: bool = False) -> Iterator[_Connection]:
        psycopg = _driver()
        with (
            replacing(psycopg.Error, by=lambda error: LedgerError(self._fault(error))),
            kept.lent(stays_open or self.stays_open) as connection,
        ):
            yield connection

    @contextmanager
    def _transaction(self, connection: _Connection) -> Iterator[None]:
        """Begin and commit a transaction. Where it fails, the connection is closed, which undoes
        it (``Kept.lent``)."""
        # Whoever vanishes within it holds the lock no longer than this.
        connection.execute(
            "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL synchronous_commit = on; "
            f"SET LOCAL lock_timeout = '{_WAIT:g}s'; SET LOCAL statement_timeout = '60s'; "
            "SET LOCAL idle_in_transaction_session_timeout = '60s'"
        )
        yield
        connection.execute("COMMIT")

    def _connected(self, synchronous: str) -> _Connection:
        psycopg = _driver()
        from dpcore_ledger.stores.patient import PatientConnection

        def no_address(error: Exception) -> InvalidInputError:
            return InvalidInputError(f"{self.address!r} is no address: {error}")

        with replacing(psycopg.ProgrammingError, by=no_address):
            told = psycopg.conninfo.conninfo_to_dict(self._place.server)
        options = {"application_name": "dpcore", **_SILENCE, **told}
        opened = PatientConnection.connect(autocommit=True, prepare_threshold=None, **options)
        connection = _Connection(opened, self._place.ledger)
        try:
            self._require_disk(connection)
            connection.execute(
                f"SET synchronous_commit = {synchronous}; SET statement_timeout = '60s'; "
                "SET client_encoding = UTF8"
            )
        except BaseException:
            connection.close()
            raise
        return connection

    def _require_disk(self, connection: _Connection) -> None:
        for name in ("fsync", "full_page_writes"):
            (value,) = connection.execute("SELECT current_setting(?)", (name,)).fetchone() or ("",)
            if value != "on":
                raise LedgerError(
                    f"The server of {self.address!r} has {name} = {value}: it may forget a charge "
                    "that it has confirmed. Nothing was charged; ask who runs it to switch it on."
                )

    def _require_ledger(self, connection: _Connection) -> None:
        (name, said, is_usable) = connection.execute(_ABOUT, (self._place.ledger,)).fetchone() or (
            None,
            None,
            False,
        )
        if name is None:
            raise LedgerError(
                f"There is no ledger {self.address!r}; `dpcore ledger init` makes a new one."
            )
        if said != _FORMAT:
            raise LedgerError(
                f"{self.address!r} is no ledger of dpcore, or of another format than {_FORMAT!r}."
            )
        if not is_usable:
            raise LedgerError(f"The ledger {self.address!r} may not be used. {_GRANTS}")

    def _fault(self, error: psycopg.Error) -> str:
        errors = _driver().errors
        why = str(error).strip().partition("\n")[0]
        if isinstance(error, (errors.LockNotAvailable, errors.UniqueViolation)):
            return (
                f"The ledger {self.address!r} is in use by others (waited up to {_WAIT:g} s); "
                "nothing was charged. Try again."
            )
        if isinstance(
            error, (errors.OperationalError, errors.InternalError, errors.NotSupportedError)
        ):
            return (
                f"The ledger {self.address!r} cannot be reached or written ({why}): nothing is "
                "released without it."
            )
        if isinstance(error, errors.InsufficientPrivilege):
            return f"The ledger {self.address!r} may not be used ({why}). {_GRANTS}"
        return f"{self.address!r} is no ledger, or was damaged ({why}). {COPY}"


def _driver() -> Any:
    try:
        import psycopg
    except ImportError:
        raise LedgerError(
            "A ledger in PostgreSQL needs psycopg, which is not installed: "
            "pip install 'dpcore[postgresql]'."
        ) from None
    return psycopg

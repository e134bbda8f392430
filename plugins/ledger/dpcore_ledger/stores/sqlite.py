"""A ledger in a SQLite file.

A transaction that writes has the file's one write lock from its first read to its commit. It is on
disk when it ends: a log written ahead (WAL), synchronised at each commit (``synchronous = FULL``).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from dpcore.errors import LedgerError, replacing
from dpcore_ledger.stores.connection import Kept
from dpcore_ledger.stores.store import COPY, TABLES

__all__ = ["SqliteStore"]

_FORMAT = 2
_APPLICATION = 0x64706C67
_WAIT = 10.0
"""Seconds that a transaction waits for others to end theirs."""


class SqliteStore:
    """The store of a path."""

    def __init__(self, path: str) -> None:
        self.address = path
        self.stays_open = False
        """The last who closes the file waits for the disk several times, and copies into it what
        was written ahead."""
        self._file = Kept(lambda: self._connected("mode=rw", "FULL"))
        self._log = Kept(lambda: self._connected("mode=rw", "NORMAL"))
        self._read_only = Kept(self._connected_to_read)

    @contextmanager
    def creating(self) -> Iterator[sqlite3.Connection]:
        """Lend a new file, of mode 0600 where the system has modes."""
        try:
            os.close(os.open(self.address, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError:
            raise LedgerError(f"{self.address!r} is there already; choose another path.") from None
        except OSError as error:
            raise LedgerError(f"Cannot write {self.address!r}: {error.strerror}.") from None
        with self._opened(self._file) as connection, _transaction(connection):
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {_FORMAT}")
            for table in TABLES:
                connection.execute(f"{table} STRICT")
            yield connection

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        # In a folder that cannot be written to, as on a read-only mount, readers have no locks.
        folder = os.path.dirname(os.path.realpath(self.address))
        kept = self._file if os.access(folder, os.W_OK) else self._read_only
        with self._opened(kept) as connection:
            self._require_ledger(connection)
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        with self._opened(self._file) as connection, _transaction(connection):
            self._require_ledger(connection)
            yield connection

    @contextmanager
    def logging(self) -> Iterator[sqlite3.Connection]:
        with self._opened(self._log, stays_open=True) as connection:
            yield connection

    def close(self) -> None:
        """Close the file; the next call opens it anew."""
        for kept in (self._log, self._file, self._read_only):
            kept.close()

    @contextmanager
    def _opened(
        self, kept: Kept[sqlite3.Connection], stays_open: bool = False
    ) -> Iterator[sqlite3.Connection]:
        if not os.path.isfile(self.address):
            raise LedgerError(
                f"There is no ledger {self.address!r}; `dpcore ledger init` makes a new one."
            )
        if os.stat(self.address).st_nlink != 1:
            raise LedgerError(
                f"{self.address!r} has a second name (a hard link), under which others would be "
                "told of another log: remove one of them."
            )
        kinds = sqlite3.Error, UnicodeDecodeError
        with (
            replacing(*kinds, by=lambda error: LedgerError(self._fault(error))),
            kept.lent(stays_open or self.stays_open) as connection,
        ):
            yield connection

    def _connected_to_read(self) -> sqlite3.Connection:
        """Return a connection without locks, which sees no entry that is in the log alone: where
        there is such a log, its readers need the file of their locks beside it."""
        log, locks = (f"{os.path.realpath(self.address)}{end}" for end in ("-wal", "-shm"))
        if not (os.path.isfile(log) and os.path.getsize(log)):
            return self._connected("mode=ro&immutable=1", "OFF")
        if os.path.isfile(locks):
            return self._connected("mode=ro", "OFF")
        raise LedgerError(
            f"The last entries of {self.address!r} are in {os.path.basename(log)!r} beside it, "
            "which is read in a folder that can be written to: copy both there."
        )

    def _connected(self, mode: str, synchronous: str) -> sqlite3.Connection:
        name = f"{Path(self.address).absolute().as_uri()}?{mode}"
        # Autocommit: transactions begin and end where this module says so. Sessions are asked by
        # one thread at a time, but not always by the same.
        options: dict[str, Any] = {"isolation_level": None, "check_same_thread": False}
        connection: sqlite3.Connection = sqlite3.connect(name, timeout=_WAIT, uri=True, **options)
        with ExitStack() as closing:
            closing.callback(connection.close)
            # What is no database refuses that.
            connection.execute(f"PRAGMA synchronous = {synchronous}")
            closing.pop_all()
        return connection

    def _require_ledger(self, connection: sqlite3.Connection) -> None:
        if connection.execute("PRAGMA application_id").fetchone() != (_APPLICATION,):
            raise LedgerError(f"{self.address!r} is no ledger of dpcore.")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version != _FORMAT:
            raise LedgerError(
                f"{self.address!r} has format {version}; this dpcore reads {_FORMAT}."
            )

    def _fault(self, error: Exception) -> str:
        code = getattr(error, "sqlite_errorname", "")
        if code.startswith("SQLITE_BUSY"):
            return (
                f"The ledger {self.address!r} was in use by others for {_WAIT:g} seconds; nothing "
                "was charged. Try again."
            )
        if code.startswith(("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN")):
            return (
                f"The ledger {self.address!r} cannot be written ({error}): nothing is released "
                "without it."
            )
        return f"{self.address!r} is no ledger, or was damaged ({error}). {COPY}"


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise

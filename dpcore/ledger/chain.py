"""Entries in a SQLite file, each with a digest of itself and all before it.

A transaction that adds an entry has the file's one write lock from its first read to its commit, so
that two processes decide one after the other. It is on disk when ``added`` returns: a log written
ahead (WAL), synchronised at each commit (``synchronous = FULL``).

The digests find what was altered, by a fault of the disk or by hand. They do not find an older copy
in the place of the file: it is a shorter chain, and whole. Whoever has a model of a later run finds
that too (``dpcore.ledger.verify``). Nor do they keep out somebody who may write the file and
computes all digests anew: they have no secret.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpcore.errors import LedgerError
from dpcore.ledger.run_log import ENDED, RELEASES, digest_of_release

__all__ = ["Chain", "Entry"]

_FORMAT = 1
_APPLICATION = 0x64706C67
_WAIT = 10.0
"""Seconds that a transaction waits for others to end theirs."""
_TABLE = """
CREATE TABLE entry (
    number INTEGER PRIMARY KEY, kind TEXT NOT NULL, at TEXT NOT NULL, body TEXT NOT NULL,
    digest TEXT NOT NULL
) STRICT
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry as it is stored. ``at`` : when, by the clock of who wrote it; nothing rests on it.

    ``digest`` : SHA-256 of the digest before and of all else here, in hexadecimal digits.
    """

    number: int
    kind: str
    at: str
    body: dict[str, Any]
    digest: str


class Chain:
    """The entries of a file.

    All methods raise LedgerError where the file is not there, is no ledger, was altered or cannot
    be written, and leave it as it was.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._of_process: tuple[int, sqlite3.Connection] | None = None
        self._left: tuple[Any, ...] = ()
        self._lock = threading.Lock()
        self.stays_open = False
        """Whether the file stays open between calls, until ``close``: the last who closes it waits
        for the disk several times, and copies into it what was written ahead."""

    def created(self, kind: str, at: str, body: dict[str, Any]) -> Entry:
        """Return the first entry of a new file, of mode 0600 where the system has modes."""
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError:
            raise LedgerError(f"{self.path!r} is there already; choose another path.") from None
        except OSError as error:
            raise LedgerError(f"Cannot write {self.path!r}: {error.strerror}.") from None
        with self._writing() as connection:
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {_FORMAT}")
            connection.execute(_TABLE)
            connection.execute(RELEASES)
            connection.execute(ENDED)
            return _append(connection, "", 1, kind, at, body)

    def entries(self) -> list[Entry]:
        """Return all entries, their digests verified."""
        with self._open() as connection:
            return self._read(connection)

    def releases(self, run: int, digest: str) -> tuple[list[dict[str, Any]], str]:
        """Return the releases of a run, from the digest of its reservation on, and the digest of
        the last one, all verified."""
        with self._open() as connection:
            query = "SELECT place, body, digest FROM release WHERE run = ? ORDER BY place"
            found = []
            for expected, (place, body, stored) in enumerate(connection.execute(query, (run,)), 1):
                digest = digest_of_release(digest, run, expected, body)
                if (place, stored) != (expected, digest):
                    raise LedgerError(
                        f"{self.path!r} was altered at release {expected} of run {run}. {_COPY}"
                    )
                found.append(json.loads(body))
            return found, digest

    def added(self, decide: Callable[[list[Entry]], tuple[str, str, dict[str, Any]]]) -> Entry:
        """Return a new entry, on disk: of the kind, time and body that ``decide`` returns, who sees
        all entries before it and who may refuse by raising."""
        with self._writing() as connection:
            before = self._read(connection)
            last = before[-1]
            return _append(connection, last.digest, last.number + 1, *decide(before))

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._open() as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        if not os.path.isfile(self.path):
            raise LedgerError(
                f"There is no ledger {self.path!r}; `dpcore ledger init` makes a new one."
            )
        if os.stat(self.path).st_nlink != 1:
            raise LedgerError(
                f"{self.path!r} has a second name (a hard link), under which others would be told "
                "of another log: remove one of them."
            )
        try:
            with self._lock:
                try:
                    yield self._connected()
                finally:
                    if not self.stays_open:
                        self.close()
        except (sqlite3.Error, UnicodeDecodeError, _WrongType) as error:
            raise LedgerError(self._fault(error)) from None

    def _connected(self) -> sqlite3.Connection:
        """Return the connection of this process. A child of it has one of its own: SQLite's do not
        survive a fork."""
        opened = self._of_process
        if opened is None or opened[0] != os.getpid():
            name = Path(self.path).absolute().as_uri() + "?mode=rw"
            # Autocommit: transactions begin and end where this module says so.
            options: dict[str, Any] = {"isolation_level": None, "check_same_thread": False}
            connection = sqlite3.connect(name, timeout=_WAIT, uri=True, **options)
            self._left = (*self._left, opened)  # Closed here, it would take locks off the parent.
            self._of_process = opened = os.getpid(), connection
        return opened[1]

    def close(self) -> None:
        """Close the file; the next call opens it anew."""
        opened, self._of_process = self._of_process, None
        if opened is not None and opened[0] == os.getpid():
            opened[1].close()

    def _fault(self, error: Exception) -> str:
        code = getattr(error, "sqlite_errorname", "")
        if code.startswith("SQLITE_BUSY"):
            return (
                f"The ledger {self.path!r} was in use by others for {_WAIT:g} seconds; nothing was "
                "charged. Try again."
            )
        if code.startswith(("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN")):
            return f"The ledger {self.path!r} cannot be written ({error}): nothing is released."
        return f"{self.path!r} is no ledger, or was damaged ({error}). {_COPY}"

    def _read(self, connection: sqlite3.Connection) -> list[Entry]:
        if connection.execute("PRAGMA application_id").fetchone() != (_APPLICATION,):
            raise LedgerError(f"{self.path!r} is no ledger of dpcore.")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version != _FORMAT:
            raise LedgerError(f"{self.path!r} has format {version}; this dpcore reads {_FORMAT}.")
        rows = connection.execute("SELECT number, kind, at, body, digest FROM entry ORDER BY 1")
        entries, before = [], ""
        for place, (number, kind, at, body, digest) in enumerate(rows, start=1):
            if number != place or digest != _digest(before, number, kind, at, body):
                raise LedgerError(f"{self.path!r} was altered at entry {place}. {_COPY}")
            entries.append(Entry(number, kind, at, json.loads(body), digest))
            before = digest
        if not entries:
            raise LedgerError(f"{self.path!r} has no entries: it was cut short. {_COPY}")
        return entries


class _WrongType(Exception):
    """A stored value that is no text."""


_COPY = (
    "Charge nothing to it any more: take its last whole copy, and hold that against the models "
    "that were made since (`dpcore ledger verify COPY MODELS`)."
)


def _append(
    connection: sqlite3.Connection,
    before: str,
    number: int,
    kind: str,
    at: str,
    body: dict[str, Any],
) -> Entry:
    text = json.dumps(body, sort_keys=True, allow_nan=False)
    digest = _digest(before, number, kind, at, text)
    row = (number, kind, at, text, digest)
    connection.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?)", row)
    if kind == "closed":
        connection.execute("INSERT INTO ended VALUES (?)", (body["run"],))
    return Entry(number, kind, at, body, digest)


def _digest(before: str, number: int, kind: str, at: str, body: str) -> str:
    if not all(isinstance(text, str) for text in (kind, at, body)):
        raise _WrongType("an entry of another type")
    whole = json.dumps([before, number, kind, at, body])
    return hashlib.sha256(whole.encode()).hexdigest()

"""The releases of a run, written down as they happen.

Nothing rests on them: the run's whole budget was charged before the first. So they do not wait for
the disk; but nothing is drawn for a release that cannot be written. Their digests begin with that
of the run's reservation.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from pathlib import Path

from dpcore.errors import LedgerError
from dpcore.session.ledger import Ledger, LedgerEntry

__all__ = ["ENDED", "RELEASES", "RunLog", "digest_of_release"]

RELEASES = """
CREATE TABLE release (
    run INTEGER NOT NULL, place INTEGER NOT NULL, body TEXT NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (run, place)
) STRICT
"""
ENDED = "CREATE TABLE ended (run INTEGER PRIMARY KEY) STRICT"
"""Runs that were closed, whoever closed them: their releases are refused."""
_ADD = """
INSERT INTO release SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS (SELECT 1 FROM ended WHERE run = ?1)
"""
_WAIT = 10.0


def digest_of_release(before: str, run: int, place: int, body: str) -> str:
    """Return the SHA-256 of a release and of all of its run before it."""
    return hashlib.sha256(json.dumps([before, run, place, str(body)]).encode()).hexdigest()


class RunLog(Ledger[LedgerEntry]):
    """A run's charges, each in the file too before anything is drawn for it.

    Parameters
    ----------
    path : the ledger's file.
    run, digest : number and digest of the run's reservation.
    """

    def __init__(self, path: str, run: int, digest: str) -> None:
        super().__init__()
        self._path, self._run = path, run
        self._lock, self._is_closed = threading.Lock(), False
        self._connection: sqlite3.Connection | None = None
        self.last = digest
        """The digest of the last release."""

    def charge(self, entry: LedgerEntry) -> None:
        """Write an entry down, for good. Raises LedgerError, and nothing is drawn then, where it
        cannot be written, or the run is closed."""
        with self._lock:
            if self._is_closed:
                raise LedgerError("The run was closed in its ledger: it makes no more releases.")
            self._write(entry)

    def _write(self, entry: LedgerEntry) -> None:
        place = len(self) + 1
        body = json.dumps({"kind": entry.kind, "mechanism": entry.mechanism, "cost": entry.cost})
        digest = digest_of_release(self.last, self._run, place, body)
        try:
            if self._connection is None:
                self._connection = _opened(self._path)
            row = (self._run, place, body, digest)
            written = self._connection.execute(_ADD, row).rowcount
        except sqlite3.Error as error:
            raise LedgerError(
                f"The release could not be written to the ledger {self._path!r} ({error}): it was "
                "not made."
            ) from None
        if written != 1:
            raise LedgerError("The run was closed in its ledger: it makes no more releases.")
        self.last = digest
        super().charge(entry)

    def close(self) -> None:
        """Let no further charge in, and close the file."""
        with self._lock:
            self._is_closed = True
            if self._connection is not None:
                self._connection.close()
                self._connection = None


def _opened(path: str) -> sqlite3.Connection:
    name = Path(os.path.abspath(path)).as_uri() + "?mode=rw"
    # Sessions are asked by one thread at a time, but not always by the same.
    connection = sqlite3.connect(
        name, timeout=_WAIT, isolation_level=None, uri=True, check_same_thread=False
    )
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection

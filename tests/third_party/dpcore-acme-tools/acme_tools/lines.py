"""Ledgers in a file of lines, which only grows: ``acme-lines://PATH``, on POSIX systems.

A line is what one transaction added: rows of the ledger's tables, as JSON. It is on disk before the
transaction ends; a line that was cut short belongs to one that never ended, and is taken away. The
file's lock is held from a transaction's first read to its end.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from dpcore.errors import LedgerError, replacing
from dpcore_ledger.stores import COPY, TABLES

__all__ = ["LinesStore"]

_SCHEME = "acme-lines://"
_HEAD = b'"acme-tools ledger, format 1"\n'
_WIDTHS = {"entry": 5, "release": 4, "ended": 1}
_Tables = dict[str, list[tuple[int | str, ...]]]


class LinesStore:
    """The store of an address."""

    def __init__(self, address: str) -> None:
        self.address, self.stays_open = address, False
        self._path = address.removeprefix(_SCHEME)

    @contextmanager
    def creating(self) -> Iterator[sqlite3.Connection]:
        try:
            flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND
            file = os.open(self._path, flags, 0o600)
        except OSError as error:
            raise LedgerError(f"Cannot make {self.address!r}: {error.strerror}.") from None
        try:
            with self._locked(file, fcntl.LOCK_EX), self._tables([]) as rows:
                yield rows
                self._add(file, _HEAD, _all_of(rows))
                _sync_folder(self._path)
        except BaseException:
            os.unlink(self._path)
            raise

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        file = self._opened(os.O_RDONLY)
        with self._locked(file, fcntl.LOCK_SH), self._tables(self._lines(file)) as rows:
            yield rows

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        file = self._opened(os.O_RDWR | os.O_APPEND)
        with self._locked(file, fcntl.LOCK_EX), self._tables(self._lines(file)) as rows:
            before = _all_of(rows)
            yield rows
            after = _all_of(rows)
            added = {t: [row for row in after[t] if row not in before[t]] for t in _WIDTHS}
            if any(added.values()):
                self._add(file, b"", added)

    logging = writing

    def close(self) -> None:
        """Nothing stays open."""

    def _opened(self, flags: int) -> int:
        try:
            return os.open(self._path, flags)
        except OSError as error:
            raise LedgerError(
                f"There is no ledger {self.address!r}, or it may not be used: {error.strerror}; "
                "`dpcore ledger init` makes a new one."
            ) from None

    @contextmanager
    def _locked(self, file: int, lock: int) -> Iterator[None]:
        unwritable = LedgerError(f"The ledger {self.address!r} cannot be written: no release.")
        try:
            with replacing(OSError, by=lambda _: unwritable):
                fcntl.flock(file, lock)
                yield
        finally:
            os.close(file)  # This unlocks it.

    def _lines(self, file: int) -> list[bytes]:
        content = os.pread(file, os.fstat(file).st_size, 0)
        head, *lines = content.splitlines(keepends=True) or [b""]
        if head != _HEAD:
            raise LedgerError(f"{self.address!r} is no ledger of acme-tools.")
        return lines

    @contextmanager
    def _tables(self, lines: list[bytes]) -> Iterator[sqlite3.Connection]:
        """Lend the tables in memory: what fails leaves the file as it was."""
        rows = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        try:
            for table in TABLES:
                rows.execute(table)
            damaged = LedgerError(f"{self.address!r} was damaged. {COPY}")
            kinds = sqlite3.Error, ValueError, TypeError, AttributeError, LookupError
            with replacing(*kinds, by=lambda _: damaged):
                for line in lines:
                    for table, added in json.loads(line).items() if line.endswith(b"\n") else ():
                        marks = ", ".join("?" * _WIDTHS[table])
                        rows.executemany(f"INSERT INTO {table} VALUES ({marks})", added)
            yield rows
        finally:
            rows.close()

    def _add(self, file: int, head: bytes, added: _Tables) -> None:
        """Add a line, in the place of one that was cut short."""
        whole, _, cut = os.pread(file, os.fstat(file).st_size, 0).rpartition(b"\n")
        if cut:
            os.ftruncate(file, len(whole) + 1)
        line = memoryview(head + json.dumps(added).encode() + b"\n")
        while line:
            line = line[os.write(file, line) :]
        os.fsync(file)


def _all_of(rows: sqlite3.Connection) -> _Tables:
    return {table: rows.execute(f"SELECT * FROM {table}").fetchall() for table in _WIDTHS}


def _sync_folder(path: str) -> None:
    folder = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)

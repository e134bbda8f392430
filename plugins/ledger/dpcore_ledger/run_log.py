"""The releases of a run, written down as they happen, those of a tenth of a second together.

The run's whole budget was charged before the first, and each is held to it
(``dpcore_ledger.held``). So they do not wait for the disk, nor each for a transaction of its own:
what a process that is killed has not written, it has charged all the same. But nothing is drawn
where the releases before it cannot be written, nor once the run was closed by others, which is
asked at each. Their digests begin with that of the run's reservation.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from typing import TYPE_CHECKING

from dpcore.errors import LedgerError
from dpcore.plugin.ledgers import LedgerEntry
from dpcore.plugin.parts import ChargeLog

if TYPE_CHECKING:
    from dpcore_ledger.held import Held
    from dpcore_ledger.stores.store import Store

__all__ = ["RunLog", "digest_of_release"]

_ADD = """
INSERT INTO main.release (run, place, body, digest)
SELECT * FROM (VALUES {}) AS made WHERE NOT EXISTS (SELECT 1 FROM main.ended WHERE run = ?)
"""
_LAST = "SELECT place, digest FROM main.release WHERE run = ? ORDER BY place DESC LIMIT 1"
_ENDED = "SELECT count(*) FROM main.ended WHERE run = ?"
_PAUSE = 0.1
"""Seconds between two transactions of one run."""
_MOST = 200
"""Releases of one statement: SQLite may take as few as 999 values."""


def digest_of_release(before: str, run: int, place: int, body: str) -> str:
    """Return the SHA-256 of a release and of all of its run before it."""
    return hashlib.sha256(json.dumps([before, run, place, str(body)]).encode()).hexdigest()


class RunLog(ChargeLog[LedgerEntry]):
    """A run's charges, each in the ledger too before anything is drawn for it.

    Parameters
    ----------
    store : the ledger's.
    run, digest : number and digest of the run's reservation.
    held : what that holds of the run's releases.
    """

    def __init__(self, store: Store, run: int, digest: str, held: Held) -> None:
        super().__init__()
        self._store, self._run, self._held = store, run, held
        self._lock, self._is_closed = threading.Lock(), False
        self._waiting: list[LedgerEntry] = []
        self._due, self._in_doubt = 0.0, False
        self.written, self.last = 0, digest
        """How many releases were written, and the digest of the last one."""

    def charge(self, entry: LedgerEntry) -> None:
        """Charge an entry, for good. Raises LedgerError, and nothing is drawn then, where the run
        is closed, or it is time to write and that cannot be done; what ``Held.after`` raises for a
        release that its reservation does not hold."""
        with self._lock:
            if self._is_closed:
                raise LedgerError(_CLOSED)
            held = self._held.after(entry)
            waiting = [*self._waiting, entry]
            if time.monotonic() >= self._due or len(waiting) >= _MOST:
                if not self._write(waiting):
                    raise LedgerError(_CLOSED)
                waiting = []
            elif self._is_ended():
                raise LedgerError(_CLOSED)
            self._waiting, self._held = waiting, held
            super().charge(entry)

    def _is_ended(self) -> bool:
        with self._store.logging() as rows:
            return bool(rows.execute(_ENDED, (self._run,)).fetchone()[0])

    def _write(self, entries: list[LedgerEntry]) -> bool:
        """Return whether these were written, all of them: not to a run that was closed."""
        values: list[int | str] = []
        last = self.last
        for place, entry in enumerate(entries, self.written + 1):
            said = {"kind": entry.kind, "mechanism": entry.mechanism, "cost": entry.cost}
            body = json.dumps(said)
            last = digest_of_release(last, self._run, place, body)
            values += [self._run, place, body, last]
        statement = _ADD.format(", ".join(["(?, ?, ?, ?)"] * len(entries)))
        self._in_doubt = True
        with self._store.logging() as rows:
            written = rows.execute(statement, (*values, self._run)).rowcount
        self._in_doubt = False
        if written != len(entries):
            return False
        self.last, self.written = last, self.written + written
        self._due = time.monotonic() + _PAUSE
        return True

    def close(self) -> None:
        """Let no further charge in, and write what waits, unless others closed the run. It may be
        called again where it failed."""
        with self._lock:
            self._is_closed = True
            if self._in_doubt:
                self._count_in_what_was_written()
            if self._waiting and self._write(self._waiting):
                self._waiting = []

    def _count_in_what_was_written(self) -> None:
        """Count in the releases of a statement whose answer was lost: those that wait, and the last
        one too, which was not drawn for want of the answer."""
        with self._store.logging() as rows:
            place, digest = rows.execute(_LAST, (self._run,)).fetchone() or (0, self.last)
        if place > self.written:
            self._waiting = self._waiting[place - self.written :]
            self.written, self.last = place, digest


_CLOSED = "The run was closed in its ledger: it makes no more releases."

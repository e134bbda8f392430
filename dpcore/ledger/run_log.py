"""The releases of a run, written down as they happen.

Nothing rests on them: the run's whole budget was charged before the first. So they do not wait for
the disk; but nothing is drawn for a release that cannot be written. Their digests begin with that
of the run's reservation.
"""

from __future__ import annotations

import hashlib
import json
import threading
from typing import TYPE_CHECKING

from dpcore.errors import LedgerError
from dpcore.session.ledger import Ledger, LedgerEntry

if TYPE_CHECKING:
    from dpcore.ledger.stores.store import Store

__all__ = ["RunLog", "digest_of_release"]

_ADD = """
INSERT INTO main.release (run, place, body, digest)
SELECT ?, ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM main.ended WHERE run = ?)
"""


def digest_of_release(before: str, run: int, place: int, body: str) -> str:
    """Return the SHA-256 of a release and of all of its run before it."""
    return hashlib.sha256(json.dumps([before, run, place, str(body)]).encode()).hexdigest()


class RunLog(Ledger[LedgerEntry]):
    """A run's charges, each in the ledger too before anything is drawn for it.

    Parameters
    ----------
    store : the ledger's.
    run, digest : number and digest of the run's reservation.
    """

    def __init__(self, store: Store, run: int, digest: str) -> None:
        super().__init__()
        self._store, self._run = store, run
        self._lock, self._is_closed = threading.Lock(), False
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
        row = (self._run, place, body, digest, self._run)
        with self._store.logging() as rows:
            written = rows.execute(_ADD, row).rowcount
        if written != 1:
            raise LedgerError("The run was closed in its ledger: it makes no more releases.")
        self.last = digest
        super().charge(entry)

    def close(self) -> None:
        """Let no further charge in."""
        with self._lock:
            self._is_closed = True

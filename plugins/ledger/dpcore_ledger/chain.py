"""Entries of a ledger, each with a digest of itself and all before it.

The digests find what was altered, by a fault of the disk or by hand: every entry is read and held
against its digest before another is added. They do not find an older copy in the place of the
ledger: it is a shorter chain, and whole. Whoever has a model of a later run finds that too
(``dpcore_ledger.verify``). Nor do they keep out somebody who may write the ledger and computes all
digests anew: they have no secret.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from typing import Any, NamedTuple

from dpcore.errors import LedgerError, replacing
from dpcore_ledger.run_log import digest_of_release
from dpcore_ledger.stores import Rows, store_at
from dpcore_ledger.stores.store import COPY

__all__ = ["Chain", "Entry"]


class Entry(NamedTuple):
    """An entry as it is stored. ``at`` : when, by the clock of who wrote it; nothing rests on it.

    ``text`` : its body, as JSON. ``digest`` : SHA-256 of the digest before and of all else here, in
    hexadecimal digits.
    """

    number: int
    kind: str
    at: str
    text: str
    digest: str

    @property
    def body(self) -> dict[str, Any]:
        """The text, read; LedgerError where it is none, as whoever can forge digests may write."""
        body: dict[str, Any] = _parsed(self.text)
        return body


class Chain:
    """The entries of a ledger.

    All methods raise LedgerError where the ledger is not there, is none, was altered or cannot be
    written, and leave it as it was.
    """

    def __init__(self, place: str | os.PathLike[str]) -> None:
        self.store = store_at(place)
        self.address = self.store.address

    def created(self, kind: str, at: str, body: dict[str, Any]) -> Entry:
        """Return the first entry of a new ledger."""
        with self.store.creating() as rows:
            return _append(rows, "", 1, kind, at, body)

    def entries(self) -> list[Entry]:
        """Return all entries, their digests verified."""
        with self.store.reading() as rows:
            return self._read(rows)

    def settled(self) -> list[Entry]:
        """Return all entries, verified, when every transaction that was writing has ended: an entry
        whose writer lost its connection is among them then, or never comes."""
        with self.store.writing() as rows:
            return self._read(rows)

    def releases(self, entry: int, digest: str) -> tuple[list[dict[str, Any]], str]:
        """Return the releases of the run that an entry reserved, from its digest on, and the digest
        of the last one, all verified."""
        with self.store.reading() as rows:
            query = "SELECT place, body, digest FROM main.release WHERE run = ? ORDER BY place"
            found = []
            for expected, (place, body, stored) in enumerate(rows.execute(query, (entry,)), 1):
                digest = digest_of_release(digest, entry, expected, body)
                if (place, stored) != (expected, digest):
                    raise LedgerError(
                        f"{self.address!r} was altered at release {expected} of the run that entry "
                        f"{entry} reserved. {COPY}"
                    )
                found.append(_parsed(body))
            return found, digest

    def added(self, decide: Callable[[list[Entry]], tuple[str, str, dict[str, Any]]]) -> Entry:
        """Return a new entry, on disk: of the kind, time and body that ``decide`` returns, who sees
        all entries before it and who may refuse by raising."""
        with self.store.writing() as rows:
            before = self._read(rows)
            last = before[-1]
            return _append(rows, last.digest, last.number + 1, *decide(before))

    def _read(self, rows: Rows) -> list[Entry]:
        found = rows.execute(
            "SELECT number, kind, at, body, digest FROM main.entry ORDER BY number"
        )
        entries, before = [], ""
        for place, row in enumerate(found, start=1):
            number, kind, at, text, digest = row
            if number != place or digest != _digest(before, number, kind, at, text):
                raise LedgerError(f"{self.address!r} was altered at entry {place}. {COPY}")
            entries.append(Entry._make(row))
            before = digest
        if not entries:
            raise LedgerError(f"{self.address!r} has no entries: it was cut short. {COPY}")
        return entries


def _parsed(text: str) -> Any:
    unread = LedgerError(f"The ledger has an entry that cannot be read: it was altered. {COPY}")
    with replacing(TypeError, ValueError, RecursionError, by=lambda _: unread):
        return json.loads(text)


def _append(
    rows: Rows, before: str, number: int, kind: str, at: str, body: dict[str, Any]
) -> Entry:
    text = json.dumps(body, sort_keys=True, allow_nan=False)
    entry = Entry(number, kind, at, text, _digest(before, number, kind, at, text))
    rows.execute(
        "INSERT INTO main.entry (number, kind, at, body, digest) VALUES (?, ?, ?, ?, ?)", entry
    )
    if kind == "closed":
        rows.execute("INSERT INTO main.ended (run) VALUES (?)", (body["run"],))
    return entry


def _digest(before: str, number: int, kind: str, at: str, text: str) -> str:
    # The lengths say where a part ends and the next one begins.
    try:
        whole = f"{before} {number} {len(kind)} {len(at)} {kind}{at}{text}"
    except TypeError:
        return ""  # A stored value that is no text: no entry has this digest.
    return hashlib.sha256(whole.encode()).hexdigest()

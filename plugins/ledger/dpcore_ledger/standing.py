"""Sentences on what a ledger has of an entry whose writing failed, or of a run that was not closed.

The answer to a commit can be lost with its connection, and what was committed stays. So the ledger
is read once more, when the transaction that wrote has ended: whoever has the ledger's lock finds
its entry, or knows that it never comes.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dpcore.errors import LedgerError
from dpcore_ledger.state import OPEN, state_of

if TYPE_CHECKING:
    from dpcore_ledger.chain import Chain, Entry

__all__ = ["standing_of_entry", "standing_of_run"]

_WHAT = {
    "reserved": "the run's budget",
    "released": "the release's cost",
    "closed": "the end of the run",
    "raised": "the further budget",
    "model": "the digest of the model's file",
    "outside": "the run that is outside",
}


def standing_of_entry(chain: Chain, wanted: tuple[int, str, str, dict[str, Any]]) -> str:
    """Return whether the ledger has an entry of this number, kind, time and body."""
    number, kind, at, body = wanted
    what = _WHAT[kind]
    try:
        entries = chain.settled()
    except LedgerError as error:
        return (
            f"Whether the ledger has {what} is not known, since it cannot be read now: {error} "
            "`dpcore ledger show` tells when it can."
        )
    written = number, kind, at, json.dumps(body, sort_keys=True)
    if [entry[:4] for entry in entries[number - 1 : number]] != [written]:
        return f"The ledger does not have {what}: nothing was charged to it."
    if kind != "reserved":
        return f"The ledger has {what}, as entry {number}."
    run = sum(entry.kind == kind for entry in entries[:number])
    return f"The ledger has {what}, as run {_open(run)}."


def standing_of_run(chain: Chain, reservation: Entry, run: int) -> str:
    """Return what the ledger has of a run, by its reservation and its number."""
    number = reservation.number
    try:
        entries = chain.settled()
        if entries[number - 1 : number] != [reservation]:
            return (
                f"Run {run} was charged to the ledger {chain.address!r}, which does not have it "
                "any more: another copy took its place."
            )
        outcome = state_of(entries).runs[number].outcome
    except LedgerError as error:
        return (
            f"Run {run} was charged to the ledger {chain.address!r}; whether all of it counts "
            f"still cannot be read now: {error}"
        )
    if outcome == OPEN:
        return f"The ledger {chain.address!r} has run {_open(run)}."
    return f"The ledger {chain.address!r} has run {run} as closed: {outcome}."


def _open(run: int) -> str:
    return f"{run}, which is open and counts whole: `dpcore ledger close` closes it as spent"

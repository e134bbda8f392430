"""Whether a ledger is whole, and whether it knows the models that were made under it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dpcore.errors import LedgerError
from dpcore.ledger.chain import Chain
from dpcore.ledger.state import state_of
from dpcore.model.model import load_model

if TYPE_CHECKING:
    from dpcore.ledger.chain import Entry

__all__ = ["releases_of", "unknown_models", "verified"]


def verified(path: str | os.PathLike[str]) -> list[Entry]:
    """Return the entries of a ledger, after its digests, and those of every release, were verified.

    Raises LedgerError where anything was altered.
    """
    chain = Chain(path)
    entries = chain.entries()
    state_of(entries)
    closed = {entry.body["run"]: entry.body for entry in entries if entry.kind == "closed"}
    for entry in entries:
        if entry.kind == "reserved":
            found, last = chain.releases(entry.number, entry.digest)
            stated = closed.get(entry.number, {})
            if stated.get("last", last) != last or stated.get("releases", len(found)) != len(found):
                raise LedgerError(
                    f"{chain.address!r} was altered: releases of run {entry.number} are missing."
                )
    return entries


def unknown_models(
    entries: list[Entry], models: Iterable[str | os.PathLike[str]]
) -> list[tuple[str, str]]:
    """Return the models whose runs the ledger does not know, each with the reason.

    One of this ledger whose run is missing, or another one under its number, was made under a copy
    of the file, or before an older copy was restored: what it cost is not in this one.
    """
    own = entries[0].body["id"]
    known = {(entry.number, entry.digest) for entry in entries if entry.kind == "reserved"}
    found = []
    for path in models:
        reference: dict[str, Any] | None = load_model(path).privacy.get("ledger")
        if reference is None:
            found.append((os.fspath(path), "it was made without a ledger"))
        elif reference["id"] != own:
            found.append((os.fspath(path), "it was made under another ledger"))
        elif (reference["run"], reference["digest"]) not in known:
            reason = "this ledger does not know its run: a copy was charged, or one was restored"
            found.append((os.fspath(path), reason))
    return found


def releases_of(path: str | os.PathLike[str], entry: Entry) -> list[dict[str, Any]]:
    """Return the releases of a reservation, verified."""
    return Chain(path).releases(entry.number, entry.digest)[0]

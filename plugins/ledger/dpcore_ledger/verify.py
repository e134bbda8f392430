"""Whether a ledger is whole, and whether it knows the models that were made under it."""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore import load_model
from dpcore.errors import LedgerError, ModelFileError
from dpcore_ledger.chain import Chain
from dpcore_ledger.reference import entry_of
from dpcore_ledger.state import state_of

if TYPE_CHECKING:
    from dpcore_ledger.chain import Entry

__all__ = ["releases_of", "unknown_models", "verified"]


def verified(path: str | os.PathLike[str]) -> list[Entry]:
    """Return the entries of a ledger, after its digests, and those of every release, were verified.

    Raises LedgerError where anything was altered.
    """
    chain = Chain(path)
    entries = chain.entries()
    state_of(entries)
    closed = {entry.body["run"]: entry.body for entry in entries if entry.kind == "closed"}
    for run, entry in enumerate((each for each in entries if each.kind == "reserved"), 1):
        found, last = chain.releases(entry.number, entry.digest)
        stated = closed.get(entry.number, {})
        if stated.get("last", last) != last or stated.get("releases", len(found)) != len(found):
            raise LedgerError(f"{chain.address!r} was altered: releases of run {run} are missing.")
    return entries


def unknown_models(
    entries: list[Entry], models: Iterable[str | os.PathLike[str]]
) -> list[tuple[str, str]]:
    """Return the models that the ledger does not account for, each with the reason.

    One of this ledger whose run is missing, or another one under its number, was made under a copy
    of the ledger, or before an older copy was restored: what it cost is not in this one. A file
    that differs from all that its run is noted to have been saved in was changed since.
    """
    own = entries[0].body["id"]
    known = {(entry.number, entry.digest) for entry in entries if entry.kind == "reserved"}
    saved = defaultdict(set)
    for entry in entries:
        if entry.kind == "model":
            saved[entry.body["run"]].add(entry.body["digest"])
    found = []
    for path in models:
        try:
            reference = load_model(path).privacy.get("ledger")
            content = Path(path).read_bytes()
        except (ModelFileError, OSError) as error:
            found.append((os.fspath(path), f"it cannot be read ({error})"))
            continue
        reason = _reason(reference, own, known)
        if reason is None and reference is not None:
            digests = saved[entry_of(reference)] or {None}
            if digests.isdisjoint({None, hashlib.sha256(content).hexdigest()}):
                reason = "it was changed since its run was noted to be saved in it"
        if reason is not None:
            found.append((os.fspath(path), reason))
    return found


def _reason(reference: dict[str, Any] | None, own: str, known: set[tuple[int, str]]) -> str | None:
    if reference is None:
        return "it was made without a ledger"
    if reference["id"] != own:
        return "it was made under another ledger"
    if (entry_of(reference), reference["digest"]) not in known:
        return "this ledger does not know its run: a copy was charged, or one was restored"
    return None


def releases_of(path: str | os.PathLike[str], entry: Entry) -> list[dict[str, Any]]:
    """Return the releases of a reservation, verified."""
    return Chain(path).releases(entry.number, entry.digest)[0]

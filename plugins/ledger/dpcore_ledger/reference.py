"""The reference to its run in a ledger that a model keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcore.plugin.parts import PrivacyStatement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcore_ledger.chain import Entry

__all__ = ["entry_of", "reference_of"]


def reference_of(id: str, run: int, entry: Entry, store: str) -> dict[str, Any]:
    """Return the reference to a run: the ledger's id, the run's number, and number and digest of
    the entry that reserved it. A store that is not ours, ``"module:Class"``, is in it too, since it
    decides what was charged, and the statement names it."""
    of_run = {"id": id, "run": run, "entry": entry.number, "digest": entry.digest}
    return {**of_run, "store": store} if PrivacyStatement.foreign_parts([store]) else of_run


def entry_of(reference: Mapping[str, Any]) -> int:
    """Return the number of the entry that reserved a run: all that models of earlier versions have,
    under the name of the run."""
    number: int = reference.get("entry", reference["run"])
    return number

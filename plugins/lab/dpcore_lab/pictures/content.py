"""The kind of a file that is drawn, told by its content and not by its name."""

from __future__ import annotations

import json
from typing import Any, Literal

from dpcore.errors import DataError
from dpcore_ledger.stores.address import is_address

__all__ = ["Kind", "kind_of", "ledger_of_json"]

Kind = Literal["results", "model", "ledger"]

_STARTS: dict[bytes, Kind] = {b"PAR1": "results", b"SQLite format 3\0": "ledger"}
"""The first bytes of a Parquet file and of a SQLite database, by the formats' specifications."""
_OF_A_LEDGER = {"id", "promise", "budgets", "history"}
"""Keys of the JSON object that ``dpcore ledger show --json`` prints, and of no model."""


def kind_of(name: str) -> Kind:
    """Return what a file holds: the results of a comparison, a model, or a ledger; an address in a
    database is that of a ledger.

    Raises DataError for a file that cannot be read, and for any other content.
    """
    if is_address(name):
        return "ledger"
    try:
        with open(name, "rb") as file:
            start = file.read(16)
    except OSError as error:
        raise DataError(f"Cannot read {name!r}: {error.strerror}.") from error
    for first, kind in _STARTS.items():
        if start.startswith(first):
            return kind
    if not start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        raise DataError(
            f"Expected {name!r} to be a results file of dpcore compare (Parquet), a model's file "
            "(JSON) or a ledger (its file, or the JSON of dpcore ledger show): its content is none "
            "of them."
        )
    return "model" if ledger_of_json(name) is None else "ledger"


def ledger_of_json(name: str) -> dict[str, Any] | None:
    """Return the object that ``dpcore ledger show --json`` printed into a file; ``None`` for any
    other content, a ledger's own file too."""
    try:
        with open(name, encoding="utf-8-sig") as file:
            found = json.load(file)
    except (OSError, ValueError, RecursionError):
        return None
    is_ledger = isinstance(found, dict) and found.keys() >= _OF_A_LEDGER
    return found if is_ledger else None

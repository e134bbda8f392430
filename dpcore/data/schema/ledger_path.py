"""The path of the ledger that a schema's file names."""

from __future__ import annotations

import os

__all__ = ["ledger_beside"]


def ledger_beside(schema: str | os.PathLike[str], ledger: str | None) -> str | None:
    """Return the ledger that the schema in a file names, from the folder of that file on, so that
    runs from any folder are charged to one; the address of a server as it is."""
    if ledger is None or "://" in ledger:
        return ledger
    return os.path.abspath(os.path.join(os.path.dirname(os.fspath(schema)), ledger))

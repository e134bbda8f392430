"""The store that a ledger's name means: the address of a database, or else the path of a file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dpcore.ledger.stores.address import is_address

if TYPE_CHECKING:
    from dpcore.ledger.stores.store import Store

__all__ = ["store_at"]


def store_at(place: str | os.PathLike[str]) -> Store:
    """Return the store of a ledger."""
    name = os.fspath(place)
    if is_address(name):
        from dpcore.ledger.stores.postgresql import PostgresqlStore

        return PostgresqlStore(name)
    from dpcore.ledger.stores.sqlite import SqliteStore

    return SqliteStore(name)

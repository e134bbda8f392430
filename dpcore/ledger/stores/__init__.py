"""Where the entries of a ledger are kept: a SQLite file, or a PostgreSQL database."""

from dpcore.ledger.stores.places import store_at
from dpcore.ledger.stores.store import Rows, Store

__all__ = ["Rows", "Store", "store_at"]

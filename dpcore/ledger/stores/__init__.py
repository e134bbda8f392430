"""Where the entries of a ledger are kept: a SQLite file, a PostgreSQL database, or what plugins
bring (``register_ledger_stores``)."""

from dpcore.ledger.stores.places import part_at, store_at
from dpcore.ledger.stores.store import Rows, Store

__all__ = ["Rows", "Store", "part_at", "store_at"]

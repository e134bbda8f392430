"""Where the entries of a ledger are kept: a SQLite file, a PostgreSQL database, or what plugins
bring (``register_ledger_stores``). The names are for authors of stores; a store decides what was
charged and sees no row, and the statement names it."""

from dpcore_ledger.stores.places import part_at, store_at
from dpcore_ledger.stores.store import COPY, TABLES, Rows, Store

__all__ = ["COPY", "TABLES", "Rows", "Store", "part_at", "store_at"]

"""The names of ``dpcore.plugin.ledgers``, for authors of stores of ledgers.

A store decides what was charged. It sees no row, and the statement names it.
"""

from dpcore.errors import LedgerError, replacing
from dpcore.ledger.stores.store import COPY, TABLES, Rows, Store

__all__ = ["COPY", "LedgerError", "Rows", "Store", "TABLES", "replacing"]

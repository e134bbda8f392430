"""The names of ``dpcore.plugin.ledgers``, for authors of ledgers of a table.

A ledger decides what was charged. It sees no row, and the statement names it. The contract of its
stores, where entries are kept, is the package's that has them.
"""

from dpcore.session.ledger import Found, LedgerEntry, TableRun

__all__ = [
    "Found",
    "LedgerEntry",
    "TableRun",
]

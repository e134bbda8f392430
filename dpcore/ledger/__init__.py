"""The ledger of a table: what all runs over it have cost, in one file that outlives them."""

from dpcore.ledger.reservation import Reservation
from dpcore.ledger.table_ledger import TableLedger
from dpcore.ledger.terms import Terms

__all__ = ["Reservation", "TableLedger", "Terms"]

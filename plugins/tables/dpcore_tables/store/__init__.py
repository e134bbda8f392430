"""Coded rows in a file, mapped into memory block by block: tables larger than memory."""

from dpcore_tables.cells.features import coded_layout
from dpcore_tables.store.contract import RowStore
from dpcore_tables.store.conversion import convert
from dpcore_tables.store.format import Description
from dpcore_tables.store.partitions import convert_partitions
from dpcore_tables.store.reader import open_store, read_schema
from dpcore_tables.store.writer import check_target, write_rows

__all__ = [
    "STORE",
    "Description",
    "RowStore",
    "coded_layout",
    "convert",
    "convert_partitions",
    "open_store",
    "read_schema",
    "write_rows",
]

STORE = RowStore(open_store, write_rows, read_schema, check_target)

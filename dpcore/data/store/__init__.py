"""Coded rows in a file, mapped into memory block by block: tables larger than memory."""

from dpcore.data.store.contract import RowStore
from dpcore.data.store.conversion import convert
from dpcore.data.store.partitions import convert_partitions
from dpcore.data.store.reader import open_store, read_schema
from dpcore.data.store.writer import check_target, write_rows

__all__ = ["STORE", "convert", "convert_partitions", "open_store", "read_schema", "write_rows"]

STORE = RowStore(open_store, write_rows, read_schema, check_target)

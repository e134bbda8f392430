"""Coded rows in a file, mapped into memory block by block: tables larger than memory."""

from dpcore.data.store.partitions import convert_partitions
from dpcore.data.store.reader import open_store, read_schema
from dpcore.data.store.writer import convert, write_rows

__all__ = ["convert", "convert_partitions", "open_store", "read_schema", "write_rows"]

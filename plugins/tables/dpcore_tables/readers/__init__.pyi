"""Readers of files, one per format; and what others are made of."""

from dpcore_tables.cells.objects import as_objects
from dpcore_tables.raw.raw_matrix import RawMatrix
from dpcore_tables.raw.raw_table import RawTable, check_names
from dpcore_tables.raw.reader import ReadFacts, RowFile, wanted_names
from dpcore_tables.readers.pieces import Piece, read_bytes, read_pieces
from dpcore_tables.readers.records import utf8_lines, whole_records

__all__ = [
    "Piece",
    "RawMatrix",
    "RawTable",
    "ReadFacts",
    "RowFile",
    "as_objects",
    "check_names",
    "read_bytes",
    "read_pieces",
    "utf8_lines",
    "wanted_names",
    "whole_records",
]

"""Readers of files, one per format; and what others are made of."""

from dpcore_tables.readers.pieces import Piece, read_bytes, read_pieces
from dpcore_tables.readers.records import utf8_lines, whole_records

__all__ = ["Piece", "read_bytes", "read_pieces", "utf8_lines", "whole_records"]

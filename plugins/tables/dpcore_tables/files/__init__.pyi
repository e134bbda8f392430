"""Files of rows: formats, paths, and rows encoded a piece at a time."""

from dpcore_tables.files.assembly import assemble
from dpcore_tables.files.formats import entry_of, schema_from_rows, suffixes
from dpcore_tables.files.loading import FILES, feature_pieces
from dpcore_tables.files.stream import encode_piece, encoded_batches, open_rows

__all__ = [
    "FILES",
    "assemble",
    "encode_piece",
    "encoded_batches",
    "entry_of",
    "feature_pieces",
    "open_rows",
    "schema_from_rows",
    "suffixes",
]

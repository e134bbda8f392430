"""The bytes of a file, unpacked; every failure is one DataError."""

from __future__ import annotations

import gzip
from pathlib import Path

from dpcore.data.readers.pieces import file_errors

__all__ = ["read_bytes"]


def read_bytes(path: str) -> bytes:
    """Return the content of a file; a gzip file (by its name) is unpacked.

    Raises DataError if it cannot be read or unpacked to its end.
    """
    with file_errors(path):
        content = Path(path).read_bytes()
        return gzip.decompress(content) if path.lower().endswith(".gz") else content

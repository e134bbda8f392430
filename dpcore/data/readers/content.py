"""The bytes of a file, unpacked, as Python's and as Arrow's; every failure is one DataError."""

from __future__ import annotations

import gzip

import pyarrow as pa

from dpcore.data.readers.pieces import file_errors
from dpcore.data.readers.places import open_bytes

__all__ = ["arrow_reader", "read_bytes"]


def read_bytes(path: str) -> bytes:
    """Return the content of a file; a gzip file (by its name) is unpacked.

    Raises DataError if it cannot be read or unpacked to its end.
    """
    with file_errors(path):
        with open_bytes(path) as file:
            content = file.read()
        return gzip.decompress(content) if path.lower().endswith(".gz") else content


def arrow_reader(content: bytes) -> pa.BufferReader:
    """Return a reader of a copy that belongs to Arrow alone.

    Arrow's threads let go of what they read after the reader has returned. Letting go of Python's
    bytes takes Python's lock, and a thread that asks for it while the process ends, ends in an
    abort (apache/arrow issue 34314).
    """
    buffer = pa.allocate_buffer(len(content))
    with pa.FixedSizeBufferWriter(buffer) as writer:
        writer.write(content)
    return pa.BufferReader(buffer)

"""The bytes of a file, unpacked; every failure is one DataError."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from dpcore.errors import DataError

__all__ = ["read_bytes"]


def read_bytes(path: str) -> bytes:
    """Return the content of a file; a gzip file (by its name) is unpacked.

    Raises DataError if it cannot be read or unpacked to its end.
    """
    try:
        content = Path(path).read_bytes()
        return gzip.decompress(content) if path.lower().endswith(".gz") else content
    except FileNotFoundError:
        raise DataError(f"No such file: {path}.") from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise DataError(f"{path}: not a whole gzip file; it may be cut short.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a path"
        raise DataError(f"Cannot read {path!r}: {reason}.") from None

"""Rows of a run in a file without a name, which is gone with the process that has it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError, replacing
from dpcore_tables.cells.weights import beside
from dpcore_tables.store.reader import stored_rows
from dpcore_tables.store.writer import Origin, write_pieces

if TYPE_CHECKING:
    import numpy as np

    from dpcore import Schema
    from dpcore_tables.store.rows import StoredRows

__all__ = ["nameless_rows"]


def nameless_rows(
    pieces: Iterable[tuple[Any, np.ndarray | None]], schema: Schema, weight: str | None = None
) -> tuple[StoredRows, np.ndarray]:
    """Return encoded rows, which stay in a temporary file, and their labels, float64 of shape
    (n_rows,), read only.

    The file has no name, from its first byte on where the system can do that, and may be read by
    its owner only: nothing is left of it, however the process ends. ``schema`` : with bounds.
    ``weight`` : the column of the weights that are beside the labels.
    Raises InvalidInputError for a file that cannot be written, such as on a full disk.
    """

    def unwritable(error: OSError) -> InvalidInputError:
        why = error.strerror or "not writable"
        return InvalidInputError(
            f"Cannot write rows to {tempfile.gettempdir()!r}: {why}. TMPDIR names another folder."
        )

    with replacing(OSError, by=unwritable), tempfile.TemporaryFile() as file:
        write_pieces(file, pieces, schema, source=Origin(weight=weight or ""))
        file.flush()
        rows, labels, found = stored_rows("rows of a query", file)
        return rows, beside(labels, found.weights)

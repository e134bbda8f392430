"""Rows of unnamed features as a reader hands them over, before any schema is applied."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcore.errors import DataError

if TYPE_CHECKING:
    from dpcore_tables.cells.typed import Cells
    from dpcore_tables.store.encoded import Matrix

__all__ = ["RawMatrix"]


@dataclass(frozen=True)
class RawMatrix:
    """``X`` : real numbers of shape (n_rows, width), dense, or canonical CSR of float64; ``labels``
    one per row.

    ``where(i)`` says where row ``i`` (from 0) is in the source.
    """

    X: Matrix
    labels: Cells | None
    source: str
    where: Callable[[int], str]

    def one_label_each(self) -> Cells:
        """Return the labels; DataError if there is not one for each row."""
        if self.labels is None or len(self.labels) != self.X.shape[0]:
            raise DataError(f"{self.source}: the number of labels is not the number of rows.")
        return self.labels

"""Rows of unnamed features as they come, and what becomes of them under a schema with a width."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.data.cells.readings import convert_column
from dpcore.data.cells.typed import Cells
from dpcore.data.readers import BadRows
from dpcore.data.schema.schema import Schema
from dpcore.errors import BadRowError, DataError

if TYPE_CHECKING:
    from dpcore.data.blocks.layouts import Matrix

__all__ = ["RawMatrix", "conform_matrix"]


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


def conform_matrix(
    raw: RawMatrix, schema: Schema, *, labelled: bool = True, bad_rows: BadRows = "refuse"
) -> tuple[Matrix, np.ndarray | None, np.ndarray | None]:
    """Return features times the schema's ``feature_scale``, rows scaled down to the row norm with
    the intercept inside it; labels; and which rows were kept, None for all.

    Raises DataError for a width that is not the schema's, and, unless ``bad_rows`` is ``"drop"``,
    for the first row with a value that is not finite or a label outside the schema's classes.
    """
    from dpcore.data.blocks.layouts import matrix_layout_of

    if raw.X.shape[1] != schema.width:
        raise DataError(f"{raw.source}: {raw.X.shape[1]} feature columns, expected {schema.width}.")
    layout = matrix_layout_of(raw.X)
    bad = ~layout.finite_rows(raw.X)
    reasons = [(bad, "a value is not a finite number")]
    y = kept = None
    if labelled:
        labels = raw.one_label_each()
        y, fault, reason = convert_column(labels, schema.label, schema.notation, raw.source)
        if fault is not None:
            reasons.append((fault, reason))
            bad = bad | fault
    X = raw.X
    if bad.any():
        if bad_rows != "drop":
            row = int(np.argmax(bad))
            reason = next(text for fault, text in reasons if fault[row])
            raise BadRowError(f"{raw.source}, {raw.where(row)}: {reason}.")
        kept = ~bad
        X, y = X[kept], y if y is None else y[kept]
    if schema.feature_scale != 1.0:
        X = X.astype(np.float64, copy=False) * schema.feature_scale
    return layout.freeze(layout.scale_rows(X, schema.row_norm, schema.intercept)), y, kept

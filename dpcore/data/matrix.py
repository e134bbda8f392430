"""Matrices of numbers as they come, dense or sparse, and what becomes of them under a schema with a
width."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.data.array_schema import schema_beside
from dpcore.data.blocks.canonical_csr import canonical_csr, misfit
from dpcore.errors import BadRowError, DataError, InvalidInputError

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from dpcore.data.blocks.layouts import Matrix
    from dpcore.data.files import BadRows
    from dpcore.data.schema.schema import Schema

__all__ = ["ArraySource", "are_numbers"]


def are_numbers(X: Any) -> bool:
    """Return whether X declares that all of its cells are numbers that float64 holds: an array, or
    a sparse matrix, whose own check is ``ArraySource.csr``'s."""
    is_array = isinstance(X, np.ndarray) and X.dtype.kind in "buif" and X.dtype.itemsize <= 8
    return is_array or ArraySource.is_sparse(X)


@dataclass(frozen=True, slots=True)
class ArraySource:
    """A source of rows and labels in arrays, which errors call by its name: "the array", a file.

    Each method takes them as they come, and raises DataError for what is none such.
    """

    name: str

    schema_beside = staticmethod(schema_beside)

    @staticmethod
    def place(row: int) -> str:
        """Return where a row, from 0, is in memory."""
        return f"row {row + 1}"

    @staticmethod
    def is_sparse(X: Any) -> bool:
        """Return whether X is a sparse matrix or array of SciPy. Whoever has made one has imported
        it; for other rows it is not imported here, which would take longer than most of what a
        command does."""
        sparse = sys.modules.get("scipy.sparse")
        return sparse is not None and bool(sparse.issparse(X))

    def matrix(self, X: Any) -> Matrix:
        """Return what ``are_numbers`` as rows, in the order and the type that its numbers have: of
        a whole array a copy takes as much memory again."""
        if self.is_sparse(X):
            return self.csr(X)
        self.require_no_mask(X, "X")
        return self.two_dimensional(np.asarray(X))

    def two_dimensional(self, array: np.ndarray, has_type: bool = True) -> np.ndarray:
        """Return an array of rows and columns, one at least. ``has_type`` : whether it came as an
        array, not as a list."""
        if array.ndim != 2:
            known = "X.reshape(-1, 1) is one column" if has_type else "rows need one length"
            remedy = f" ({known})" if array.ndim == 1 else ""
            raise DataError(
                f"{self.name}: expected X of 2 dimensions, rows and columns, found "
                f"{array.ndim}{remedy}."
            )
        if array.shape[1] == 0:
            raise DataError(f"{self.name}: X has no columns.")
        return array

    def dense(self, X: Matrix, width: int) -> np.ndarray:
        """Return rows whose columns have bounds; InvalidInputError for sparse ones, DataError for
        another number of columns."""
        if self.is_sparse(X):
            raise InvalidInputError(
                "Sparse rows cannot be mapped to bounds of columns: zeros would not stay zeros. "
                "Pass X.toarray(), or leave bounds out and name a row_norm."
            )
        if X.shape[1] != width:
            raise DataError(f"{self.name}: {X.shape[1]} feature columns, expected {width}.")
        return np.asarray(X)

    def csr(self, X: Any) -> csr_matrix:
        """Return sparse rows as a float64 CSR copy with ascending indices and no duplicates
        (``dpcore.data.blocks.canonical_csr``)."""
        return canonical_csr(X, self.name)

    def misfit(self, error: Exception) -> DataError:
        """Return the error of a sparse matrix whose parts gave SciPy's."""
        return misfit(self.name, error)

    def require_no_mask(self, array: Any, what: str) -> None:
        """Refuse a type whose cells may hold no value, since NumPy would hand out what is below.
        ``what`` : X or y."""
        if isinstance(array, np.ma.MaskedArray):
            raise DataError(
                f"{self.name}: {what} is a masked array, and a masked cell has no value: fill it, "
                "X.filled(value), or leave its row out."
            )

    def no_labels(self, y: Any) -> DataError:
        """Return the error of what is no column of labels."""
        column = ": y.ravel() makes one of a column" if getattr(y, "ndim", 1) == 2 else ""
        return DataError(f"{self.name}: y is not a one-dimensional array of labels{column}.")

    def require_one_each(self, n_labels: int, n_rows: int) -> None:
        """Refuse labels that are not as many as the rows."""
        if n_labels != n_rows:
            raise DataError(f"{self.name}: the number of labels is not the number of rows.")

    def validate_rows(
        self,
        X: Matrix,
        schema: Schema,
        where: Callable[[int], str],
        labels: Callable[[], tuple[np.ndarray, np.ndarray | None, str]] | None = None,
        bad_rows: BadRows = "refuse",
    ) -> tuple[Matrix, np.ndarray | None, np.ndarray | None]:
        """Return features times the schema's ``feature_scale``, rows scaled down to the row norm
        with the intercept inside it; labels; and which rows were kept, None for all.

        ``X`` : real numbers of shape (n_rows, width), dense, or of ``csr``; ``where(i)`` says where
        row ``i`` (from 0) is in the source. ``labels`` : reads those of the rows.

        Raises DataError for a width that is not the schema's, and, unless ``bad_rows`` is
        ``"drop"``, for the first row with a value that is not finite or a label outside the
        schema's classes.
        """
        from dpcore.data.blocks.layouts import matrix_layout_of

        if X.shape[1] != schema.width:
            raise DataError(f"{self.name}: {X.shape[1]} feature columns, expected {schema.width}.")
        layout = matrix_layout_of(X)
        bad = ~layout.finite_rows(X)
        reasons = [(bad, "a value is not a finite number")]
        y = kept = None
        if labels is not None:
            y, fault, reason = labels()
            if fault is not None:
                reasons.append((fault, reason))
                bad = bad | fault
        if bad.any():
            if bad_rows != "drop":
                row = int(np.argmax(bad))
                reason = next(text for fault, text in reasons if fault[row])
                raise BadRowError(f"{self.name}, {where(row)}: {reason}.")
            kept = ~bad
            X, y = X[kept], y if y is None else y[kept]
        if schema.feature_scale != 1.0:
            X = X.astype(np.float64, copy=False) * schema.feature_scale
        return layout.freeze(layout.scale_rows(X, schema.row_norm, schema.intercept)), y, kept

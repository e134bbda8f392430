"""Dense blocks: float64 rows on the feature grid, products by BLAS, exact in any order."""

from __future__ import annotations

import numpy as np

from dpcore.data.kept import KeptMargins, LinePath, truncate_rows

__all__ = ["DenseBlock"]


class DenseBlock(KeptMargins):
    """Rows as a C-ordered float64 array of shape (n_rows, n_features)."""

    def __init__(
        self,
        values: np.ndarray,
        y: np.ndarray,
        sums: tuple[np.ndarray, np.ndarray],
        path: LinePath,
        row_norm: float,
    ) -> None:
        super().__init__(y, values.shape[1], sums, path, row_norm)
        self._values = values

    @classmethod
    def from_rows(cls, X: np.ndarray, y: np.ndarray, path: LinePath, row_norm: float) -> DenseBlock:
        X = np.ascontiguousarray(X, dtype=np.float64)
        values, sums = truncate_rows(X, None, X.shape[0], path.raw_norm_bound)
        return cls(values, y, sums, path, row_norm)

    def _product(self, v: np.ndarray) -> np.ndarray:
        return self._values @ v

    def weighted_sum(self, c: np.ndarray) -> np.ndarray:
        return c @ self._values

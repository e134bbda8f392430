"""Encoded rows of every form that this package makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from scipy.sparse import csr_matrix

    from dpcore_tables.coded.rows import CodedRows
    from dpcore_tables.store.rows import StoredRows

__all__ = ["Matrix", "Rows"]

Matrix: TypeAlias = "np.ndarray | csr_matrix"
"""Rows of unnamed features."""
Rows: TypeAlias = "np.ndarray | csr_matrix | CodedRows | StoredRows"
"""Rows as a ``Dataset`` has them: arrays, coded ones, and those that stay in their file."""

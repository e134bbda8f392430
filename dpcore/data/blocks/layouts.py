"""The layouts of encoded rows: the one list of them, beside those of rows that bring their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

from dpcore.data.blocks.csr import CSR
from dpcore.data.blocks.dense import DENSE
from dpcore.data.blocks.layout import Layout, MatrixLayout
from dpcore.errors import InvalidInputError

if TYPE_CHECKING:
    import numpy as np
    from scipy.sparse import csr_matrix

    class KeptRows(Protocol):
        """Rows that are kept elsewhere, as in a file; a mask gives some of them. The statement
        names their type (``dpcore.data.files``)."""

        row_layout: ClassVar[Layout[Any]]

        @property
        def ndim(self) -> int: ...
        @property
        def shape(self) -> tuple[int, int]: ...
        def __getitem__(self, mask: Any) -> Any: ...

    Matrix: TypeAlias = np.ndarray | csr_matrix
    Rows: TypeAlias = Matrix | KeptRows

__all__ = ["LAYOUTS", "layout_of", "matrix_layout_of"]

LAYOUTS: tuple[MatrixLayout[Any], ...] = (DENSE, CSR)


def layout_of(X: Rows) -> Layout[Any]:
    """Return the layout of encoded rows; InvalidInputError for rows of none."""
    own = getattr(type(X), "row_layout", None)
    return own if isinstance(own, Layout) else matrix_layout_of(X)


def matrix_layout_of(X: Any) -> MatrixLayout[Any]:
    """Return the layout of rows of unnamed features; InvalidInputError for rows of none."""
    for layout in LAYOUTS:
        if layout.holds(X):
            return layout
    raise InvalidInputError("Expected rows as a NumPy array, a SciPy CSR matrix or coded rows.")

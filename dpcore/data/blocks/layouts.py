"""The layouts of encoded rows: the one list of them, beside those of rows that bring their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar

from dpcore.data.blocks.coded_block import CODED
from dpcore.data.blocks.csr import CSR
from dpcore.data.blocks.dense import DENSE
from dpcore.data.blocks.layout import Layout, MatrixLayout
from dpcore.errors import InvalidInputError

if TYPE_CHECKING:
    import numpy as np
    from scipy.sparse import csr_matrix

    from dpcore.data.blocks.coded import CodedRows

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
    Rows: TypeAlias = Matrix | CodedRows | KeptRows

__all__ = ["LAYOUTS", "layout_of", "matrix_layout_of"]

L = TypeVar("L", bound=Layout[Any])

MATRIX_LAYOUTS: tuple[MatrixLayout[Any], ...] = (DENSE, CSR)
LAYOUTS: tuple[Layout[Any], ...] = (DENSE, CODED, CSR)


def layout_of(X: Rows) -> Layout[Any]:
    """Return the layout of encoded rows; InvalidInputError for rows of none."""
    own = getattr(type(X), "row_layout", None)
    return own if isinstance(own, Layout) else _first(LAYOUTS, X)


def matrix_layout_of(X: Matrix) -> MatrixLayout[Any]:
    """Return the layout of rows of unnamed features; InvalidInputError for rows of none."""
    return _first(MATRIX_LAYOUTS, X)


def _first(layouts: tuple[L, ...], X: object) -> L:
    for layout in layouts:
        if isinstance(X, layout.row_type) if layout.row_type is not None else layout.holds(X):
            return layout
    raise InvalidInputError("Expected rows as a NumPy array, a SciPy CSR matrix or coded rows.")

"""The contract of a layout: all that dpcore does with encoded rows that depends on their form.

A layout is a file with a subclass of ``Layout`` and its block (``dpcore.data.blocks.block``), most
of it from ``CachedMargins``; ``dpcore.data.blocks.layouts`` lists the layouts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from dpcore.exact.grid import BLOCK_ROWS

if TYPE_CHECKING:
    from dpcore.data.blocks.block import Block
    from dpcore.data.blocks.rounded_line import RoundedLine

__all__ = ["Layout", "MatrixLayout"]

R = TypeVar("R")


class _BlockType(Protocol):
    """The class of a layout's blocks."""

    def from_rows(self, X: Any, y: np.ndarray, path: RoundedLine, row_norm: float) -> Block:
        """Return the block of encoded rows. It keeps copies, or arrays that cannot change, and
        verifies that no row is longer than the path's bound."""


class Layout(Generic[R]):
    """A form of encoded rows X, of shape (n_rows, n_features); a slice or a mask of X gives some of
    them."""

    block_type: ClassVar[_BlockType]

    def holds(self, X: object) -> bool:
        """Return whether these rows are of this form, of rows whose type does not say so."""
        raise TypeError("a layout tells its own rows from others")

    def parts(self, X: R) -> tuple[np.ndarray, ...]:
        """Return arrays whose concatenations over pieces ``join`` makes into rows again."""
        raise TypeError("rows of this layout do not come in pieces")

    def join(self, form: R, parts: Sequence[np.ndarray]) -> R:
        """Return rows of the form of ``form`` and of the given parts."""
        raise TypeError("rows of this layout do not come in pieces")

    def freeze(self, X: R) -> R:
        """Return rows whose arrays the caller made and gives up, so that a block may keep those
        that it would store as they are (``dpcore.data.blocks.frozen``)."""
        return X

    def blocks(self, X: R, y: np.ndarray, path: RoundedLine, row_norm: float) -> Iterable[Block]:
        """Return the blocks of a table, to go through once; ``y`` : float64 of shape (n_rows,),
        or pairs. Of no rows it is one block without rows: what is refused before a charge does not
        depend on their number."""
        rows: Any = X
        if len(y) <= BLOCK_ROWS:
            return [self.block_type.from_rows(rows, y, path, row_norm)]
        return [
            self.block_type.from_rows(
                rows[begin : begin + BLOCK_ROWS], y[begin : begin + BLOCK_ROWS], path, row_norm
            )
            for begin in range(0, len(y), BLOCK_ROWS)
        ]


class MatrixLayout(Layout[R]):
    """A layout of rows of unnamed features, which readers hand over as they are."""

    def finite_rows(self, X: R) -> np.ndarray:
        """Return which rows hold finite numbers only, bool of shape (n_rows,)."""
        raise TypeError("a layout of raw rows looks at its own cells")

    def scale_rows(self, X: R, row_norm: float, intercept: bool) -> R:
        """Return the rows, those longer than ``row_norm`` scaled down to it, intercept included,
        and truncated towards zero to the feature grid."""
        raise TypeError("a layout of raw rows scales its own")

    def longer_rows(self, X: R, row_norm: float, intercept: bool) -> np.ndarray:
        """Return which rows ``scale_rows`` scales down, bool of shape (n_rows,)."""
        raise TypeError("a layout of raw rows measures its own")

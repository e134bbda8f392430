"""Rows in blocks of a fixed size, stored on the feature grid, with every bound verified.

A row is stored as it was encoded, truncated towards zero to the feature grid: its *raw* form, of
l2 norm at most the public ``raw_norm_bound``. A row whose raw norm exceeds the public ``row_norm``
carries one factor below 1; the row that the algorithms see is factor times raw, of norm at most
``row_norm``. The factor meets the margin after the exact product and the coefficient before it is
truncated, alike in every layout, so every layout releases the same bits.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from dpcore.data.blocks.frozen import freeze, is_frozen
from dpcore.data.blocks.rounded_line import RoundedLine
from dpcore.data.blocks.truncation import MOST_FEATURES
from dpcore.data.targets import on_grid
from dpcore.data.units import ends_of_blocks
from dpcore.data.weighted_labels import clamped_labels, paired, plain_labels
from dpcore.errors import DataError, InvalidInputError
from dpcore.exact.grid import BLOCK_ROWS, BLOCK_SUM_BITS, CAPACITY, LARGEST_NORM, MOST_FILES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dpcore.data.blocks.block import Block
    from dpcore.data.blocks.layout import Layout
    from dpcore.data.blocks.layouts import Rows

__all__ = ["Table"]


class Table:
    """All rows of one fit. Inside the trust boundary: only an engine may hold it.

    Parameters
    ----------
    blocks : the rows, ``BLOCK_ROWS`` at a time.
    n_features : public width, intercept included.
    raw_norm_bound, row_norm : public bounds of the raw and of the scaled rows' l2 norms.
    capacity : public upper bound on the number of rows.

    Of the class are the constants of ``dpcore.exact.grid``: the rows of a block and the files of a
    table at most, the rows that exact sums hold where the schema says no other value, and that a
    block's float64 sum of whole numbers below ``2**BLOCK_SUM_BITS`` is exact. So are the functions
    of what its blocks hold: ``on_grid`` of features in [0, 1], ``plain_labels`` and
    ``clamped_labels`` of labels with or without weights, and ``freeze`` and ``is_frozen`` of arrays
    that nobody can write to any more.
    """

    BLOCK_ROWS: ClassVar[int] = BLOCK_ROWS
    BLOCK_SUM_BITS: ClassVar[int] = BLOCK_SUM_BITS
    CAPACITY: ClassVar[int] = CAPACITY
    MOST_FILES: ClassVar[int] = MOST_FILES

    clamped_labels, freeze, is_frozen, on_grid, plain_labels = (
        staticmethod(clamped_labels),
        staticmethod(freeze),
        staticmethod(is_frozen),
        staticmethod(on_grid),
        staticmethod(plain_labels),
    )

    def __init__(
        self,
        blocks: Sequence[Block],
        *,
        n_features: int,
        raw_norm_bound: float,
        row_norm: float,
        capacity: int = CAPACITY,
    ) -> None:
        self.blocks = tuple(blocks)
        if any(block.n_rows > BLOCK_ROWS for block in self.blocks):
            raise InvalidInputError(
                f"Expected blocks of at most {BLOCK_ROWS} rows, over which sums are exact."
            )
        self.n_features = n_features
        self.raw_norm_bound = raw_norm_bound
        self.row_norm = row_norm
        self.capacity = capacity

    @staticmethod
    def layout_of(X: Rows) -> Layout[Any]:
        """Return the layout of encoded rows; InvalidInputError for rows of none."""
        from dpcore.data.blocks.layouts import layout_of

        return layout_of(X)

    @property
    def units(self) -> np.ndarray | None:
        """The unit of each row, int64 of shape (n_rows,); ``None`` where each is one. A table
        without blocks has the units of no rows, whatever it was built from.

        Raises InvalidInputError where some blocks have units and others have none."""
        of_blocks = [block.units for block in self.blocks]
        known = [units for units in of_blocks if units is not None]
        if of_blocks and not known:
            return None
        if len(known) < len(of_blocks):
            raise InvalidInputError("Expected units of the rows of all blocks, or of none.")
        return np.concatenate([np.empty(0, dtype=np.int64), *known])

    @property
    def n_rows(self) -> int:
        """The exact number of rows: private under add-or-remove-one."""
        return sum(block.n_rows for block in self.blocks)

    def without_rows(self) -> Table:
        """Return a table of no rows in a block of the same form, for what asks nothing of rows."""
        none = np.empty(0, dtype=np.int64)
        return self.with_blocks([block.take(none) for block in self.blocks[:1]])

    def with_blocks(self, blocks: Sequence[Block]) -> Table:
        """Return a table of these blocks, whose rows are some of this one's, and its bounds."""
        return Table(
            blocks,
            n_features=self.n_features,
            raw_norm_bound=self.raw_norm_bound,
            row_norm=self.row_norm,
            capacity=self.capacity,
        )

    def __repr__(self) -> str:
        return f"Table(n_features={self.n_features}, row_norm={self.row_norm})"

    @classmethod
    @np.errstate(all="ignore")  # What is set in the process would tell of a row.
    def from_matrix(
        cls,
        X: Rows,
        y: np.ndarray,
        *,
        row_norm: float,
        raw_norm_bound: float,
        capacity: int | None = None,
        units: np.ndarray | None = None,
        weights: np.ndarray | None = None,
        keep: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> Table:
        """Return the table of a dense (n_samples, n_features) array, a SciPy CSR matrix, coded rows
        or the rows of a store, which stay in their file.

        Values are truncated towards zero to the feature grid; a row above ``raw_norm_bound`` is
        shrunk until its integers satisfy the bound. ``y`` : float64 of shape (n_samples,). Arrays
        are copied, but for those that are stored as they are and that cannot change
        (``dpcore.data.blocks.frozen``). ``units`` : of the rows, those of each side by side; they
        are in one block. ``weights`` : of the rows, which blocks then hold beside their labels
        (``dpcore.data.weighted_labels``). ``keep`` : has what each block keeps beside its cells as
        soon as the block is made (``Block.settle``); ``None`` : it stays in memory.

        Raises InvalidInputError for bounds that are not finite and positive or a width of zero,
        DataError for values that are not finite or lengths that differ.
        """
        _check_norms(row_norm=row_norm, raw_norm_bound=raw_norm_bound)
        n_rows, n_features = X.shape if X.ndim == 2 else (0, 0)
        y = _checked(y, n_rows, n_features, weights)
        return cls(
            _blocks(X, y, units, (raw_norm_bound, row_norm), keep),
            n_features=int(n_features),
            raw_norm_bound=raw_norm_bound,
            row_norm=row_norm,
            capacity=capacity or CAPACITY,
        )


def _checked(y: np.ndarray, n_rows: int, n_features: int, weights: np.ndarray | None) -> np.ndarray:
    """Return the labels of a table, with weights beside them if there are any."""
    if n_features == 0:
        raise InvalidInputError("The data have no feature columns.")
    if n_features > MOST_FEATURES:
        raise InvalidInputError(f"Expected at most {MOST_FEATURES} feature columns.")
    y = np.array(y, dtype=np.float64, order="C")
    if y.shape != (n_rows,):
        raise DataError("The number of labels is not the number of rows.")
    if not np.isfinite(y).all():
        raise DataError("The data hold a value that is not finite (NaN or infinity).")
    return y if weights is None else paired(y, np.asarray(weights, dtype=np.float64))


def _check_norms(**norms: float) -> None:
    for name, value in norms.items():
        if not (math.isfinite(value) and 2.0**-8 <= value <= LARGEST_NORM):
            raise InvalidInputError(f"Expected 2^-8 <= {name}={value!r} <= {LARGEST_NORM:.0f}.")


def _blocks(
    X: Rows,
    y: np.ndarray,
    units: np.ndarray | None,
    norms: tuple[float, float],
    keep: Callable[[np.ndarray], np.ndarray] | None,
) -> list[Block]:
    """Return the blocks of a table, each settled before the next one is made, where the layout
    makes them one by one."""
    blocks = []
    for block in _made(X, y, units, *norms):
        if keep is not None:
            block.settle(keep)
        blocks.append(block)
    return blocks


def _made(
    X: Rows, y: np.ndarray, units: np.ndarray | None, raw_norm_bound: float, row_norm: float
) -> Iterator[Block]:
    """Yield the blocks of a table, each made when it is asked for where the layout does that."""
    path, rows = RoundedLine(raw_norm_bound), cast("Any", X)
    layout = Table.layout_of(X)
    if units is None:
        yield from layout.blocks(X, y, path, row_norm)
        return
    for begin, end in pairwise(ends_of_blocks(units, X.shape[0])):
        (block,) = layout.blocks(rows[begin:end], y[begin:end], path, row_norm)
        block.units = units[begin:end]
        yield block

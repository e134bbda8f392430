"""Rows in blocks of a fixed size, stored on the feature grid, with every bound verified.

A row is stored as it was encoded, truncated towards zero to ``2**-16``: its *raw* form, of l2 norm
at most the public ``raw_norm_bound``. A row whose raw norm exceeds the public ``row_norm`` carries
one factor below 1; the row that the algorithms see is factor times raw, of norm at most
``row_norm``. The factor meets the margin after the exact product and the coefficient before it is
truncated, alike in every layout, so every layout releases the same bits.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

import numpy as np

from dpcore.errors import DataError, InvalidInputError
from dpcore.exact.grid import BLOCK_ROWS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from scipy.sparse import csr_matrix

    from dpcore.data.blocks.coded import CodedRows
    from dpcore.data.blocks.kept_margins import LinePath
    from dpcore.data.blocks.standardization import Standardization
    from dpcore.data.store.stored_rows import StoredRows

    Rows: TypeAlias = np.ndarray | csr_matrix | CodedRows | StoredRows

__all__ = ["Block", "RawRows", "Table", "require_finite", "row_factors"]

_MAX_FEATURES = 2**22
"""A public limit on the width: sums of squares over a row stay within int64."""


class RawRows(Protocol):
    """Raw rows of one layout in an order, for algorithms that go through ranges of them.

    Products are plain float64: a margin of d terms errs by at most ``(d + 2) 2^-53 ||x|| ||w||``, a
    sum over b rows by ``(b + 1) 2^-53 sum |c_i| ||x_i||`` in l2, to first order and in any order of
    terms. A sensitivity that rests on them has to count that.
    """

    def fill_margins(self, start: int, stop: int, w: np.ndarray, out: np.ndarray) -> None:
        """Fill ``out`` with ``raw_i . w`` of rows start to stop - 1; ``w`` is used as it is."""
        ...

    def weighted_sum(self, start: int, stop: int, c: np.ndarray) -> np.ndarray:
        """Return ``sum_i c_i raw_i`` over these rows, float64 of shape (n_features,)."""
        ...

    def gather(self, parts: Sequence[Self], places: np.ndarray) -> Self:
        """Return a copy of the rows of all parts, each of this layout: the k-th of them stands in
        place ``places[k]`` (int64, a permutation)."""
        ...


class Block(Protocol):
    """Some rows of a table; how they are stored is the block's own business."""

    n_rows: int
    n_features: int
    y: np.ndarray
    """float64 of shape (n_rows,): -1 and +1, or a regression's target in [-1, 1]."""
    factor: np.ndarray
    """float64 of shape (n_rows,), in (0, 1]: the scale of each row."""

    def margins(self, w: np.ndarray) -> np.ndarray:
        """Return ``x.w`` for every (scaled) row, float64 of shape (n_rows,): a pure function of the
        row and of ``w`` rounded to its grid. Not to be written on: it may be what is kept."""
        ...

    def margins_at(self, points: np.ndarray) -> np.ndarray:
        """Return ``margins`` of every row of ``points``, of shape (n_points, n_features), to the
        bit: float64 of shape (n_points, n_rows), C order. Nothing is kept."""
        ...

    def line(self, w: np.ndarray, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the raw margins of ``w`` and of ``direction``, read only; both are kept, so that
        the margins of ``w - step * direction`` cost no further pass."""
        ...

    def row_norms(self, norm: Literal["l1", "l2"]) -> np.ndarray:
        """Return an upper bound of each raw row's norm, float64 of shape (n_rows,)."""
        ...

    def standardized_norms(self, standardization: Standardization) -> np.ndarray:
        """Return an upper bound of the l2 norm of each raw row once it is standardised, float64 of
        shape (n_rows,), read only; the last one is kept."""
        ...

    def rows(self) -> np.ndarray:
        """Return the (scaled) rows, a float64 copy of shape (n_rows, n_features)."""
        ...

    def raw_rows(self) -> RawRows:
        """Return the rows without their factors, for products of ranges of them; not a copy."""
        ...

    def take(self, places: np.ndarray) -> Block:
        """Return a block of the rows at ``places`` (int64, each at most once), norms and factors as
        they are: a row contributes to a sum there, to the bit, what it contributes here."""
        ...

    def weighted_sum(self, c: np.ndarray) -> np.ndarray:
        """Return ``sum_i c_i raw_i``, float64 of shape (n_features,).

        Exact in any order when the ``c_i`` stand on ``2**-k`` and ``|c_i| ||raw_i|| <= clip`` with
        k from ``dpcore.exact.grid.coefficient_bits(clip, ...)``.
        """
        ...

    def weighted_moments(self, c: np.ndarray) -> np.ndarray:
        """Return ``sum_i c_i q(raw_i)``, float64 of shape (n_features,), exact like
        ``weighted_sum``: q squares an entry of size 1 at most and takes the size of another,
        truncated to the feature grid."""
        ...


def require_finite(values: np.ndarray) -> None:
    """Raise DataError unless all values, in the type in which they are stored, are finite."""
    if not np.isfinite(values).all():
        raise DataError("The data hold a value that is not finite (NaN or infinity).")


def row_factors(norms: np.ndarray, row_norm: float) -> np.ndarray:
    """Return factors in (0, 1] with ``factor * norm <= row_norm``, given upper bounds of the norms.

    Division rounds to nearest; two steps down leave room for the rounding of any later product.
    """
    safe = np.where(norms > row_norm, norms, 1.0)
    scaled = np.nextafter(np.nextafter(row_norm / safe, 0.0), 0.0)
    return np.where(norms > row_norm, scaled, 1.0)


class Table:
    """All rows of one fit. Inside the trust boundary: only an engine may hold it.

    Parameters
    ----------
    blocks : the rows, ``BLOCK_ROWS`` at a time.
    n_features : public width, intercept included.
    raw_norm_bound, row_norm : public bounds of the raw and of the scaled rows' l2 norms.
    capacity : public upper figure for the number of rows.
    """

    def __init__(
        self,
        blocks: Sequence[Block],
        *,
        n_features: int,
        raw_norm_bound: float,
        row_norm: float,
        capacity: int = 2**27,
    ) -> None:
        self.blocks = tuple(blocks)
        self.n_features = n_features
        self.raw_norm_bound = raw_norm_bound
        self.row_norm = row_norm
        self.capacity = capacity

    @property
    def n_rows(self) -> int:
        """The exact number of rows: private under add-or-remove-one."""
        return sum(block.n_rows for block in self.blocks)

    def without_rows(self) -> Table:
        """Return a table of no rows in a block of the same form, for what asks nothing of rows."""
        none = np.empty(0, dtype=np.int64)
        return Table(
            [block.take(none) for block in self.blocks[:1]],
            n_features=self.n_features,
            raw_norm_bound=self.raw_norm_bound,
            row_norm=self.row_norm,
            capacity=self.capacity,
        )

    def __repr__(self) -> str:
        return f"Table(n_features={self.n_features}, row_norm={self.row_norm})"

    @classmethod
    def from_matrix(
        cls,
        X: Rows,
        y: np.ndarray,
        *,
        row_norm: float,
        raw_norm_bound: float,
        capacity: int | None = None,
    ) -> Table:
        """Return the table of a dense (n_samples, n_features) array, a SciPy CSR matrix, coded rows
        or the rows of a store, which stay in their file.

        Values are truncated towards zero to the feature grid; a row above ``raw_norm_bound`` is
        shrunk until its integers satisfy the bound. ``y`` : float64 of shape (n_samples,). Arrays
        are copied, but for those that are stored as they are and that cannot change
        (``dpcore.data.blocks.ownership``).

        Raises InvalidInputError for bounds that are not finite and positive or a width of zero,
        DataError for values that are not finite or lengths that differ.
        """
        from dpcore.data.blocks.kept_margins import LinePath

        for name, value in (("row_norm", row_norm), ("raw_norm_bound", raw_norm_bound)):
            if not (math.isfinite(value) and 2.0**-8 <= value <= 2.0**12):
                raise InvalidInputError(f"Expected 2^-8 <= {name}={value!r} <= 2^12.")
        if X.ndim != 2 or X.shape[1] == 0:
            raise InvalidInputError("The data have no feature columns.")
        if X.shape[1] > _MAX_FEATURES:
            raise InvalidInputError(f"Expected at most {_MAX_FEATURES} feature columns.")
        y = np.array(y, dtype=np.float64, order="C")
        if y.shape != (X.shape[0],):
            raise DataError("The number of labels is not the number of rows.")
        require_finite(y)
        path = LinePath(raw_norm_bound)
        # Rows of a store lend their blocks; other rows are cut into some.
        stored: Any = X if hasattr(X, "blocks") else None
        blocks = (
            _blocks(X, y, path, row_norm) if stored is None else stored.blocks(y, path, row_norm)
        )
        return cls(
            blocks,
            n_features=int(X.shape[1]),
            raw_norm_bound=raw_norm_bound,
            row_norm=row_norm,
            capacity=capacity or 2**27,
        )


def _blocks(X: Any, y: np.ndarray, path: LinePath, row_norm: float) -> list[Block]:
    from dpcore.data.blocks.coded import CodedBlock, CodedRows
    from dpcore.data.blocks.csr import CsrBlock
    from dpcore.data.blocks.dense import DenseBlock

    block_type: Any = CsrBlock
    if isinstance(X, np.ndarray):
        block_type = DenseBlock
    elif isinstance(X, CodedRows):
        block_type = CodedBlock
    blocks = []
    for begin in range(0, X.shape[0], BLOCK_ROWS):
        rows = X[begin : begin + BLOCK_ROWS]
        blocks.append(block_type.from_rows(rows, y[begin : begin + BLOCK_ROWS], path, row_norm))
    return blocks

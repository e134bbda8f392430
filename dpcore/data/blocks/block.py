"""The contract of a block: all that a query, an engine or a kernel of its own may ask of rows.

A block's rows are stored as they were encoded, truncated towards zero to the feature grid: their
*raw* form. The row that an algorithm sees is factor times raw. Nothing else of a block is to be
touched: how rows lie in memory, or whether they lie there at all, is the business of its layout
(``dpcore.data.blocks.layout``).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

if TYPE_CHECKING:
    from dpcore.privacy.sensitivity import Norm

__all__ = ["Block", "Coefficients", "RawRows", "RowMap"]

Coefficients = Callable[[np.ndarray, slice], np.ndarray]
"""Makes of some rows' margins, read only and in C order, and of the range of these rows in their
block, their coefficients: float64 of the margins' shape, on the grid that ``weighted_sum`` names.
"""

Product = Callable[[np.ndarray], np.ndarray]


class RowMap(Protocol):
    """A public map of raw rows."""

    @property
    def key(self) -> Hashable:
        """Return all that the norms under this map depend on, beside the rows and its class."""

    def norms_up(self, product: Product, square_product: Product) -> np.ndarray:
        """Return an upper bound of the l2 norm of every mapped row, float64 of shape (n_rows,).

        ``product(v)`` is ``sum_j v_j x_j`` of every raw row and ``square_product(v)``
        ``sum_j v_j x_j^2``, up to the rounding of such sums.
        """


class RawRows(Protocol):
    """Raw rows of one layout, side by side, for an algorithm that visits ranges of them.

    Products are plain float64: a margin of d terms errs by at most ``(d + 2) 2^-53 ||x|| ||w||``,
    a sum over b rows by ``(b + 1) 2^-53 sum |c_i| ||x_i||`` in l2, to first order and in any order
    of terms. A sensitivity that rests on them has to count that. They are exact where ``w`` or
    ``c`` is on its grid, as ``Block`` has it.
    """

    def fill_margins(self, start: int, stop: int, w: np.ndarray, out: np.ndarray) -> None:
        """Write ``raw_i . w`` of rows start to stop - 1 to ``out``, float64 of that length."""

    def weighted_sum(self, start: int, stop: int, c: np.ndarray) -> np.ndarray:
        """Return ``sum_i c_i raw_i`` over rows start to stop - 1, float64 of shape (n_features,).

        ``c`` : float64 of shape (stop - start,).
        """

    def mapped(self, entry: Callable[[np.ndarray], np.ndarray]) -> RawRows:
        """Return the rows whose every entry is ``entry`` of what it was, for a function of float64
        arrays, entry by entry, that keeps 0 and 1."""


class Block(Protocol):
    """Some rows of a table."""

    n_rows: int
    n_features: int
    y: np.ndarray
    """float64 of shape (n_rows,): -1 and +1, a regression's target in [-1, 1], or, of three classes
    or more, the place of the row's class, from 0.0. Where rows have weights, pairs of that and of
    the weight (``dpcore.data.weighted_labels``), which a weighted loss takes as they are."""
    factor: np.ndarray
    """float64 of shape (n_rows,), in (0, 1]: the scale of each row."""
    units: np.ndarray | None
    """int64 of shape (n_rows,): the unit of each row, all of whose rows are in this block; ``None``
    where each row is one."""

    @property
    def n_cells(self) -> int:
        """How many numbers a pass over the rows reads."""

    def margins(self, w: np.ndarray) -> np.ndarray:
        """Return ``x.w`` for every (scaled) row: a pure function of the row and of ``w`` rounded to
        its grid. Not to be written on: it may be cached.

        ``w`` : of shape (n_features,), or (n_classes, n_features); the margins are float64 of shape
        (n_rows,), or (n_classes, n_rows) in C order, each class's with the bits of ``w`` of it
        alone on that grid.
        """

    def margins_at(self, points: np.ndarray) -> np.ndarray:
        """Return ``margins`` of every entry of ``points``, of shape (n_points, n_features) or
        (n_points, n_classes, n_features), to the bit: float64 of shape (n_points, n_rows) or
        (n_points, n_classes, n_rows), C order. Nothing is cached."""

    def line(self, w: np.ndarray, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the raw margins of ``w`` and of ``direction``, read only; both are cached, so that
        the margins of ``w - step * direction`` cost no further pass."""

    def row_norms(self, norm: Norm) -> np.ndarray:
        """Return an upper bound of each raw row's norm, float64 of shape (n_rows,)."""

    def standardized_norms(self, standardization: RowMap, least: float = 0.0) -> np.ndarray:
        """Return an upper bound of the l2 norm of each mapped raw row, float64 of shape (n_rows,),
        read only: ``least`` times its own at least. Those of the last map are cached."""

    def factors_within(self, row_norm: float, norms: np.ndarray | None = None) -> np.ndarray:
        """Return the factors, as ``factor``, that hold the rows to another l2 norm, or to a bound
        of other norms of theirs: ``norms`` are upper bounds of these, of shape (n_rows,)."""

    def rows(self) -> np.ndarray:
        """Return the (scaled) rows, a float64 copy of shape (n_rows, n_features)."""

    def take(self, places: np.ndarray) -> Block:
        """Return a block of the rows at ``places``, int64, each at most once. A row contributes to
        a sum there, to the bit, what it contributes here."""

    def settle(self, keep: Callable[[np.ndarray], np.ndarray]) -> None:
        """Drop cached margins, and replace labels, norms, factors and units by what ``keep`` makes
        of them: arrays of the same type and content."""

    def weighted_sum(self, c: np.ndarray) -> np.ndarray:
        """Return ``sum_i c_i raw_i``, float64 of shape (n_features,); of ``c`` of shape (n_classes,
        n_rows) those of each class, of shape (n_classes, n_features).

        Exact in any order when the ``c_i`` are multiples of ``2**-k`` and ``|c_i| ||raw_i||`` is at
        most ``clip``, with k from ``dpcore.exact.grid.coefficient_bits(clip, ...)``.
        """

    def sum_at(self, w: np.ndarray, coefficients: Coefficients) -> np.ndarray:
        """Return ``weighted_sum`` of the coefficients that rows have by their ``margins`` of ``w``:
        both in one pass, some rows after the other, so that ``coefficients`` is to be a function of
        each row."""

    def weighted_moments(self, c: np.ndarray) -> np.ndarray:
        """Return ``sum_i c_i q(raw_i)``, float64 of shape (n_features,), exact like
        ``weighted_sum``: q squares an entry of size 1 at most and takes the size of another,
        truncated to the feature grid."""

    def raw_rows(self) -> RawRows:
        """Return the rows as they lie, without a copy."""

    @classmethod
    def gather(cls, blocks: Sequence[Self], places: np.ndarray) -> RawRows:
        """Return a copy of the rows of these blocks, all of this class: the k-th of them, counted
        through the blocks, at ``places[k]`` (int64, a permutation)."""

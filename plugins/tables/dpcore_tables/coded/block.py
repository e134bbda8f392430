"""Blocks of coded rows: ``margins`` gathers one coefficient per categorical column, a weighted sum
scatters into it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpcore.errors import DataError, InvalidInputError
from dpcore.plugin import Problem
from dpcore.plugin.parts import Table
from dpcore.plugin.readers import CachedMargins, Layout
from dpcore_tables.coded.kernels import (
    add_hats,
    add_sums_of_hats,
    coded_margins,
    coded_margins_of_four,
    coded_weighted_sum,
    coded_weighted_sums_of_four,
)
from dpcore_tables.coded.rows import CodedLayout, CodedRows
from dpcore_tables.kinds.even_hats import neighbours

if TYPE_CHECKING:
    from dpcore.plugin.parts import RoundedLine

__all__ = ["CODED", "CodedBlock", "Lender", "share"]

Lender = Callable[[], AbstractContextManager[CodedRows]]
"""Lends rows for the time of a look: they need not be in memory."""

_ONE = 1 << Problem.FEATURE_BITS
"""A one-hot 1 in grid steps."""


def share(original: np.ndarray, stored: np.ndarray) -> np.ndarray:
    """Return ``original`` where it is ``stored`` to the bit, of one type, in C order, and cannot
    change; else ``stored``, which the caller keeps to itself. Both are read only: one type for the
    kernels."""
    same_form = original.dtype == stored.dtype and original.shape == stored.shape
    if same_form and original.flags.c_contiguous and Table.is_frozen(original):
        if original.tobytes() == stored.tobytes():
            return original
    stored.setflags(write=False)
    return stored


class RawCodedRows:
    """Raw rows that ``lend`` lends; ``entry`` : maps each entry, 0 to 0 and 1 to 1, ``None`` for
    entries as they are."""

    def __init__(
        self,
        lend: Lender,
        layout: CodedLayout,
        entry: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> None:
        self._lend, self._layout, self._entry = lend, layout, entry

    def fill_margins(self, start: int, stop: int, w: np.ndarray, out: np.ndarray) -> None:
        numeric, codes = self._layout.split(w)
        with self._lend() as rows:
            cells, hats = self._cells(rows, start, stop, self._layout.curves_of(codes))
            coded_margins(*cells, numeric, codes, out)
            if hats is not None:
                add_hats(*hats, np.array(codes), out)

    def weighted_sum(self, start: int, stop: int, c: np.ndarray) -> np.ndarray:
        sums, numeric, codes = self._layout.sums()
        with self._lend() as rows:
            cells, hats = self._cells(rows, start, stop, self._layout.curves)
            coded_weighted_sum(*cells, c, numeric, codes)
            if hats is not None:
                add_sums_of_hats(*hats, np.array(c), codes)
        return self._layout.join(sums)

    def mapped(self, entry: Callable[[np.ndarray], np.ndarray]) -> RawCodedRows:
        before = self._entry
        both = entry if before is None else lambda entries: entry(before(entries))
        return RawCodedRows(self._lend, self._layout, both)

    def _cells(self, rows: CodedRows, start: int, stop: int, curves: np.ndarray) -> tuple[Any, Any]:
        """Return these rows for the kernels; and the hats of mapped ones, ``None`` of others."""
        numeric, codes = rows.numeric[start:stop], rows.codes[start:stop]
        if self._entry is None:
            return (numeric, codes, curves), None
        numbers = numeric.astype(np.float64)
        cells = self._entry(numbers), codes, curves[:0]
        if not len(curves):
            return cells, None
        left, t = neighbours(numbers[:, curves[:, 0]], curves[:, 2])
        # Copies are of one form, so that each kernel is: those of ``_load_kernels_of_hats``.
        return cells, (
            np.array(left + curves[:, 1], order="C"),
            np.array(self._entry(1.0 - t), np.float64, order="C"),
            np.array(self._entry(t), np.float64, order="C"),
        )


def _load_kernels_of_hats() -> None:
    """Load what adds hats of mapped rows, before anything is charged. For each block anew: a cache
    would count them, and with them the rows."""
    places, values, none = np.empty((0, 1), np.int64), np.empty((0, 1)), np.empty(0)
    add_hats(places, values, values, none, none)
    add_sums_of_hats(places, values, values, none, none)


class CodedBlock(CachedMargins):
    """A block of coded rows, which ``lend`` lends: read-only cells on the feature grid in [0, 1]
    and codes of their own columns, the same every time. Where they are some of the rows that
    another one lends, at its places (``within``), products go over all of those: that is faster
    than to take the rows out every time."""

    def __init__(
        self,
        lend: Lender,
        y: np.ndarray,
        path: RoundedLine,
        row_norm: float,
        within: tuple[Lender, np.ndarray] | None = None,
    ) -> None:
        self._lend = lend
        self._within = within
        with lend() as rows:
            self._layout = rows.layout
            steps = _steps(rows)
            squares = (steps * steps).sum(axis=1) + _n_ones(rows) * _ONE * _ONE
            squares += _squares_of_hats(rows, steps)
            if len(self._layout.curves):
                _load_kernels_of_hats()
            # A schema's bound is proved of its kinds of columns; it is verified in integers.
            if (squares > math.floor(Fraction(path.raw_norm_bound) ** 2 * _ONE**2)).any():
                raise InvalidInputError("The raw norm bound is below what the columns allow.")
        super().__init__(y, self._layout.n_features, squares, path, row_norm)

    @classmethod
    def from_rows(
        cls, X: CodedRows, y: np.ndarray, path: RoundedLine, row_norm: float
    ) -> CodedBlock:
        if not np.isfinite(X.numeric).all():
            raise DataError("The data hold a value that is not finite (NaN or infinity).")
        # Copies, or what cannot change: the rows whose norms are taken are those that stay.
        codes = share(X.codes, np.array(X.codes, order="C"))
        steps = np.ldexp(np.clip(X.numeric, 0.0, 1.0), Problem.FEATURE_BITS).astype(np.int64)
        numeric = share(X.numeric, np.ldexp(steps.astype(np.float32), -Problem.FEATURE_BITS))
        if not X.layout.holds(codes):
            raise InvalidInputError("A code is not one of its column's.")
        return cls(_lending(CodedRows(X.layout, numeric, codes)), y, path, row_norm)

    @classmethod
    def gather(cls, blocks: Sequence[Self], places: np.ndarray) -> RawCodedRows:
        layout, begin = blocks[0]._layout, 0
        numeric = np.empty((places.size, layout.numeric.size), np.float32)
        codes = np.empty((places.size, layout.starts.size - 1), layout.code_type)
        for block in blocks:
            where = places[begin : begin + block.n_rows]
            with block._lend() as rows:
                numeric[where], codes[where] = rows.numeric, rows.codes
            begin += block.n_rows
        return RawCodedRows(_lending(CodedRows(layout, numeric, codes)), layout)

    @property
    def n_cells(self) -> int:
        return self.n_rows * (self._layout.numeric.size + self._layout.starts.size - 1)

    def raw_rows(self) -> RawCodedRows:
        return RawCodedRows(self._lend, self._layout)

    def _absolute_steps(self) -> np.ndarray:
        with self._lend() as rows:
            ones = _n_ones(rows) + len(self._layout.hats)  # A number's two hats add up to 1.
            return np.asarray(_steps(rows).sum(axis=1) + ones * _ONE)

    def _unfolded(self) -> np.ndarray:
        out = np.zeros((self.n_rows, self.n_features + 1))
        with self._lend() as rows:
            held = rows.unfolded()
            out[:, held.layout.numeric] = held.numeric
            out[np.arange(self.n_rows)[:, np.newaxis], self._layout.code_features[rows.codes]] = 1.0
        return out[:, : self.n_features]

    def _take_cells(self, places: np.ndarray) -> None:
        lend, known = self._within or (self._lend, None)
        with lend() as rows:
            taken = rows.take(places if known is None else known[places])
        for cells in (taken.numeric, taken.codes):
            cells.setflags(write=False)
        self._lend, self._within = _lending(taken), None

    def _product(self, v: np.ndarray) -> np.ndarray:
        numeric, codes = self._layout.split(v)
        lend, places = self._within or (self._lend, None)
        with lend() as rows:
            out = np.empty(rows.shape[0])
            cells = rows.numeric, rows.codes, self._layout.curves_of(codes)
            coded_margins(*cells, numeric, codes, out)
        return out if places is None else out[places]

    def _fill_four(self, points: np.ndarray, out: np.ndarray) -> None:
        parts = self._layout.split(points)
        numeric, codes = (np.ascontiguousarray(part.T) for part in parts)
        lend, places = self._within or (self._lend, None)
        with lend() as rows:
            filled = out if places is None else np.empty((4, rows.shape[0]))
            cells = rows.numeric, rows.codes, self._layout.curves_of(parts[1])
            coded_margins_of_four(*cells, numeric, codes, filled)
        if places is not None:
            out[:] = filled[:, places]

    def _sum(self, c: np.ndarray) -> np.ndarray:
        if self._within is None:
            return super()._sum(c)
        lend, places = self._within
        with lend() as rows:
            weights = _spread(c, places, rows.shape[0])
            return RawCodedRows(_lending(rows), rows.layout).weighted_sum(0, weights.size, weights)

    def _sum_four(self, c: np.ndarray) -> np.ndarray:
        sums, numeric, codes = self._layout.sums(4)
        lend, places = self._within or (self._lend, None)
        with lend() as rows:
            weights = _spread(c, places, rows.shape[0])
            cells = rows.numeric, rows.codes, rows.layout.curves
            coded_weighted_sums_of_four(*cells, weights, numeric, codes)
        return self._layout.join(sums.T)


class _Coded(Layout[CodedRows]):
    block_type = CodedBlock

    def parts(self, X: CodedRows) -> tuple[np.ndarray, ...]:
        return X.numeric, X.codes

    def join(self, form: CodedRows, parts: Sequence[np.ndarray]) -> CodedRows:
        return replace(form, numeric=parts[0], codes=parts[1])

    def freeze(self, X: CodedRows) -> CodedRows:
        return replace(X, numeric=Table.freeze(X.numeric), codes=Table.freeze(X.codes))


CODED = _Coded()
CodedRows.row_layout = CODED


def _lending(rows: CodedRows) -> Lender:
    """Return what lends rows in memory."""
    lent = nullcontext(rows)
    return lambda: lent


def _spread(c: np.ndarray, places: np.ndarray | None, n_rows: int) -> np.ndarray:
    """Return the weights of rows at these places, and 0 for others, in C order; as they are where
    there are no places."""
    if places is None:
        return np.ascontiguousarray(c)
    weights = np.zeros((*c.shape[:-1], n_rows))
    weights[..., places] = c
    return weights


def _steps(rows: CodedRows) -> np.ndarray:
    """Return the numbers in grid steps, int64."""
    return np.asarray(np.ldexp(rows.numeric, Problem.FEATURE_BITS).astype(np.int64))


def _squares_of_hats(rows: CodedRows, steps: np.ndarray) -> np.ndarray:
    """Return the sums of the hats' squared grid steps, int64, from the numbers' grid steps."""
    total = np.zeros(len(steps), dtype=np.int64)
    for column, _, stretches in rows.layout.curves.tolist():
        along = steps[:, column] * stretches
        t = along - np.minimum(along >> Problem.FEATURE_BITS, stretches - 1) * _ONE
        total += t * t + (_ONE - t) * (_ONE - t)
    return total


def _n_ones(rows: CodedRows) -> np.ndarray:
    """Return how many categories of every row are known, int64."""
    known = rows.layout.code_features[rows.codes] < rows.layout.n_features
    return np.asarray(known.sum(axis=1, dtype=np.int64))

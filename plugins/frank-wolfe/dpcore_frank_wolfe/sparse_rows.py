"""All rows of a table as sparse whole numbers, by row and by column."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin import Problem
from dpcore.plugin.parts import Table
from dpcore_frank_wolfe.kernels import fill_columns, largest_steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore.plugin.parts import Block

__all__ = ["SparseRows"]

_CELLS_AT_ONCE = 2**21
_Part = tuple[np.ndarray, np.ndarray, np.ndarray]
_NONE: _Part = (np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.int32))


class SparseRows:
    """The raw rows of blocks, entries in whole steps of the feature grid.

    Row i has the entries ``indptr[i]`` to ``indptr[i + 1]`` of ``indices`` (uint32) and ``steps``
    (int32); column j those from ``starts[j]`` to ``starts[j + 1]`` of ``rows`` and ``row_steps``.
    ``largest`` : each row's norm in l-infinity, float64, exact. ``y``, ``factor`` : as a block's,
    labels held to [-1, 1].
    """

    def __init__(self, blocks: Sequence[Block], n_features: int) -> None:
        parts = [_NONE, *(part for block in blocks for part in _parts_of(block))]
        counts, indices, steps = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        self.indptr = np.append(0, np.cumsum(counts, dtype=np.int64))
        self.indices, self.steps = indices, steps
        labels = [Table.clamped_labels(block.y) for block in blocks] or [np.empty(0)]
        self.y = np.concatenate(labels)
        self.factor = np.concatenate([np.empty(0), *(block.factor for block in blocks)])
        largest = np.zeros(self.y.size, dtype=np.int64)
        largest_steps(self.indptr, steps, largest)
        self.largest = np.ldexp(largest.astype(np.float64), -Problem.FEATURE_BITS)
        sizes = np.bincount(indices, minlength=n_features)
        self.starts = np.append(0, np.cumsum(sizes, dtype=np.int64))
        self.rows, self.row_steps = np.empty(steps.size, np.int32), np.empty_like(steps)
        free = self.starts[:-1].copy()
        fill_columns(self.indptr, indices, steps, free, self.rows, self.row_steps)

    @property
    def n_rows(self) -> int:
        return self.y.size

    def column(self, j: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows that have an entry in column j, and these in steps."""
        place = slice(self.starts[j], self.starts[j + 1])
        return self.rows[place], self.row_steps[place]


def _parts_of(block: Block) -> list[_Part]:
    """Return how many entries rows have, and where and what these are, some rows at a time."""
    if (cells := getattr(block, "cells", None)) is not None:
        # Of sparse rows, whose cells are no matter of one entry for each column.
        indptr, indices, values = cells
        return [(np.diff(indptr.astype(np.int64)), indices, _in_steps(values))]
    at_once = max(1, _CELLS_AT_ONCE // block.n_features)
    edges = [*range(0, block.n_rows, at_once), block.n_rows]
    pieces = [block.take(np.arange(*edge)) for edge in pairwise(edges)] or [block]
    return [_unfolded(piece) for piece in pieces]


def _unfolded(block: Block) -> _Part:
    # Entries are below 2^28 steps: what they are times a factor, rounded, over it, is them again.
    steps = _in_steps(block.rows() / block.factor[:, np.newaxis])
    row_of, indices = np.nonzero(steps)
    counts = np.bincount(row_of, minlength=block.n_rows)
    return counts, indices.astype(np.uint32), steps[row_of, indices]


def _in_steps(values: np.ndarray) -> np.ndarray:
    steps: np.ndarray = np.rint(np.ldexp(values.astype(np.float64), Problem.FEATURE_BITS))
    return steps.astype(np.int32)

"""Pieces of encoded rows as one array each, grown in place: there is never a second copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin.parts import Table

if TYPE_CHECKING:
    from dpcore_tables.store.encoded import Rows

__all__ = ["assemble"]

_SLACK = 8
"""An array grows by an eighth at least, so that it moves few times."""


def assemble(pieces: Iterable[tuple[Rows, np.ndarray | None]]) -> tuple[Rows, np.ndarray | None]:
    """Return the rows of all pieces (one at least) and their labels, read only.

    The pieces' arrays are given up to this function.
    """
    rest: Iterator[tuple[Any, np.ndarray | None]] = iter(pieces)
    first = next(rest)
    second = next(rest, None)
    layout = Table.layout_of(first[0])
    if second is None:
        X, y = first
        return layout.freeze(X), None if y is None else Table.freeze(y)
    form, labels, parts = first[0][:0], _Grown(), [_Grown() for _ in layout.parts(first[0])]
    some = chain([first, second], rest)
    del first, second
    for X, y in some:
        for grown, part in zip(parts, layout.parts(X), strict=True):
            grown.add(part)
        if y is not None:
            labels.add(y)
    rows = layout.join(form, [grown.take() for grown in parts])
    return layout.freeze(rows), None if y is None else Table.freeze(labels.take())


class _Grown:
    """One array of the rows added so far, of the type and width of the first of them."""

    def __init__(self) -> None:
        self._array = np.empty(0)
        self._n: int | None = None

    def add(self, rows: np.ndarray) -> None:
        if self._n is None:
            self._array, self._n = np.empty((0, *rows.shape[1:]), dtype=rows.dtype), 0
        begin, end = self._n, self._n + rows.shape[0]
        if end > self._array.shape[0]:
            self._resize(max(end, begin + begin // _SLACK))
        self._array[begin:end] = rows
        self._n = end

    def take(self) -> np.ndarray:
        """Return the array and keep it no longer."""
        self._resize(self._n or 0)
        array, self._array = self._array, np.empty(0)
        return array

    def _resize(self, n_rows: int) -> None:
        # The array has no view and no other name: it may move.
        self._array.resize((n_rows, *self._array.shape[1:]), refcheck=False)

"""Pieces of encoded rows as one array each, grown in place: there is never a second copy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dpcore.data.blocks.coded import CodedRows
from dpcore.data.blocks.ownership import own, own_rows

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    Rows: TypeAlias = np.ndarray | csr_matrix | CodedRows

__all__ = ["assemble"]

_SLACK = 8
"""An array grows by an eighth at least, so that it moves few times."""


def assemble(pieces: Iterable[tuple[Rows, np.ndarray | None]]) -> tuple[Rows, np.ndarray | None]:
    """Return the rows of all pieces (one at least) and their labels, read only.

    The pieces' arrays are given up to this function.
    """
    rest = iter(pieces)
    first = next(rest)
    second = next(rest, None)
    if second is None:
        X, y = first
        return own_rows(X), None if y is None else own(y)
    form, labels, parts = first[0][:0], _Grown(), [_Grown() for _ in _parts(first[0])]
    some = chain([first, second], rest)
    del first, second
    for X, y in some:
        for grown, part in zip(parts, _parts(X), strict=True):
            grown.add(part)
        if y is not None:
            labels.add(y)
    return own_rows(_join(form, [grown.take() for grown in parts])), (
        None if y is None else own(labels.take())
    )


def _parts(X: Rows) -> tuple[np.ndarray, ...]:
    """Return arrays whose concatenations over pieces ``_join`` makes into rows again."""
    if isinstance(X, np.ndarray):
        return (X,)
    if isinstance(X, CodedRows):
        return X.numeric, X.codes
    return X.data, X.indices, np.diff(X.indptr)


def _join(form: Rows, parts: list[np.ndarray]) -> Rows:
    """Return rows of the form of ``form`` and of the given parts."""
    if isinstance(form, np.ndarray):
        return parts[0]
    if isinstance(form, CodedRows):
        return replace(form, numeric=parts[0], codes=parts[1])
    data, indices, counts = parts
    indptr = np.zeros(counts.size + 1, dtype=np.int64)
    np.cumsum(counts, out=indptr[1:])
    return type(form)((data, indices, indptr), shape=(counts.size, form.shape[1]))


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

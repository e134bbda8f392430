"""NumPy archives: ``X`` and ``y``, or the parts of a CSR matrix and ``y``. Never unpickles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from dpcore.errors import DataError, replacing
from dpcore.plugin.readers import ArraySource
from dpcore_tables.memory.columns import labels_of, real_matrix
from dpcore_tables.raw.raw_matrix import RawMatrix
from dpcore_tables.raw.reader import ReadFacts
from dpcore_tables.readers.pieces import require_readable

__all__ = ["open_npz", "NpzFile", "read_npz"]

_CSR_PARTS = ("data", "indices", "indptr", "shape")


class NpzFile:
    """An archive, read as one piece."""

    def __init__(self, path: str, *, labelled: bool = True) -> None:
        self._path = path
        self._labelled = labelled

    def names(self) -> list[str]:
        """Return no names: the columns have none."""
        return []

    def pieces(self) -> Iterator[RawMatrix]:
        """Yield all rows at once."""
        yield read_npz(self._path, labelled=self._labelled)

    def check(self) -> None:
        """Do nothing: one piece has its faults in order."""


def open_npz(source: str, facts: ReadFacts) -> NpzFile:
    """Return the archive."""
    return NpzFile(source, labelled=facts.labelled)


def read_npz(path: str, *, labelled: bool = True) -> RawMatrix:
    """Return the rows of an ``.npz`` file with ``X`` (dense) or ``data, indices, indptr, shape``
    (as ``scipy.sparse.save_npz`` writes them), and ``y``.

    Raises DataError if it cannot be read, lacks a part, or holds anything but numbers.
    """
    arrays = _load(path)
    if "X" in arrays:
        X = real_matrix(arrays["X"], path)
    elif all(part in arrays for part in _CSR_PARTS):
        X = _csr(arrays, path)
    else:
        raise DataError(f"{path}: no array X, nor the CSR parts {', '.join(_CSR_PARTS)}.")
    if labelled and "y" not in arrays:
        raise DataError(f"{path}: no array y with the labels.")
    labels = labels_of(arrays["y"], path, X.shape[0]) if labelled else None
    return RawMatrix(X, labels, path, ArraySource.place)


def _csr(arrays: Mapping[str, np.ndarray], source: str) -> csr_matrix:
    data, indices, indptr, shape = (arrays[part] for part in _CSR_PARTS)
    with replacing(TypeError, ValueError, OverflowError, by=ArraySource(source).misfit):
        n_rows, width = (int(n) for n in shape)
        if indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu":
            raise TypeError
        X = csr_matrix((data, indices, indptr), shape=(n_rows, width))
    return ArraySource(source).csr(X)


def _load(path: str) -> dict[str, np.ndarray]:
    require_readable(path)
    # NumPy and zipfile name no complete set of errors for damaged bytes.
    with replacing(Exception, by=partial(_unreadable, path)), Path(path).open("rb") as file:
        archive = np.load(file, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise ValueError
        return {name: archive[name] for name in archive.files}


def _unreadable(path: str, error: Exception) -> DataError:
    kind = type(error).__name__
    return DataError(f"{path}: not a whole .npz file of plain arrays ({kind}).")

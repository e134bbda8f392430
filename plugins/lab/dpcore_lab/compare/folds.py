"""Folds: which rows are tested on, the same for every algorithm, epsilon and repetition."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin import NeighboringRelation

__all__ = ["fold_key", "fold_numbers", "unit_coins"]

_BENCHMARK_SEED = 2018


def fold_key(seed: int | None) -> bytes:
    """Return the secret that folds of private rows are drawn from: fresh, unless there is a seed.

    As long as a comparison runs, whoever has it can tell a row's fold by its place.
    """
    if seed is None:
        return os.urandom(32)
    return hashlib.sha256(f"dpcore folds {seed}".encode()).digest()


def unit_coins(name: str, key: bytes) -> Callable[[int], bytes]:
    """Return what draws the bytes that decide which rows of a unit are kept: the same in every
    process of a comparison, so that its rows are bounded once."""
    return lambda n: _stream(key + b"units of ", name, n)


def _stream(key: bytes, name: str, n: int) -> bytes:
    return hashlib.shake_256(key + name.encode("utf-8", "surrogateescape")).digest(n)


def fold_numbers(
    name: str,
    n_rows: int,
    folds: int,
    relation: NeighboringRelation,
    *,
    key: bytes | None,
) -> np.ndarray:
    """Return the fold of every row, int64 of shape (n_rows,); where units have several rows, it is
    asked of the units.

    Parameters
    ----------
    name : of the data, so that two tables have independent folds.
    key : ``None`` for rows of a public benchmark: one permutation of them, of a fixed seed, is cut
        into equal parts. For private rows the secret of ``fold_key``. Each row then has a draw of
        its own under add-or-remove-one, where one row more must move no other; where the number of
        rows is public, a random permutation is cut into equal parts.

    A draw is a 64-bit word of SHAKE-256 of key and name, modulo ``folds``: the folds' chances
    differ by less than 2^-64 of each other.

    Raises InvalidInputError for more folds than rows, but not where the number of rows is private:
    a refusal would tell it.
    """
    size_is_public = key is None or relation.size_is_public
    if size_is_public and folds > n_rows:
        raise InvalidInputError(f"Expected folds={folds} <= {n_rows}, the rows of {name}.")
    if key is None:
        return _cut(np.random.default_rng(_BENCHMARK_SEED).permutation(n_rows), folds)
    words = np.frombuffer(_stream(key, name, 8 * n_rows), dtype="<u8")
    if size_is_public:
        # Of equal words, of chance below n^2 2^-65, the first row's comes first.
        return _cut(np.argsort(words, kind="stable"), folds)
    return (words % np.uint64(folds)).astype(np.int64)


def _cut(order: np.ndarray, folds: int) -> np.ndarray:
    numbers = np.empty(order.size, dtype=np.int64)
    for fold, rows in enumerate(np.array_split(order, folds)):
        numbers[rows] = fold
    return numbers

"""Splitting private rows into two parts, so that one row more or less moves one row; where units
have several rows, the units are what is split, each with all of its rows.

A fixed-size or seeded split of n rows depends on n, and on every row's place: under
add-or-remove-one a neighbour would move many rows. There each row has a coin of its own.
"""

import math
import os
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.privacy.sensitivity import NeighboringRelation

__all__ = ["split_rows"]


def split_rows(
    n_rows: int,
    fraction: float,
    relation: NeighboringRelation,
    rng_bytes: Callable[[int], bytes] = os.urandom,
) -> np.ndarray:
    """Return a bool array of shape (n_rows,): which rows are in the part held out.

    Under add-or-remove-one each row is in it with probability floor(fraction 2^64)/2^64, by an
    independent coin. Where the number of rows is public, a uniformly random subset of
    floor(fraction n_rows + 1/2) rows. ``rng_bytes(k)`` returns k fresh random bytes.

    Raises InvalidInputError unless 0 < fraction < 1.
    """
    if not (math.isfinite(fraction) and 0.0 < fraction < 1.0):
        raise InvalidInputError(f"Expected 0 < fraction={fraction} < 1.")
    if relation.size_is_public:
        return _subset(n_rows, math.floor(Fraction(fraction) * n_rows + Fraction(1, 2)), rng_bytes)
    return _words(n_rows, rng_bytes) < np.uint64(math.floor(Fraction(fraction) * 2**64))


def _subset(n_rows: int, size: int, rng_bytes: Callable[[int], bytes]) -> np.ndarray:
    """Return the rows of the smallest of n random keys: uniform, given that they are distinct."""
    keys = _words(n_rows, rng_bytes)
    while len(np.unique(keys)) < n_rows:
        keys = _words(n_rows, rng_bytes)
    mask = np.zeros(n_rows, dtype=bool)
    mask[np.argsort(keys)[:size]] = True
    return mask


def _words(n: int, rng_bytes: Callable[[int], bytes]) -> np.ndarray:
    return np.frombuffer(rng_bytes(8 * n), dtype="<u8")

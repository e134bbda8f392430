"""Whose rows are whose: the units of a table, at most k rows of each.

Theorem. Let T keep at most k rows of each unit, where what is kept of a unit is a function of its
own rows and of coins of its own, independent of all others'. Let M be private for any two tables
that differ in up to k rows of one unit (added or removed; under replace-one removed and added).
Then the release M(T(D)) is as private for tables D that differ in any number of rows of one unit:
given all coins c, T(D) and T(D') differ in the kept rows of that unit alone, and c has one
distribution on both tables, so that both outcomes are mixtures, with the same weights, of outcomes
that are close. (epsilon, delta) holds for such a mixture, by its sum over c; so do bounds of Renyi
divergences, which are jointly quasi-convex (van Erven & Harremoes 2014, Theorem 13), and a
trade-off function f: a test's errors are means of a(c) and b(c) >= f(a(c)), and f is convex.

It holds only where rows are bounded before anything else depends on them: before splits, folds and
samples, once for a run.
"""

import os
from collections.abc import Callable
from typing import Literal

import numpy as np

from dpcore.errors import DataError, InvalidInputError
from dpcore.exact.grid import BLOCK_ROWS

__all__ = [
    "Coins",
    "UnitIds",
    "bounded",
    "coins_of",
    "dense",
    "ends_of_blocks",
    "kept_places",
    "require_bounded",
]

Coins = Callable[[int], bytes]
"""Returns as many fresh random bytes."""
_COIN_BYTES = 8
_STREAMS = {"split": 1, "units": 2}


def coins_of(seed: int | None, purpose: Literal["split", "units"]) -> Coins:
    """Return what draws random bytes: fresh ones, or, for a purpose, those of a run's seed."""
    return os.urandom if seed is None else np.random.default_rng((seed, _STREAMS[purpose])).bytes


class UnitIds:
    """Collects the ids of rows, piece by piece, as numbers from 0 in the order of their first rows.

    A row without an id (None) gets a number of its own: it is a unit by itself.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._n_units = 0
        self._parts: list[np.ndarray] = [np.empty(0, dtype=np.int64)]

    def add(self, ids: np.ndarray) -> None:
        """Add the ids of further rows, in their normal form."""
        self._parts.append(np.fromiter(map(self._number, ids), np.int64, len(ids)))

    def units(self) -> np.ndarray:
        """Return the unit of each row, int64 of shape (n_rows,)."""
        return np.concatenate(self._parts)

    def _number(self, id: str | None) -> int:
        known = None if id is None else self._numbers.get(id)
        if known is not None:
            return known
        if id is not None:
            self._numbers[id] = self._n_units
        self._n_units += 1
        return self._n_units - 1


def bounded(units: np.ndarray, rows_per_unit: int, coins: Coins = os.urandom) -> np.ndarray:
    """Return which rows are kept, bool: of each unit all, or ``rows_per_unit`` of them, every
    choice equally likely but for ties of 64 bits.

    ``coins(n)`` returns n fresh random bytes. Each row has a word of its own, and a unit keeps
    those of its rows with the smallest: what other rows there are changes nothing but which coins
    are the unit's, and these are independent of all others.
    """
    words = np.frombuffer(coins(_COIN_BYTES * units.size), dtype="<u8")
    order = np.lexsort((words, units))
    ordered = units[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]][: units.size])
    rank = np.arange(units.size) - np.repeat(first, np.diff(np.r_[first, units.size]))
    kept = np.empty(units.size, dtype=bool)
    kept[order] = rank < rows_per_unit
    return kept


def kept_places(units: np.ndarray, rows_per_unit: int, coins: Coins) -> np.ndarray:
    """Return the places of the rows that are ``bounded``, int64, those of a unit side by side."""
    order = np.argsort(units, kind="stable")
    return np.asarray(order[bounded(units, rows_per_unit, coins)[order]])


def dense(units: np.ndarray) -> np.ndarray:
    """Return the units numbered from 0 without a gap, in the same order: int64, read only."""
    numbers = np.unique(units, return_inverse=True)[1].astype(np.int64).reshape(units.shape)
    numbers.setflags(write=False)
    return numbers


def ends_of_blocks(units: np.ndarray, n_rows: int) -> list[int]:
    """Return 0 and the places where blocks end, so that the rows of a unit are in one block.

    Raises DataError unless each row has a unit and the rows of each are side by side, at most as
    many as a block holds.
    """
    if units.shape != (n_rows,):
        raise DataError("The number of rows with a unit is not the number of rows.")
    first = np.flatnonzero(np.diff(units, prepend=units[:1] - 1))
    if first.size != np.unique(units).size:
        raise DataError("The rows of a unit are not side by side.")
    edges, ends = np.append(first, n_rows), [0]
    while ends[-1] < n_rows:
        end = int(edges[np.searchsorted(edges, ends[-1] + BLOCK_ROWS, "right") - 1])
        if end == ends[-1]:
            raise DataError(f"A unit has more rows than a block of {BLOCK_ROWS}.")
        ends.append(end)
    return ends


def require_bounded(units: np.ndarray, rows_per_unit: int) -> None:
    """Raise InvalidInputError for more rows of a unit than are used."""
    if units.size and int(np.bincount(units).max()) > rows_per_unit:
        raise InvalidInputError(
            f"Expected at most rows_per_unit={rows_per_unit} rows of each unit: bound them first."
        )

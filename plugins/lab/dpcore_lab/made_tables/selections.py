"""Tables chosen from a pool of rows: of every size up to a run's, and of every make of its classes.

A table is the places of its rows in the pool, so that tables of many blocks cost nothing to make
and the exact answer of a sum over them follows from the parts of the pool's rows.
"""

from __future__ import annotations

from itertools import islice, zip_longest
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin.parts import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SIZES", "choices", "sizes_up_to"]

SIZES = (
    *range(9), 10, 12, 16, 20, 25, 30, 32, 33, 49, 50, 64, 65, 99, 100, 101, 127, 128, 200, 255,
    256, 257, 300, 500, 511, 512, 700, 999, 1000, 1001, 1023, 1024, 1500, 2000, 2048, 3000, 4000,
    4096, 5000, 6000, Table.BLOCK_ROWS - 1, Table.BLOCK_ROWS, Table.BLOCK_ROWS + 1, 10_000, 12_000,
    16_383, 16_384, 20_000, 25_000, 32_768, 40_000, 50_000, 65_536, 100_000,
)  # fmt: skip
"""Numbers of rows that are tried: small ones, round ones, powers of two, and around a block."""

_TELLING = (1001, Table.BLOCK_ROWS, 300, Table.BLOCK_ROWS + 1, 50)
"""Those that come first."""
_FIRST = 7
_RARE = (1, 2, 3, 4, 5, 6, 9)
"""Rows of a class that is rare."""
_ENDS, _OF_LENGTHS = 4, 1001
"""The shortest and the longest rows, and the rows of a table of these at most."""
_MOST_CLASSES = 6
"""Classes that are made rare, one after the other: the first and the last ones."""


def sizes_up_to(n: int) -> list[int]:
    """Return numbers of rows up to those of a run, these and one fewer first."""
    found = [n, n - 1, *(size for size in (*_TELLING, *SIZES) if size < n - 1)]
    return list(dict.fromkeys(found))


def choices(
    labels: np.ndarray,
    n: int,
    rng: np.random.Generator,
    only_n: bool = False,
    lengths: np.ndarray | None = None,
    weak: bool = False,
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the words of a table and the places of its rows in a pool. After one of a size, and
    then after every two, come one with a rare class and one of short rows with a few long ones, so
    that little time leaves none out.

    ``labels`` : of the pool's rows. ``n`` : the rows of the run. ``only_n`` : of tables of other
    sizes none, where the number of rows is public. ``lengths`` : of the pool's rows, or of what
    they contribute. ``weak`` : with tables whose rows hardly differ, but for their labels, which
    are nothing to a sum.
    """
    kinds = np.unique(labels)
    with_rare: Iterator[tuple[str, np.ndarray]] = iter(())
    if 2 <= kinds.size <= len(labels) // 2:
        with_rare = _of_classes(labels, kinds, n, rng, only_n)
    of_lengths = iter(()) if lengths is None else _of_lengths(lengths, n, rng, only_n)
    if weak and lengths is not None:
        in_one_direction = _of_one_direction(labels[: len(lengths)], lengths, n, rng, only_n)
        of_lengths = _in_turn(of_lengths, in_one_direction)
    for k, table in enumerate(_of_sizes(labels, n, rng, only_n)):
        yield table
        yield from islice(with_rare, 1 - k % 2)
        yield from islice(of_lengths, 1 - k % 2)
    yield from _in_turn(with_rare, of_lengths)


def _in_turn(
    one: Iterator[tuple[str, np.ndarray]], other: Iterator[tuple[str, np.ndarray]]
) -> Iterator[tuple[str, np.ndarray]]:
    for pair in zip_longest(one, other):
        yield from (table for table in pair if table is not None)


def _of_lengths(
    lengths: np.ndarray, n: int, rng: np.random.Generator, only_n: bool
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield tables of short rows and, behind them, some long ones: a bound that is taken from the
    first rows, or from most of them, is wrong for the others."""
    order, rows = np.argsort(lengths, kind="stable"), n if only_n else min(n, _OF_LENGTHS)
    short, long = order[:_ENDS], order[-_ENDS:]
    for share in (0.0, 0.1, 0.02, 0.5):
        few = max(1, int(share * rows))
        if few < rows:
            both = rng.choice(short, rows - few), rng.choice(long, few)
            yield f"{rows:,} rows, the last {few:,} of them long", np.concatenate(both)
    some = np.sort(rng.integers(0, len(order), rows))
    yield f"{rows:,} rows, short ones first", order[some]
    yield f"{rows:,} rows, long ones first", order[some[::-1]]
    yield f"{rows:,} rows, all of them long", rng.choice(long, rows)
    yield f"{rows:,} rows, all of them short", rng.choice(short, rows)
    yield (
        f"{rows:,} rows, a long one and a short one in turn",
        np.resize([long[-1], short[0]], rows),
    )


def _of_one_direction(
    labels: np.ndarray, lengths: np.ndarray, n: int, rng: np.random.Generator, only_n: bool
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield tables of the shortest rows of the lowest label, and of rows a little longer of the
    highest: what is fitted to them is large in a direction in which they say little."""
    if not lengths.size or labels.min() == labels.max():
        return
    low, high = labels == labels.min(), labels == labels.max()
    shortest, rows = lengths.min(), n if only_n else min(n, _OF_LENGTHS)
    base = np.flatnonzero(low & (lengths == lengths[low].min()))
    longer = np.unique(lengths[high & (lengths > shortest)])[: _ENDS * 2]
    for length in longer[::-1]:
        faint = np.flatnonzero(high & (lengths == length))
        both = rng.choice(base, rows - rows // 2), rng.choice(faint, rows // 2)
        yield f"{rows:,} rows in one weak direction", np.concatenate(both)


def _of_sizes(
    labels: np.ndarray, n: int, rng: np.random.Generator, only_n: bool
) -> Iterator[tuple[str, np.ndarray]]:
    size = len(labels)
    sizes = [n] if only_n else sizes_up_to(n)
    for rows in sizes[:_FIRST]:
        yield f"{rows:,} rows", rng.integers(0, size, rows)
    yield f"{n:,} rows by class", np.sort(rng.integers(0, size, n))[_by_class(labels, n, size)]
    yield f"one row {n:,} times", np.full(n, int(rng.integers(0, size)))
    for rows in sizes[_FIRST:]:
        yield f"{rows:,} rows", rng.integers(0, size, rows)


def _by_class(labels: np.ndarray, n: int, size: int) -> np.ndarray:
    """Return an order of n rows by the class of the pool's."""
    return np.argsort(labels[np.arange(n) % size], kind="stable")


def _of_classes(
    labels: np.ndarray, kinds: np.ndarray, n: int, rng: np.random.Generator, only_n: bool
) -> Iterator[tuple[str, np.ndarray]]:
    chosen = [*kinds[: _MOST_CLASSES // 2], *kinds[-_MOST_CLASSES // 2 :]]
    for kind in dict.fromkeys(chosen):
        own, others = np.flatnonzero(labels == kind), np.flatnonzero(labels != kind)
        yield f"{n:,} rows of one class", rng.choice(own, n)
        for k, few in enumerate(_RARE):
            rows = n if only_n or k % 2 else min(n, 1000)
            if few >= rows:
                continue
            both = np.concatenate([rng.choice(own, few), rng.choice(others, rows - few)])
            yield f"{rows:,} rows, {few} of one class", rng.permutation(both)

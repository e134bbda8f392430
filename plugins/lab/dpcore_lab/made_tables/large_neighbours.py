"""Answers that are no sums, derived from sums or from the whole table, on large neighbours."""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin import NeighboringRelation
from dpcore_lab.made_tables import sums
from dpcore_lab.made_tables.selections import choices
from dpcore_lab.replay.answers import compare_neighbours

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpcore_lab.made_tables.sums import LargeTables
    from dpcore_lab.made_tables.tables import Rows

    Places = np.ndarray
    """Of a table's rows in a pool."""

__all__ = ["compare_large_neighbours"]

_ROUNDS = 3
_LOOKED_AT = 2000
"""Rows of the pool among which the longest and the shortest are looked for."""
_SEED = 23


def compare_large_neighbours(query_for: Callable[[int], Any], made: LargeTables) -> str:
    """Return in words how far answers moved between neighbouring tables; AssertionError where one
    moved by more than it declares.

    ``query_for`` : of a number of rows, which is public under replace-one; ``None`` where the query
    is of another number. Neighbours have a row more or less at the end, in front or of a rare
    class, or another row in a row's place.
    """
    relation, pool = made.relation, made.rows
    if made.of_units:
        relation = NeighboringRelation.ADD_OR_REMOVE_ONE
    rng = np.random.default_rng(_SEED)
    ended = time.process_time() + sums.SHARE * made.seconds[1]
    pairs, sizes, share = 0, {made.n_rows}, 0.0
    lengths = _lengths(pool)
    ends = _ends(lengths)
    for _ in range(_ROUNDS):
        given = pool.y, made.n_rows, rng, made.only_n, lengths, True
        for _, places in islice(choices(*given), made.most_tables):
            query = query_for(len(places))
            if query is None or time.process_time() > ended:
                continue
            for one, other, shift in _neighbours(places, pool.y, ends, relation, rng):
                tables = pool.take(one), pool.take(other, shift)
                share = max(share, compare_neighbours(query, *tables, relation))
                pairs += 1
            sizes.add(len(places))
    return (
        f"{pairs} pairs of neighbours of {min(sizes):,} to {max(sizes):,} rows, at most "
        f"{share:.3g} of the sensitivity apart"
    )


def _lengths(pool: Rows) -> np.ndarray:
    """Return the lengths of the rows that are looked at."""
    few = pool.take(np.arange(min(len(pool.y), _LOOKED_AT)))
    return np.concatenate([np.linalg.norm(b.rows(), axis=1) for b in few.table().blocks])


def _ends(lengths: np.ndarray) -> Places:
    """Return the places of the longest rows that were looked at, and of the shortest."""
    order = np.argsort(lengths)
    return np.concatenate([order[:3], order[-5:]])


def _neighbours(
    places: Places,
    labels: np.ndarray,
    ends: Places,
    relation: NeighboringRelation,
    rng: np.random.Generator,
) -> Iterator[tuple[Places, Places, int]]:
    """Yield pairs of neighbours, the second with its shift: with a row at an end of what the schema
    allows, or any row, beside the others or in a row's place; without the first or the last row,
    or one of the rarest label."""
    n, extra = len(places), [*rng.choice(ends, 3, replace=False), rng.integers(len(labels))]
    last = places
    if n:
        rare = _rarest(labels[places])
        last = np.append(np.delete(places, rare), places[rare])
    if relation is not NeighboringRelation.ADD_OR_REMOVE_ONE:
        for whole, place in ((places, int(rng.integers(n))), (places, 0), (last, n - 1)):
            for row in extra[:3]:
                other = whole.copy()
                other[place] = row
                yield whole, other, 0
        return
    for row in extra:
        yield places, np.append(places, row), 0
    yield places, np.append(extra[0], places), 1
    if n:
        yield places, places[1:], -1
        yield last, last[:-1], 0


def _rarest(labels: np.ndarray) -> int:
    """Return the place of a row of the rarest label, 0 of none."""
    if not labels.size:
        return 0
    _, where, counts = np.unique(labels, return_inverse=True, return_counts=True)
    return int(np.argmin(counts[where]))

"""Answers that are no sums, derived from sums or from the whole table, on neighbours of a run's
sizes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin import NeighboringRelation
from dpcore_lab.checks.coverage_text import Tested
from dpcore_lab.replay.answers import compare_neighbours
from dpcore_lab.run_sizes.selections import choices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpcore_lab.made_tables.tables import Rows
    from dpcore_lab.run_sizes.request import LikeRun

    Places = np.ndarray
    """Of a table's rows in a pool."""

__all__ = ["check_answer_of_run"]

_SECONDS, _ROUNDS = 10.0, 3
_LOOKED_AT = 2000
"""Rows of the pool among which the longest and the shortest are looked for."""
_SEED = 23


def check_answer_of_run(query_for: Callable[[int], Any], like: LikeRun) -> Tested:
    """Raise AssertionError if an answer moves by more than it declares between neighbouring tables
    of the run's sizes.

    ``query_for`` : of a number of rows, which is public under replace-one; ``None`` where the query
    is of another number. Neighbours have a row more or less at the end, in front or of a rare
    class, or another row in a row's place. Tables come in the order of ``choices`` until 10 seconds
    are over.
    """
    relation, pool = like.relation, like.rows
    if like.rows_per_unit is not None:
        relation = NeighboringRelation.ADD_OR_REMOVE_ONE
    rng = np.random.default_rng(_SEED)
    ended, pairs, sizes, share = time.perf_counter() + _SECONDS, 0, set[int](), 0.0
    ends = _ends(pool)
    for _ in range(_ROUNDS):
        for _, places in choices(pool.y, like.n_rows, rng, like.problem.n is not None):
            query = query_for(len(places))
            if query is None or time.perf_counter() > ended:
                continue
            for one, other, shift in _neighbours(places, pool.y, ends, relation, rng):
                tables = pool.take(one), pool.take(other, shift)
                share = max(share, compare_neighbours(query, *tables, relation))
                pairs += 1
            sizes.add(len(places))
    return Tested(
        f"{pairs} pairs of neighbours of {min(sizes):,} to {max(sizes):,} rows, at most "
        f"{share:.3g} of the sensitivity apart",
        not_tested=("worse pairs of tables than these",),
    )


def _ends(pool: Rows) -> Places:
    """Return the places of the longest rows that were looked at, and of the shortest."""
    few = pool.take(np.arange(min(len(pool.y), _LOOKED_AT)))
    lengths = np.concatenate([np.linalg.norm(b.rows(), axis=1) for b in few.table().blocks])
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

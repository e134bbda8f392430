"""Sums over large tables: whole answers against the parts of their rows.

A query with ``answer_block`` is a sum by its contract, so that the answer over any table is
``start()`` plus the parts of its rows, and neighbours differ by a row's part, or two. Each row's
part is held to the sensitivity; each table's answer is held to the sum of its rows' parts, in
integers, so that whatever a query does from some number of rows, of blocks or of classes on shows.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import LocalEngine, Table
from dpcore_lab.made_tables.contributions import largest_share
from dpcore_lab.made_tables.selections import choices
from dpcore_lab.overlap import run_between_lines, run_overlapping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpcore_lab.made_tables.tables import Rows

__all__ = ["SHARE", "Compared", "LargeTables", "compare_sums"]

_THREADS = (1, 4)
_MOST_CELLS = 1 << 23
"""Numbers of the parts that are kept at a time."""
_FEWEST, _TIMED = 256, 16
_EXCHANGED = 300
"""Rows that take the place of each other, under replace-one."""
_SEED = 22
SHARE = 1.0
"""Of the seconds that checks on large tables may take: tests of many parts take fewer."""


@dataclass(frozen=True, eq=False)
class LargeTables:
    """The tables that a query is asked for, and the public facts that it goes by.

    Parameters
    ----------
    rows : a pool; the first ones are looked at by themselves.
    relation : of the query.
    n_rows : of the largest table.
    only_n : whether the number of rows is public, so that no table has another one.
    of_units : whether units have several rows: what is declared of one row is looked at then.
    most_parts : rows that are looked at by themselves, at most.
    most_tables : how many tables are made, at most.
    seconds : of processors, after which no more parts, and no more tables, are asked for.
    """

    rows: Rows
    relation: NeighboringRelation
    n_rows: int
    only_n: bool = False
    of_units: bool = False
    most_parts: int = Table.BLOCK_ROWS
    most_tables: int = 1000
    seconds: tuple[float, float] = (4.0, 6.0)


@dataclass(frozen=True)
class Compared:
    """How much was compared: parts, tables, blocks and threads. ``share`` : the largest, of the
    sensitivity; ``rare`` : of the tables, with a class that is rare or alone; ``blocks`` : of the
    largest table; ``of_units`` : whether parts are of units."""

    parts: int
    share: float
    tables: int
    rare: int
    n_rows: int
    blocks: int
    of_units: bool

    @property
    def ranges(self) -> tuple[str, ...]:
        rows, blocks = f"rows 0 to {self.n_rows:,}", f"blocks 0 to {self.blocks}"
        return rows, blocks, f"threads {_THREADS[0]} to {_THREADS[-1]}"

    @property
    def words(self) -> str:
        return (
            f"the parts of {self.parts:,} {'units' if self.of_units else 'rows'}, at most "
            f"{self.share:.3g} of the sensitivity; {self.tables} tables of 0 to {self.n_rows:,} "
            f"rows (up to {self.blocks} blocks), {self.rare} with a rare class, in "
            f"{' and '.join(map(str, _THREADS))} threads, equal to the sums of these"
        )


@dataclass(frozen=True)
class _Pool:
    """Rows to make tables from, and their parts of an answer: int64, one more axis in front.

    Where the sum bounds what a unit contributes, ``members`` are the rows of each unit, and the
    parts are of units.
    """

    rows: Rows
    parts: np.ndarray
    members: tuple[np.ndarray, ...] | None = None

    @property
    def labels(self) -> np.ndarray:
        if self.members is None:
            return self.rows.y[: len(self.parts)]
        return np.array([self.rows.y[rows[0]] for rows in self.members])

    @property
    def lengths(self) -> np.ndarray:
        """How much each part moves an answer, in l2 and in floats."""
        flat = self.parts.reshape(len(self.parts), -1).astype(np.float64)
        found: np.ndarray = np.linalg.norm(flat, axis=1)
        return found

    def table(self, places: np.ndarray) -> Rows:
        if self.members is None:
            return self.rows.take(places)
        whole = [self.members[place] for place in places]
        found = self.rows.take(np.concatenate([np.empty(0, dtype=np.int64), *whole]))
        sizes = [len(rows) for rows in whole]
        return replace(found, units=np.repeat(np.arange(len(whole)), sizes).astype(np.int64))

    def expected(self, start: np.ndarray, places: np.ndarray) -> np.ndarray:
        counts = np.bincount(places, minlength=len(self.parts))
        flat = self.parts.reshape(len(self.parts), -1)
        total: np.ndarray = start + (counts @ flat).reshape(start.shape)
        return total


def compare_sums(query: Any, made: LargeTables) -> Compared:
    """Return how far a sum's answers were compared with what its rows contribute; AssertionError
    where one is another, or a row's part is beyond the sensitivity.

    Tables are of many sizes, with every class alone and rare; answers are asked for in one thread
    and in four, and one of them twice.
    """
    pool = _pool(query, made)
    share = _largest(query, pool, made)
    start, rng = query.start(), np.random.default_rng(_SEED)
    ended, tables, rare, most = time.process_time() + SHARE * made.seconds[1], 0, 0, 0
    given = pool.labels, made.n_rows, rng, made.only_n, pool.lengths
    for words, places in islice(choices(*given), made.most_tables):
        if tables > 2 and time.process_time() > ended:
            break
        table, expected = pool.table(places).table(), pool.expected(start, places)
        for threads in _THREADS if tables % 4 == 0 else _THREADS[:1]:
            engine = LocalEngine(table, threads)
            for _ in range(2 if tables == 0 else 1):
                _assert_equal(query, engine.answer(query), expected, f"{words}, {threads} threads")
        tables, most = tables + 1, max(most, len(table.blocks))
        rare += "one class" in words
        if tables == 1 and vars(type(query)).get("thread_safe") is True:
            _assert_same_in_threads(query, table)
    of_units = pool.members is not None
    return Compared(len(pool.parts), share, tables, rare, made.n_rows, most, of_units)


def _assert_same_in_threads(query: Any, table: Any) -> None:
    """Raise AssertionError if blocks that threads ask for at a time have other answers."""
    expected = [query.answer_block(block) for block in table.blocks]
    others: list[int] = []

    def ask(k: int) -> None:
        for place in np.roll(np.arange(len(expected)), k):
            ask_one(int(place))

    def ask_one(place: int) -> None:
        if not np.array_equal(query.answer_block(table.blocks[place]), expected[place]):
            others.append(place)

    run_overlapping(ask, _THREADS[-1])
    if len(expected) > 1:
        run_between_lines(lambda: ask_one(0), lambda: ask_one(1))
    assert not others, (
        f"{type(query).__name__}: states thread_safe = True, and gives other answers where "
        f"{_THREADS[-1]} threads ask at a time."
    )


def _assert_equal(query: Any, found: np.ndarray, expected: np.ndarray, words: str) -> None:
    assert found.shape == expected.shape and found.dtype == np.int64, (
        f"{type(query).__name__}: an answer is an int64 array of the shape of start()."
    )
    assert np.array_equal(found, expected), (
        f"{type(query).__name__}: over a table of {words} the answer is not the sum of what its "
        "rows contribute: a row's part depends on the other rows, or on earlier calls."
    )


def _pool(query: Any, made: LargeTables) -> _Pool:
    rows, size = made.rows, max(1, int(query.start().size))
    most = int(min(len(rows.y), made.most_parts, max(_FEWEST, _MOST_CELLS // size)))
    ended = time.process_time() + SHARE * made.seconds[0]
    members = None
    if getattr(type(query), "clips_units", False) and rows.units is not None:
        ends = np.flatnonzero(np.diff(rows.units, append=-1)) + 1
        members = tuple(np.split(np.arange(ends[-1]), ends[:-1]))[:most]
        known = np.array(list(_parts(query, rows, members, ended)))
        return _Pool(rows, known, members[: len(known)])
    alone = [np.array([place]) for place in _order(rows.y[: Table.BLOCK_ROWS * 4], most)]
    pool = rows.take(np.concatenate(alone))
    alone = [np.array([k]) for k in range(most)]
    parts = np.array(list(_parts(query, pool, alone, ended)))
    return _Pool(pool, parts)


def _order(labels: np.ndarray, most: int) -> np.ndarray:
    """Return places of rows, those of every class among the first."""
    kinds, where = np.unique(labels, return_inverse=True)
    if kinds.size > most // 2:
        return np.arange(most)
    turns = np.zeros(labels.size, dtype=np.int64)
    for kind in range(kinds.size):
        own = np.flatnonzero(where == kind)
        turns[own] = np.arange(own.size)
    return np.argsort(turns, kind="stable")[:most]


def _parts(query: Any, rows: Rows, members: Any, ended: float) -> Iterator[np.ndarray]:
    """Yield what each of some rows, or units, contributes, as long as there is time: it is asked
    of a block of its own."""
    whole = _block_of(rows)
    for k, places in enumerate(members):
        if k >= _FEWEST and k % _TIMED == 0 and time.process_time() > ended:
            return
        part = query.answer_block(whole(places))
        assert part.shape == query.start().shape and part.dtype == np.int64, (
            f"{type(query).__name__}: answer_block gives no int64 array of the shape of start()."
        )
        yield part


def _block_of(rows: Rows) -> Callable[[np.ndarray], Any]:
    """Return what makes a block of some of the rows."""
    blocks = rows.table().blocks
    begins = np.cumsum([0, *(block.n_rows for block in blocks)])

    def block_of(places: np.ndarray) -> Any:
        at = int(np.searchsorted(begins, places[0], side="right")) - 1
        return blocks[at].take((places - begins[at]).astype(np.int64))

    return block_of


def _largest(query: Any, pool: _Pool, made: LargeTables) -> float:
    """Return the largest share of the sensitivity that a part takes; AssertionError above 1. Where
    units have several rows it is the bound for one row that is asked for."""
    relation = made.relation
    if made.of_units and pool.members is None:
        relation = NeighboringRelation.ADD_OR_REMOVE_ONE
    parts = pool.parts
    if relation is NeighboringRelation.REPLACE_ONE:
        sizes = np.abs(parts.reshape(len(parts), -1).astype(np.float64)).sum(axis=1)
        longest = np.argsort(-sizes)[: _EXCHANGED // 2]
        parts = parts[np.unique(np.append(longest, np.arange(min(len(parts), _EXCHANGED // 2))))]
    else:
        parts = _farthest_out(parts)
    return largest_share(query, parts, relation)


def _farthest_out(parts: np.ndarray) -> np.ndarray:
    """Return the parts that are largest in l1, l2 and l-infinity, in floats; they are judged in
    integers."""
    flat = parts.reshape(len(parts), -1).astype(np.float64)
    kept = [np.argsort(-np.linalg.norm(flat, ord=o, axis=1))[:40] for o in (1, 2, np.inf)]
    kept.append(np.argsort(-np.ptp(flat, axis=1))[:40])
    found: np.ndarray = parts[np.unique(np.concatenate(kept))]
    return found

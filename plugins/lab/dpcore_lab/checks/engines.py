"""Checks of an engine: every block once, in integers, whatever the number of threads."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore import Schema
from dpcore.errors import DpcoreError, InvalidInputError
from dpcore.plugin.parts import SeededNoise, Sensitivity, Table, load_registry
from dpcore_lab.checks.coverage_text import Tested
from dpcore_lab.checks.guard import require_assertions
from dpcore_lab.made_tables.tables import Rows

if TYPE_CHECKING:
    from dpcore.plugin import NeighboringRelation
    from dpcore.plugin.parts import Block, Engine

__all__ = ["check_engine", "check_sums_over"]

_BLOCKS = 20
_THREADS = (1, 2, 3, 8, None)
_QUESTIONS = 300
"""Questions that are put to one engine, one after the other."""
_FACTORS = np.arange(1, 1501, dtype=np.int64)
_OFFSET = np.array([0, 2**63 - 1, -(2**62)], dtype=np.int64)


class _Visits:
    """Adds up numbers of the rows, some of them beyond 2^63, and notes which blocks it was asked
    of, and whether two at a time."""

    kind: ClassVar[str] = "visits"

    def __init__(self, factor: int = 1, seconds: float = 0.0) -> None:
        self.factor, self.seconds = factor, seconds
        self.asked: list[int] = []
        self.at_once = 0
        self._busy = threading.Semaphore()

    def start(self) -> np.ndarray:
        return _OFFSET * np.int64(self.factor)

    def answer_block(self, block: Block) -> np.ndarray:
        if not self._busy.acquire(blocking=False):
            self.at_once += 1
            self._busy.acquire()
        time.sleep(self.seconds)
        self.asked.append(id(block))
        self._busy.release()
        whole = np.ldexp(block.rows(), 16).astype(np.int64)
        values = [block.n_rows, 2**50 * int(whole[:, 0].sum()), int(whole.sum())]
        return np.array([f % 2**64 for f in values], np.uint64).view(np.int64) * self.factor

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        return Sensitivity("linf", 1.0, relation)


class _Overlapping(_Visits):
    """The same, and it says that calls may overlap."""

    thread_safe: ClassVar[bool] = True

    def answer_block(self, block: Block) -> np.ndarray:
        self.asked.append(id(block))
        return _Visits(self.factor).answer_block(block)


class _Large(_Visits):
    """The same numbers many times over: a matrix of more entries than a page of memory has."""

    def start(self) -> np.ndarray:
        return _many_times(super().start())

    def answer_block(self, block: Block) -> np.ndarray:
        return _many_times(super().answer_block(block))


def _many_times(numbers: np.ndarray) -> np.ndarray:
    found: np.ndarray = _FACTORS[:, None] * numbers
    return found


class _Broken(_Visits):
    """Fails at its fifth block."""

    def answer_block(self, block: Block) -> np.ndarray:
        if len(self.asked) == 4:
            raise ZeroDivisionError("the fifth block")
        return super().answer_block(block)


class _Inexact(_Visits):
    def answer_block(self, block: Block) -> np.ndarray:
        return super().answer_block(block).astype(np.float64)


class _Wide(_Visits):
    def answer_block(self, block: Block) -> np.ndarray:
        return np.append(super().answer_block(block), 0)


class _WholeTable:
    """Hands back what it was given."""

    kind: ClassVar[str] = "whole"
    given: tuple[Any, Any] = (None, None)

    def answer_table(self, table: Table, noise: Any) -> np.ndarray:
        self.given = table, noise
        return np.array([table.n_rows], dtype=np.int64)


def check_engine(engine: Any) -> Tested:
    """Raise AssertionError unless an engine adds up each block's answer exactly once.

    ``engine`` : the class, opened over a table. Asked of tables without rows, of one row, of twenty
    blocks, and of blocks of zeros, of rows or labels all alike, twice the same or of a single row,
    in one thread and in up to eight, it gives the integers that a loop over the blocks gives,
    modulo 2^64, and what the sum starts from once; a part that does not say that calls may overlap
    is asked by one thread at a time; an answer is worked out anew for every question, of 300 one
    after the other, and is nobody else's; what a query raises is raised, a part of another type or
    shape is refused, or makes an answer that a session refuses, and the next answer is right.

    Raises InvalidInputError for an engine that reads files: its processes are none of a check's.
    """
    require_assertions()
    if load_registry().facts_of("engine", engine).reads_files:
        raise InvalidInputError(
            f"{engine.__name__} reads files by processes of its own, which no check starts: "
            "compare its sums over them with those of the engine local."
        )
    for n_rows in (0, 1, (_BLOCKS - 1) * Table.BLOCK_ROWS + 5):
        table = _table(n_rows)
        for threads in _THREADS:
            check_sums_over(_opened(engine, table, threads), table)
    motley = _motley()
    for threads in _THREADS[:2]:
        check_sums_over(_opened(engine, motley, threads), motley)
        _check_many_questions(_opened(engine, _table(9), threads), _table(9))
    _check_one_at_a_time(_opened(engine, table, 3))
    for threads in (1, 3):
        _check_refusals(_opened(engine, table, threads), table)
    offered = _check_offers(_opened(engine, table, 2), table)
    return Tested(
        f"tables of no row, one row and {_BLOCKS} blocks, with {len(_THREADS)} numbers of threads; "
        f"{offered}",
        "a block that is left out or asked twice is found with certainty",
        ("whether it keeps answers or rows that it never gives again", "tables of other layouts"),
        (
            f"rows 0 to {(_BLOCKS - 1) * Table.BLOCK_ROWS + 5:,}",
            f"blocks 0 to {_BLOCKS}",
            f"threads 1 to {max(t for t in _THREADS if t)}",
        ),
    )


def _opened(engine: Any, table: Table, threads: int | None) -> Engine:
    label = {"kind": "label", "classes": [-1, 1]}
    public = {"width": table.n_features, "intercept": False, "columns": {"label": label}}
    opened: Engine = engine.open(table, Schema.from_dict(public), threads)
    return opened


def _table(n_rows: int) -> Table:
    rng = np.random.default_rng(n_rows)
    return Rows(rng.uniform(-0.5, 0.5, size=(n_rows, 3)), np.ones(n_rows)).table()


def _motley() -> Table:
    """Return a table of blocks that are alike, or whose rows or labels are."""
    rng, size = np.random.default_rng(7), Table.BLOCK_ROWS
    X, y = rng.uniform(-0.5, 0.5, size=(6 * size + 1, 3)), np.ones(6 * size + 1)
    X[:size], X[size : 2 * size], X[3 * size : 4 * size] = 0.0, X[size], X[2 * size : 3 * size]
    X[4 * size : 5 * size] *= 2.0**-14
    y[1 : 4 * size : 2], y[4 * size + 5], y[5 * size :] = -1.0, -1.0, -1.0
    return Rows(X, y).table()


def _check_many_questions(engine: Engine, table: Table) -> None:
    for k in range(_QUESTIONS):
        query = _Visits(k + 1)
        assert np.array_equal(engine.answer(query), _expected(query, table)), (
            f"After {k} other questions an answer is not start() plus the blocks' parts."
        )


def _expected(query: _Visits, table: Table) -> np.ndarray:
    alone, total = _Visits(query.factor), query.start()
    alone = _Large(query.factor) if isinstance(query, _Large) else alone
    for block in table.blocks:
        total += alone.answer_block(block)
    return total


def check_sums_over(engine: Engine, table: Table) -> None:
    """Raise AssertionError unless an engine over a table adds up each block's answer exactly once,
    every time that it is asked."""
    for query in (_Visits(), _Overlapping(3), _Visits(-5), _Overlapping(), _Large()):
        expected = _expected(query, table)
        for _ in range(2):
            query.asked.clear()
            answer = engine.answer(query)
            assert answer.dtype == np.int64 and answer.shape == expected.shape, (
                "An answer is an int64 array of the shape of start()."
            )
            assert sorted(query.asked) == sorted(map(id, table.blocks)), (
                "A question is not asked of each block exactly once, every time that it is put."
            )
            assert np.array_equal(answer, expected), (
                "An answer is not start() plus the blocks' parts modulo 2^64."
            )
            answer += 1  # Whoever has it may write on it.


def _check_one_at_a_time(engine: Engine) -> None:
    query = _Visits(seconds=0.002)
    engine.answer(query)
    assert not query.at_once, "A query that is not thread safe is asked by two threads at a time."


def _check_refusals(engine: Engine, table: Table) -> None:
    try:
        engine.answer(_Broken())
    except ZeroDivisionError:
        pass
    else:
        raise AssertionError("An error at one of the blocks is not raised.")
    for query in (_Inexact(), _Wide()):
        try:
            found = engine.answer(query)
        except (TypeError, ValueError, DpcoreError):
            continue
        if not isinstance(found, np.ndarray) or found.dtype != np.int64:
            continue  # The session refuses it.
        raise AssertionError(
            "A part that is not int64 of the shape of start() is added up: an engine refuses it "
            "by an AnswerError or a TypeError."
        )
    assert np.array_equal(engine.answer(_Visits()), _expected(_Visits(), table)), (
        "After an error the next answer is wrong."
    )


def _check_offers(engine: Any, table: Table) -> str:
    """Check what an engine need not have, and return, as a clause, what it has."""
    offered = []
    if hasattr(engine, "without_rows"):
        none, query = engine.without_rows().answer(_Visits()), _Visits()
        assert np.array_equal(none, query.start()), "Its engine without rows has rows."
        offered.append("without_rows")
    if hasattr(engine, "answer_table"):
        whole, noise = _WholeTable(), SeededNoise(0)
        engine.answer_table(whole, noise)
        assert whole.given[0] is not None and whole.given[0].n_rows == table.n_rows, (
            "A query of the whole table is given another table."
        )
        assert whole.given[1] is noise, "A query of the whole table draws from other noise."
        offered.append("answer_table")
    return f"it offers {' and '.join(offered)}" if offered else "it offers nothing else"

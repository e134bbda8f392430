"""An engine over a table of a run's sizes: the run's own sums, in its layout, and threads."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore_lab.checks.coverage_text import Tested
from dpcore_lab.checks.engines import check_sums_over

if TYPE_CHECKING:
    from dpcore.plugin.parts import Engine, Table
    from dpcore_lab.replay.recording import RecordingSession
    from dpcore_lab.run_sizes.request import LikeRun

__all__ = ["check_engine_of_run"]

_THREADS = (1, 2, 4, 7, None)
_QUERIES = 6
_BLOCKS = 40
"""Blocks, at least, of a table of rows that are there several times."""
_SECONDS = 10.0


def check_engine_of_run(engine: Any, like: LikeRun, session: RecordingSession) -> Tested:
    """Raise AssertionError unless an engine adds up each block's answer once over the run's table
    and over one of forty blocks, whatever the number of threads. Asked are the queries of a check,
    and those of the run's own ``session``."""
    sums: list[Any] = [query for query, _ in session.parts if hasattr(query, "answer_block")]
    chosen = sums[:: max(1, len(sums) // _QUERIES)][:_QUERIES]
    table = like.rows.table()
    repeats = -(-_BLOCKS // max(1, len(table.blocks)))
    copies = [block.take(_all(block)) for _ in range(repeats) for block in table.blocks]
    wide = table.with_blocks(copies)
    ended, asked, most = time.perf_counter() + _SECONDS, 0, 1
    for whole in (table, wide):
        for threads in _THREADS:
            check_sums_over(engine.open(whole, like.schema, threads), whole)
    for whole in (table, wide):
        expected = [_expected(query, whole) for query in chosen]
        for threads in sorted(filter(None, _THREADS), reverse=True):
            if asked and time.perf_counter() > ended:
                break
            opened: Engine = engine.open(whole, like.schema, threads)
            for query, sums_of_blocks in zip(chosen, expected, strict=True):
                for _ in range(2):
                    found = opened.answer(query)
                    assert np.array_equal(found, sums_of_blocks), (
                        f"Over {len(whole.blocks)} blocks in {threads} threads the answer of "
                        f"{type(query).__name__} is not start() plus the blocks' parts."
                    )
                asked, most = asked + 1, max(most, threads)
    names = ", ".join(sorted({type(query).__name__ for query in chosen})) or "no sum of the run"
    return Tested(
        f"tables of {len(table.blocks)} and {len(wide.blocks)} blocks of the run's rows, in up to "
        f"{max(t for t in _THREADS if t)} threads; in up to {most}, {asked} answers of {names}",
        not_tested=("engines that read files",),
        ranges=(
            f"rows {like.n_rows:,} to {wide.n_rows:,}",
            f"blocks {len(table.blocks)} to {len(wide.blocks)}",
            f"threads 1 to {max(t for t in _THREADS if t)}",
        ),
    )


def _all(block: Any) -> np.ndarray:
    return np.arange(block.n_rows, dtype=np.int64)


def _expected(query: Any, table: Table) -> np.ndarray:
    total = query.start()
    for block in table.blocks:
        total = total + query.answer_block(block)
    return np.asarray(total)

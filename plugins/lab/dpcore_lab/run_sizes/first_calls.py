"""State that the first rows leave behind in a part, and that is the same ever after.

A part that takes a bound from the first block that it meets, and keeps it, is consistent with
itself in one process. In two processes that ask for two tables in either order it is not.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore_lab.isolation import run_apart
from dpcore_lab.replay.answers import exact_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcore_lab.run_sizes.request import LikeRun

__all__ = ["assert_loss_has_no_first_call", "assert_query_has_no_first_call"]

_MOST = 9000
"""Rows of a table: more than a block."""


def assert_query_has_no_first_call(query: Any, like: LikeRun) -> None:
    """Raise AssertionError if a query answers otherwise over a table that it met second."""
    n = min(like.n_rows, _MOST)
    whole = like.problem.n is not None  # Then no other number of rows is the query's.
    places = [np.arange(like.n_rows if whole else n), np.arange(like.n_rows)[: n // 3 + 1 : -1]]
    if whole:
        places[1] = np.roll(places[0], like.n_rows // 2)
    tables = [like.rows.take(each) for each in places]
    _assert_same([partial(exact_answer, query, rows) for rows in tables], type(query).__name__)


def assert_loss_has_no_first_call(loss: Any, n_classes: int) -> None:
    """Raise AssertionError if a loss has other slopes of margins that it met second; of two
    classes, of several, or, where there are none, of targets."""
    rng = np.random.default_rng(25)
    tables = []
    for scale in (3.0, 0.3):
        z = scale * rng.normal(size=(n_classes, _MOST) if n_classes > 2 else _MOST)
        y = (
            rng.integers(0, n_classes, _MOST).astype(float)
            if n_classes
            else rng.uniform(-1, 1, _MOST)
        )
        tables.append((z, 2 * y - 1 if n_classes == 2 else y))
    _assert_same([partial(_slopes, loss, *table) for table in tables], loss.name)


def _slopes(loss: Any, z: np.ndarray, y: np.ndarray) -> np.ndarray:
    out = np.empty(z.shape)
    loss.dvalue(z, y, out)
    return out


def _assert_same(asked: Sequence[Callable[[], np.ndarray]], name: str) -> None:
    there = run_apart(partial(_called, asked))
    back = run_apart(partial(_called, asked[::-1]))[::-1]
    assert all(map(np.array_equal, there, back)), (
        f"{name}: it answers otherwise over rows that it meets after others, in a process of its "
        "own: it keeps something of the first rows that it met."
    )


def _called(asked: Sequence[Callable[[], np.ndarray]]) -> list[np.ndarray]:
    return [ask() for ask in asked]

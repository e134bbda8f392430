"""Checks of a query: a sum over rows, with the sensitivity it declares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.engines.local import LocalEngine
from dpcore.losses.logistic import Logistic
from dpcore.sensitivity import NeighboringRelation
from dpcore.testing.replay import assert_within
from dpcore.testing.tables import Rows, make_problem, make_rows, neighbours

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.problem import Problem
    from dpcore.protocols import Loss, Query

__all__ = ["check_query"]


def check_query(make_query: Callable[[Problem], Query], loss: Loss | None = None) -> None:
    """Raise AssertionError unless the query is a sum over rows and keeps its declared sensitivity.

    ``make_query`` builds the query from a problem of five features. Its answers are compared
    between neighbouring tables with extreme rows, under both relations, and the answer of a table
    with the sum of its rows' answers, one by one and in another order.
    """
    for relation in (NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE):
        for seed in range(3):
            rows = make_rows(12, seed=seed)
            problem = make_problem(rows, relation, loss or Logistic())
            query = make_query(problem)
            exact = _answer(query, rows)
            _check_sum_over_rows(query, rows, exact)
            for other in neighbours(rows, relation, seed=seed):
                what = f"{type(query).__name__} under {relation.value}"
                assert_within(exact, _answer(query, other), query.sensitivity(relation), what)


def _answer(query: Query, rows: Rows) -> np.ndarray:
    return LocalEngine(rows.table()).answer(query)


def _check_sum_over_rows(query: Query, rows: Rows, exact: np.ndarray) -> None:
    assert exact.dtype == np.int64, "An exact answer is an int64 array."
    start = query.start()
    parts = [
        _answer(query, Rows(rows.X[i : i + 1], rows.y[i : i + 1])) - start
        for i in range(len(rows.y))
    ]
    total = start + np.sum(parts, axis=0, dtype=np.int64)
    assert np.array_equal(total, exact), "The answer is not the sum of the rows' answers."
    backwards = _answer(query, Rows(rows.X[::-1].copy(), rows.y[::-1].copy()))
    assert np.array_equal(backwards, exact), "The answer depends on the order of the rows."

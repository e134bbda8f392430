"""Checks of a query: a sum over rows, with the sensitivity it declares."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.engines.local import LocalEngine
from dpcore.privacy.sealed import attributes
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.registry.catalogue import load_registry
from dpcore.testing.guard import require_assertions
from dpcore.testing.replay import assert_within
from dpcore.testing.tables import Rows, make_problem, make_rows, neighbours, stretching_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.protocols import Loss, Query
    from dpcore.protocols.problem import Problem

__all__ = ["check_contributions", "check_query", "unsampled"]

_N_FEATURES = 5


def check_query(make_query: Callable[[Problem], Query], loss: Loss | None = None) -> None:
    """Raise AssertionError unless the query is a sum over rows and keeps its declared sensitivity.

    ``make_query`` builds the query from a problem of five features. Its answers are compared
    between neighbouring tables with extreme rows, under both relations, and the answer of a table
    with the sum of its rows' answers, one by one and in another order. Then every pair of rows at
    the bound, along the axes and along the vectors that the query was made from, takes each other's
    place. Of a sampled query the sum that it asks of its sample is checked: whatever the sample, it
    is a table like any other.
    """
    require_assertions()
    if loss is None:
        loss = load_registry().load("loss", "logistic")()
    for relation in (NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE):
        for seed in range(3):
            rows = make_rows(12, _N_FEATURES, seed=seed)
            problem = make_problem(rows, relation, loss)
            query = unsampled(make_query(problem))
            exact = _answer(query, rows)
            _contributions(query, rows)
            for other in neighbours(rows, relation, seed=seed):
                what = _what(query, relation)
                assert_within(exact, _answer(query, other), query.sensitivity(relation), what)
        check_contributions(query, relation)


def check_contributions(query: Query, relation: NeighboringRelation) -> None:
    """Raise AssertionError if a row, or the exchange of two rows, exceeds the sensitivity.

    ``query`` : over five features. Two tables that differ in one row differ by what the rows
    contribute, so this covers every table that is made of these rows.
    """
    vectors = [v for _, v in attributes(query) if np.shape(v) == (_N_FEATURES,)]
    parts = _contributions(query, stretching_rows(_N_FEATURES, vectors))
    what, sensitivity = _what(query, relation), query.sensitivity(relation)
    if relation is NeighboringRelation.REPLACE_ONE:
        pairs = list(combinations(parts, 2))
    else:
        pairs = [(part, np.zeros_like(part)) for part in parts]
    for one, other in pairs:
        assert_within(one, other, sensitivity, what)


def unsampled(query: Any) -> Any:
    """Return the sum that a sampled query asks of its sample; any other query itself."""
    return query.query if hasattr(query, "sampled_event") else query


def _what(query: Query, relation: NeighboringRelation) -> str:
    return f"{type(query).__name__} under {relation.value}"


def _answer(query: Query, rows: Rows) -> np.ndarray:
    return LocalEngine(rows.table()).answer(query)


def _contributions(query: Query, rows: Rows) -> list[np.ndarray]:
    """Return each row's part of the answer, having checked that the answer is their sum."""
    exact = _answer(query, rows)
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
    return parts

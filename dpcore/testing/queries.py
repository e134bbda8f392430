"""Checks of a query: the sensitivity that it declares, and of a sum that it is one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import DpcoreError
from dpcore.privacy.sealed import attributes
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.registry.catalogue import load_registry
from dpcore.session.rehearsal import load_now
from dpcore.testing.answers import (
    checked_distance,
    compare_neighbours,
    exact_answer,
    search_tables,
    unsampled,
)
from dpcore.testing.guard import require_assertions
from dpcore.testing.isolation import not_isolated, run_apart
from dpcore.testing.special_rows import special_rows
from dpcore.testing.tables import (
    Rows,
    faint_rows,
    make_problem,
    make_rows,
    neighbours,
    stretching_rows,
)
from dpcore.testing.tested import Tested

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.privacy.sensitivity import Sensitivity
    from dpcore.protocols import DerivedQuery, Loss, Query, TableQuery
    from dpcore.protocols.problem import Problem

    AnyQuery = Query | DerivedQuery | TableQuery
    MakeQuery = Callable[[Problem], AnyQuery]

__all__ = ["check_contributions", "check_query"]

_N_FEATURES = 5
_RELATIONS = (NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE)


def check_query(make_query: MakeQuery, loss: Loss | None = None, evaluations: int = 200) -> Tested:
    """Raise AssertionError unless the query's answers stay within its declared sensitivity.

    ``make_query`` builds the query from a problem of five features. Answers are compared between
    neighbouring tables with extreme rows, under each relation that it does not refuse. A sum over
    rows is compared with the sum of its rows' parts, one by one and in another order; then rows
    with special values, at the bound, along the axes and along the vectors that the query was made
    from take each other's place. For an answer that is derived from sums or from the whole table
    the farthest apart of neighbouring tables are searched for, ``evaluations`` pairs under each
    relation; its secret random choices are the same in both. Of a sampled query the sum that it
    asks of its sample is checked: whatever the sample, it is a table like any other.

    All of this is done in a process of its own, which may write no file.
    """
    require_assertions()
    if loss is None:
        loss = load_registry().load("loss", "logistic")()
    load_now(lambda: _load_kernels(make_query, loss))
    return run_apart(partial(_check_query, make_query, loss, evaluations))


def _load_kernels(make_query: MakeQuery, loss: Loss) -> None:
    """Load what the answers of a sum need where the process apart will find it."""
    for relation in _RELATIONS:
        query = _made(make_query, make_rows(1), relation, loss)
        if query is not None and hasattr(query, "answer_block"):
            _contributions(query, faint_rows(1))


def _check_query(make_query: MakeQuery, loss: Loss, evaluations: int) -> Tested:
    told, refused = [], []
    for relation in _RELATIONS:
        query = _made(make_query, make_rows(12), relation, loss)
        if query is None:
            refused.append(f"{relation.value}, which it refuses")
            continue
        for seed in range(3):
            _check_neighbours(make_query, make_rows(12, _N_FEATURES, seed), relation, loss, seed)
        if hasattr(query, "answer_block"):
            share = check_contributions(query, relation, thorough=True)
        else:
            share = _search(make_query, relation, loss, evaluations)
        told.append(f"{share:.3g} of what it declares under {relation.value}")
    if not told:  # Its own words say why.
        problem = make_problem(make_rows(12), _RELATIONS[0], loss)
        unsampled(make_query(problem)).sensitivity(_RELATIONS[0])
    return Tested(
        f"{type(query).__name__}: the farthest apart of neighbours' answers were "
        + " and ".join(told),
        "" if hasattr(query, "answer_block") else f"a search of {evaluations} pairs each",
        (*refused, "other tables than those of five features", *not_isolated()),
    )


def check_contributions(
    query: Query, relation: NeighboringRelation, thorough: bool = False
) -> float:
    """Raise AssertionError if a row, or the exchange of two rows, exceeds the sensitivity; return
    the largest share of it that one takes.

    ``query`` : over five features. Two tables that differ in one row differ by what the rows
    contribute, so this covers every table that is made of these rows. ``thorough`` : with more of
    the special rows.
    """
    vectors = [v for _, v in attributes(query) if np.shape(v) == (_N_FEATURES,)]
    classification = getattr(getattr(query, "loss", None), "classification", True)
    special = special_rows(_N_FEATURES, classification, few=not thorough)
    parts = _contributions(query, stretching_rows(_N_FEATURES, vectors).and_then(special))
    sensitivity = query.sensitivity(relation)
    what = f"{type(query).__name__} under {relation.value}"
    flat = parts.reshape(len(parts), -1)
    if relation is not NeighboringRelation.REPLACE_ONE:
        return max(checked_distance(part, np.zeros_like(part), sensitivity, what) for part in flat)
    rough = flat.astype(np.float64)
    farthest = {
        (i, j) for i, part in enumerate(rough) for j in _farthest(rough - part, sensitivity)
    }
    return max(checked_distance(flat[i], flat[j], sensitivity, what) for i, j in sorted(farthest))


def _farthest(changes: np.ndarray, sensitivity: Sensitivity) -> set[int]:
    """Return the places of the largest changes, in floats; the judgement of them is exact."""
    order = {"l1": 1, "l2": 2, "linf": np.inf}[sensitivity.norm]
    spread = changes.max(axis=1) - changes.min(axis=1)
    return {int(np.linalg.norm(changes, ord=order, axis=1).argmax()), int(spread.argmax())}


def _made(
    make_query: MakeQuery, rows: Rows, relation: NeighboringRelation, loss: Loss
) -> Any | None:
    """Return the query of a table's public facts; ``None`` if it refuses them or the relation."""
    try:
        query = unsampled(make_query(make_problem(rows, relation, loss)))
        query.sensitivity(relation)
    except DpcoreError:
        return None
    return query


def _check_neighbours(
    make_query: MakeQuery, rows: Rows, relation: NeighboringRelation, loss: Loss, seed: int
) -> None:
    query: Any = _made(make_query, rows, relation, loss)
    if hasattr(query, "answer_block"):
        _contributions(query, rows)
    for other in neighbours(rows, relation, seed=seed):
        compare_neighbours(query, rows, other, relation)


def _search(
    make_query: MakeQuery, relation: NeighboringRelation, loss: Loss, evaluations: int
) -> float:
    def query_for(rows: Rows) -> Any | None:
        return _made(make_query, rows, relation, loss)

    labels = bool(loss.classification)
    return search_tables(query_for, relation, _N_FEATURES, labels, evaluations)


def _contributions(query: Query, rows: Rows) -> np.ndarray:
    """Return each row's part of the answer, having checked that the answer is their sum."""
    exact, start = exact_answer(query, rows), query.start()
    parts = np.array(
        [_part(query, block, i) for block in rows.table().blocks for i in range(block.n_rows)]
    )
    total = start + np.sum(parts, axis=0, dtype=np.int64)
    assert np.array_equal(total, exact), "The answer is not the sum of the rows' answers."
    backwards = exact_answer(query, Rows(rows.X[::-1].copy(), rows.y[::-1].copy()))
    assert np.array_equal(backwards, exact), "The answer depends on the order of the rows."
    return parts


def _part(query: Query, block: Any, i: int) -> np.ndarray:
    part = query.answer_block(block.take(np.array([i], dtype=np.int64)))
    start = query.start()
    assert part.shape == start.shape and part.dtype == start.dtype == np.int64, (
        f"{type(query).__name__}: a defect of the query: answer_block gives no int64 array of the "
        "shape of start(), which is what it declares before the data are asked."
    )
    return part

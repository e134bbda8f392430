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
from dpcore.testing.answers import compare_neighbours, search_tables, unsampled
from dpcore.testing.contributions import contributions, largest_share
from dpcore.testing.guard import require_assertions
from dpcore.testing.isolation import not_isolated, run_apart
from dpcore.testing.other_tables import USUAL_WIDTH, check_other_tables, load_other_tables
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

    from dpcore.protocols import DerivedQuery, Loss, Query, TableQuery
    from dpcore.protocols.problem import Problem

    AnyQuery = Query | DerivedQuery | TableQuery
    MakeQuery = Callable[[Problem], AnyQuery]

__all__ = ["check_contributions", "check_query"]

_N_FEATURES = USUAL_WIDTH
_RELATIONS = (NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE)


def check_query(make_query: MakeQuery, loss: Loss | None = None, evaluations: int = 200) -> Tested:
    """Raise AssertionError unless the query's answers stay within its declared sensitivity.

    ``make_query`` builds the query from a problem of five features. Answers are compared between
    neighbouring tables with extreme rows, under each relation that it does not refuse. A sum over
    rows is compared with the sum of its rows' parts, one by one and in another order; then rows
    with special values, at the bound, along the axes and along the vectors that the query was made
    from take each other's place; and, fewer, rows of tables with other norms, widths, layouts,
    labels and, unless a ``loss`` is given, losses, of those that the query takes. For an answer
    that is derived from sums or from the whole table the farthest apart of neighbouring tables are
    searched for, ``evaluations`` pairs under each relation; its secret random choices are the same
    in both. Of a sampled query the sum that it asks of its sample is checked: whatever the sample,
    it is a table like any other.

    All of this is done in a process of its own, which may write no file.
    """
    require_assertions()
    given = loss is not None
    if loss is None:
        loss = load_registry().load("loss", "logistic")()
    load_now(lambda: _load_kernels(make_query, loss, given))
    return run_apart(partial(_check_query, make_query, loss, given, evaluations))


def _load_kernels(make_query: MakeQuery, loss: Loss, given: bool) -> None:
    """Load what the answers of a sum need where the process apart will find it."""
    for relation in _RELATIONS:
        query = _made(make_query, make_rows(1), relation, loss)
        if query is not None and hasattr(query, "answer_block"):
            contributions(query, faint_rows(1))
    load_other_tables(make_query, loss, given)


def _check_query(make_query: MakeQuery, loss: Loss, given: bool, evaluations: int) -> Tested:
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
    what = f"{type(query).__name__}: the farthest apart of neighbours' answers were "
    what += " and ".join(told)
    if not hasattr(query, "answer_block"):
        left = ["other tables than those of five features, with one row_norm and one loss"]
        power = f"a search of {evaluations} pairs each"
        return Tested(what, power, (*refused, *left, *not_isolated()))
    tables, left = check_other_tables(make_query, loss, given)
    what += f"; rows of {tables} tables with other public facts keep within it too"
    left = [f"tables that it does not take: {'; '.join(left)}"] if left else []
    left.append("other losses than the one given" if given else "other losses than three")
    left.append("losses of several classes")
    return Tested(what, "", (*refused, *left, *not_isolated()))


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
    parts = contributions(query, stretching_rows(_N_FEATURES, vectors).and_then(special))
    return largest_share(query, parts, relation)


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
        contributions(query, rows)
    for other in neighbours(rows, relation, seed=seed):
        compare_neighbours(query, rows, other, relation)


def _search(
    make_query: MakeQuery, relation: NeighboringRelation, loss: Loss, evaluations: int
) -> float:
    def query_for(rows: Rows) -> Any | None:
        return _made(make_query, rows, relation, loss)

    labels = bool(loss.classification)
    return search_tables(query_for, relation, _N_FEATURES, labels, evaluations)

"""Checks of a query: the sensitivity that it declares, and of a sum that it is one."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import config

from dpcore.errors import DpcoreError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import (
    LossFacts,
    Table,
    TableSession,
    load_registry,
)
from dpcore_lab.checks.coverage_text import Tested
from dpcore_lab.checks.guard import require_assertions, require_frozen
from dpcore_lab.isolation import not_isolated, run_apart
from dpcore_lab.made_tables.contributions import contributions, largest_share, vectors_of
from dpcore_lab.made_tables.large_neighbours import compare_large_neighbours
from dpcore_lab.made_tables.other_tables import (
    USUAL_WIDTH,
    check_other_tables,
    load_other_tables,
    of_other_tables,
)
from dpcore_lab.made_tables.special_rows import special_rows
from dpcore_lab.made_tables.sums import LargeTables, compare_sums
from dpcore_lab.made_tables.tables import (
    SEVERAL,
    Rows,
    faint_rows,
    make_problem,
    make_rows,
    neighbours,
    some_short,
    stretching_rows,
)
from dpcore_lab.replay.answers import (
    compare_neighbours,
    exact_answer,
    search_tables,
    unsampled,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin import Loss, Problem
    from dpcore.plugin.parts import DerivedQuery, Query, TableQuery

    AnyQuery = Query | DerivedQuery | TableQuery
    MakeQuery = Callable[[Problem], AnyQuery]

__all__ = ["check_contributions", "check_query"]

_N_FEATURES = USUAL_WIDTH
_ROWS_PER_UNIT = 3
# Kernels as plain Python take minutes.
_BLOCKS, _POOLED = 1 if config.DISABLE_JIT else 20, 400  # type: ignore[attr-defined]
"""Full blocks of the largest table, whose rows are so many, each of them many times."""
_RELATIONS = (NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE)


def check_query(make_query: MakeQuery, loss: Loss | None = None, evaluations: int = 200) -> Tested:
    """Raise AssertionError unless the query's answers stay within its declared sensitivity.

    ``make_query`` builds the query from a problem of five features. Answers are compared between
    neighbouring tables with extreme rows, under each relation that it does not refuse. A sum over
    rows is compared with the sum of its rows' parts, one by one and in another order; then rows
    with special values, at the bound, along the axes and along the vectors that the query was made
    from take each other's place; and, fewer, rows of tables with other norms, widths, layouts,
    labels and, unless a ``loss`` is given, losses, of those that the query takes, and tables of up
    to twenty full blocks against the sum of their rows' parts. For an answer
    that is derived from sums or from the whole table the farthest apart of neighbouring tables are
    searched for, ``evaluations`` pairs under each relation; its secret random choices are the same
    in both. Of a sampled query the sum that it asks of its sample is checked: whatever the sample,
    it is a table like any other.

    All of it is done with labels of two classes and, where the query takes a problem with
    ``n_margins`` of three, with labels 0, 1 and 2; with a ``loss`` that is given, with the labels
    that it is of. A query for two classes refuses a problem of more, or holds its sensitivity.

    All of this is done in a process of its own, which may write no file.
    """
    require_assertions()
    given = loss is not None
    losses = (loss,) if loss is not None else _usual_losses()
    TableSession.load_now(lambda: _load_kernels(make_query, losses, given))
    return run_apart(partial(_check_query, make_query, losses, given, evaluations))


def _usual_losses() -> tuple[Loss, ...]:
    return tuple(load_registry().load("loss", name)() for name in ("logistic", "softmax"))


def _load_kernels(make_query: MakeQuery, losses: tuple[Loss, ...], given: bool) -> None:
    """Load what the answers of a sum need where the process apart will find it."""
    for relation in _RELATIONS:
        query = _made(make_query, _rows_for(losses[0], 1), relation, losses[0])
        if query is not None and hasattr(query, "answer_block"):
            contributions(query, faint_rows(1))
    for loss in losses[1:]:
        _takes(make_query, loss)
    load_other_tables(make_query, losses[0], given)


def _check_query(
    make_query: MakeQuery, losses: tuple[Loss, ...], given: bool, evaluations: int
) -> Tested:
    taken = [loss for loss in losses if given or _takes(make_query, loss)]
    first = (taken or losses)[0]
    query, told, refused = _look(make_query, first, evaluations)
    if query is None and (of_units := _look_at_units(make_query, first)):
        return Tested(of_units, "", ("tables of single rows, which it does not take",))
    if query is None:  # Its own words say why.
        problem = make_problem(_rows_for(first, 12), _RELATIONS[0], first)
        unsampled(make_query(problem)).sensitivity(_RELATIONS[0])
    what = f"{type(query).__name__}: the farthest apart of neighbours' answers were {told}"
    for other in taken[1:]:
        _, told, _ = _look(make_query, other, evaluations // 2, thorough=False)
        what += f"; of {SEVERAL} classes {told}"
    left = [f"{relation}, which it refuses" for relation in refused]
    if not given and len(taken) < len(losses):
        kinds = f"labels of {SEVERAL} classes" if first is losses[0] else "labels of two classes"
        left.append(f"{kinds}, which it does not take")
    what += f"; {_look_at_large(make_query, query, first)}"
    largest = _BLOCKS * Table.BLOCK_ROWS if hasattr(query, "answer_block") else Table.BLOCK_ROWS + 1
    ranges = (
        f"rows 0 to {largest:,}",
        f"blocks 1 to {-(-largest // Table.BLOCK_ROWS)}",
        "threads 1, 4",
    )
    if not hasattr(query, "answer_block"):
        left.append("other tables than those of five features, with one row_norm and one loss")
        power = f"a search of {evaluations} pairs each"
        return Tested(what, power, (*left, *not_isolated()), ranges)
    one_loss = given or first is not losses[0]
    tables, not_taken = check_other_tables(make_query, first, one_loss)
    what += f"; rows of {tables} tables with other public facts keep within it too"
    if not_taken:
        left.append(f"tables that it does not take: {'; '.join(not_taken)}")
    left.append(f"other losses than {first.name}" if one_loss else "other losses than four")
    return Tested(what, "", (*left, *not_isolated()), (*ranges, *of_other_tables()))


def _look_at_large(make_query: MakeQuery, query: Any, loss: Loss) -> str:
    """Check the query on tables of up to twenty blocks; return in words on which."""
    relation = next(r for r in _RELATIONS if _made(make_query, _rows_for(loss, 12), r, loss))
    rows = some_short(_rows_for(loss, _POOLED, seed=5))
    if hasattr(query, "answer_block"):
        n, tables, seconds = _BLOCKS * Table.BLOCK_ROWS, 12, (1.0, 1.0)
    else:
        n, tables, seconds = Table.BLOCK_ROWS + 1, 16, (1.0, 1.5)

    def query_for(n_rows: int) -> Any:
        table = rows.take(np.resize(np.arange(_POOLED), n_rows))
        return _made(make_query, table, relation, loss)

    public = relation.size_is_public
    made = LargeTables(
        rows, relation, n, public, most_parts=_POOLED, most_tables=tables, seconds=seconds
    )
    if hasattr(query, "answer_block"):
        return compare_sums(query_for(n), made).words
    return compare_large_neighbours(query_for, made)


def _look_at_units(make_query: MakeQuery, loss: Loss) -> str:
    """Check a sum that is for units of several rows alone; return in words on which tables, none
    where it is no such sum."""
    sizes = np.resize([_ROWS_PER_UNIT, 1, 2], _POOLED)
    whose = np.repeat(np.arange(_POOLED), sizes)[:_POOLED]
    rows, told = replace(some_short(_rows_for(loss, _POOLED, seed=5)), units=whose), ""
    for relation in _RELATIONS:
        problem = replace(make_problem(rows, relation, loss), n=None, rows_per_unit=_ROWS_PER_UNIT)
        try:
            query: Any = unsampled(make_query(problem))
            query.sensitivity(relation)
        except (DpcoreError, ValueError):
            continue
        if hasattr(query, "answer_block"):
            require_frozen(query)
            given: dict[str, Any] = {"of_units": True, "most_tables": 12, "seconds": (1.0, 1.0)}
            made = LargeTables(rows, relation, Table.BLOCK_ROWS + 1, most_parts=_POOLED, **given)
            told = f"{type(query).__name__}: {compare_sums(query, made).words}"
    return told


def _takes(make_query: MakeQuery, loss: Loss) -> bool:
    """Return whether the query takes the labels of a loss: over several classes a query that is
    meant for two may fail in any way."""
    rows = _rows_for(loss, 2)
    try:
        made = [_made(make_query, rows, relation, loss) for relation in _RELATIONS]
        for query in made:
            if query is not None:
                exact_answer(query, rows)
    except AssertionError:
        return True  # It is not passed over: the check says what is wrong.
    except Exception:
        return not LossFacts.of(loss).multiclass
    return any(query is not None for query in made)


def _look(
    make_query: MakeQuery, loss: Loss, evaluations: int, thorough: bool = True
) -> tuple[AnyQuery | None, str, list[str]]:
    """Check the query with a loss; return it, in words how far apart answers were under each
    relation, and the relations that it refuses. ``None`` if it refuses both."""
    looked, told, refused = None, [], []
    for relation in _RELATIONS:
        query = _made(make_query, _rows_for(loss, 12), relation, loss)
        if query is None:
            refused.append(relation.value)
            continue
        for seed in range(3 if thorough else 1):
            _check_neighbours(make_query, _rows_for(loss, 12, seed), relation, loss, seed)
        if hasattr(query, "answer_block"):
            share = check_contributions(query, relation, _n_classes(loss), thorough)
        else:
            share = _search(make_query, relation, loss, evaluations)
        told.append(f"{share:.3g} of what it declares under {relation.value}")
        looked = query
    return looked, " and ".join(told), refused


def _n_classes(loss: Loss) -> int:
    """Return the number of classes that a loss is checked with, 0 for real-valued targets."""
    facts = LossFacts.of(loss)
    return SEVERAL if facts.multiclass else 2 * bool(facts.classification)


def _rows_for(loss: Loss, n: int, seed: int = 0) -> Rows:
    return make_rows(n, _N_FEATURES, seed, _n_classes(loss))


def check_contributions(
    query: Query, relation: NeighboringRelation, n_classes: int = 2, thorough: bool = False
) -> float:
    """Raise AssertionError if a row, or the exchange of two rows, exceeds the sensitivity; return
    the largest share of it that one takes.

    ``query`` : over five features. Two tables that differ in one row differ by what the rows
    contribute, so this covers every table that is made of these rows. ``n_classes`` : of their
    labels; where the query's own loss is of real-valued targets, they have these. ``thorough`` :
    with more of the special rows.
    """
    if not getattr(getattr(query, "loss", None), "classification", True):
        n_classes = 0
    vectors = vectors_of(query, _N_FEATURES, n_classes)
    special = special_rows(_N_FEATURES, n_classes, few=not thorough)
    stretching = stretching_rows(_N_FEATURES, vectors, n_classes)
    parts = contributions(query, stretching.and_then(special))
    return largest_share(query, parts, relation)


def _made(
    make_query: MakeQuery, rows: Rows, relation: NeighboringRelation, loss: Loss
) -> Any | None:
    """Return the query of a table's public facts; ``None`` if it refuses them or the relation."""
    try:
        query = unsampled(make_query(make_problem(rows, relation, loss)))
        query.sensitivity(relation)
    except (DpcoreError, ValueError):
        return None
    require_frozen(query)
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

    return search_tables(query_for, relation, _N_FEATURES, _n_classes(loss), evaluations)

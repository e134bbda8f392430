"""An optimizer at a run's sizes: its outputs are functions of released values, on such tables."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin import NeighboringRelation
from dpcore_lab.checks.coverage_text import Tested
from dpcore_lab.isolation import run_apart
from dpcore_lab.recount.ledger import recounted_epsilon
from dpcore_lab.replay.recorded import replay_in
from dpcore_lab.replay.replay import ReplaySession, assert_within
from dpcore_lab.run_sizes.schema_rows import rows_of_schema

if TYPE_CHECKING:
    from dpcore.plugin import Solution
    from dpcore_lab.made_tables.tables import Rows
    from dpcore_lab.replay.recording import Record
    from dpcore_lab.run_sizes.request import LikeRun

    Recorded = tuple[list[Record], Solution]

__all__ = ["check_run"]


def check_run(like: LikeRun) -> Tested:
    """Raise AssertionError if a run at the request's sizes depends on more than was released to it.
    The same values, replayed on other rows, on fewer of them, and on neighbours, end at the same
    bits. No neighbour's exact answer moves by more than was declared, and the ledger, counted
    again, is within the budget."""
    recorded = run_apart(partial(_record, like))
    tables = _tables(like)
    run_apart(partial(_replay_all, like, recorded, tables))
    return Tested(
        f"{len(recorded[0])} releases, replayed on {len(tables)} tables of "
        f"{min(len(t.y) for t, _ in tables):,} to {max(len(t.y) for t, _ in tables):,} rows, "
        "equal to the bit; on neighbours within the declared sensitivities",
        not_tested=("other budgets, relations, losses and parameters than the run's",),
        ranges=(
            f"rows {min(len(t.y) for t, _ in tables):,} to {max(len(t.y) for t, _ in tables):,}",
            f"columns {like.problem.n_features:,}",
            f"releases {len(recorded[0]):,}",
            f"loss {like.plan.loss.name}",
        ),
    )


def _record(like: LikeRun) -> Recorded:
    session, solution = like.recorded()
    budget = float(session.accountant.epsilon), float(session.accountant.delta)
    events = [entry.event for entry in session.ledger]
    total = recounted_epsilon(events, budget[1], budget[0] * (1 + 1e-9))
    assert total <= budget[0] * (1 + 1e-9), (
        f"The ledger amounts to epsilon={total:.6g}, over the budget of {budget[0]}."
    )
    return session.records, solution


def _tables(like: LikeRun) -> list[tuple[Rows, bool]]:
    """Return tables to replay on, and whether each is a neighbour of the run's."""
    rows, n = like.rows, like.n_rows
    size = n if like.problem.n else n // 2 + 1
    others = rows_of_schema(like.schema, size, seed=1)
    # Rows of one label, or target, have a gradient as long as any.
    alike = replace(rows_of_schema(like.schema, size, seed=2), y=np.full(size, others.y.max()))
    strangers = [(others, False), (alike, False)]
    if like.relation is not NeighboringRelation.ADD_OR_REMOVE_ONE:
        changed = np.append(np.arange(n - 1), 0)
        return [*strangers, *([(rows.take(changed), True)] if rows.units is None else [])]
    tables = [*strangers, (rows_of_schema(like.schema, 0), False)]
    if rows.units is not None:
        return tables
    more = np.append(np.arange(n), 0)
    without = rows.take(np.arange(n - 1)), rows.take(np.arange(1, n), shift=-1)
    return [*tables, *((each, True) for each in (*without, rows.take(more)))]


def _replay_all(like: LikeRun, recorded: Recorded, tables: list[tuple[Rows, bool]]) -> None:
    for rows, is_neighbour in tables:
        _replay(like, recorded, rows, is_neighbour)


def _replay(like: LikeRun, recorded: Recorded, rows: Rows, is_neighbour: bool) -> None:
    records, _ = recorded
    problem, accountant = like.problem, like.plan.accountant
    if problem.n is not None:
        problem = replace(problem, n=len(rows.y))
    session = ReplaySession(records, rows.table(), accountant, like.relation, rows.shift)
    replay_in(session, like.plan.optimizer, problem, recorded, f", over {len(rows.y):,} rows")
    if is_neighbour:
        for k, (asked, exact) in enumerate(zip(records, session.exacts, strict=True)):
            assert_within(asked.exact, exact, asked.sensitivity, f"release {k} of the run")

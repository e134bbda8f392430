"""Runs of an optimizer on made tables, as every check of an optimizer makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.plugin import FixedSchedule, NeighboringRelation, RowCount
from dpcore.plugin.parts import SeededNoise, load_registry, optimizer_facts
from dpcore_lab.checks.guard import require_assertions
from dpcore_lab.made_tables.tables import SEVERAL, Rows, make_problem, make_rows
from dpcore_lab.replay.canonical import canonical
from dpcore_lab.replay.recording import Record, RecordingSession
from dpcore_lab.replay.replay import ReplaySession

if TYPE_CHECKING:
    from dpcore.plugin import Accountant, Loss, Problem, Solution
    from dpcore.plugin.parts import Optimizer

__all__ = [
    "DELTA",
    "EPSILON",
    "L2",
    "accountant_of",
    "cases_of",
    "load_kernels",
    "loss_of",
    "open_session",
    "problem_of",
    "record_run",
    "relations_of",
    "replay_in",
    "replay_run",
    "run_in",
    "sizes_of",
]

EPSILON, DELTA, L2 = 1.0, 1e-6, 0.01


def relations_of(optimizer: Optimizer) -> list[NeighboringRelation]:
    return [NeighboringRelation(value) for value in optimizer.relations]


def cases_of(optimizer: Optimizer) -> list[tuple[NeighboringRelation, int]]:
    """Return the relations and numbers of classes that an optimizer is checked with: two, and
    where it states that it takes several, three as well."""
    counts = (2, SEVERAL) if optimizer_facts(type(optimizer)).multiclass else (2,)
    return [(relation, count) for count in counts for relation in relations_of(optimizer)]


def sizes_of(optimizer: Optimizer, relation: NeighboringRelation) -> tuple[int | None, ...]:
    """Return the public values for the number of rows that runs are recorded with, ``None`` among
    them unless the optimizer needs one."""
    needs_one = relation.size_is_public or "public-size" in optimizer.needs
    return (400,) if needs_one else (400, None)


def loss_of(optimizer: Optimizer, n_classes: int = 2) -> Loss:
    """Return the loss to check with: of two classes on labels of -1 and +1, which squared loss
    takes too. ``checked_loss`` of the optimizer takes its place."""
    usual = "ridge" if "squared-loss" in optimizer.needs else "logistic"
    name = "softmax" if n_classes > 2 else optimizer_facts(optimizer).checked_loss or usual
    loss: Loss = load_registry().load("loss", name)()
    return loss


def problem_of(
    rows: Rows, relation: NeighboringRelation, optimizer: Optimizer, n0: int | None = 400
) -> Any:
    return make_problem(rows, relation, loss_of(optimizer, rows.n_classes), l2=L2, n0=n0)


def accountant_of(
    optimizer: Optimizer, epsilon: float, delta: float, problem: Problem | None = None
) -> Accountant:
    """Return the accountant that a run takes by default, with the whole budget; planned, given a
    problem, for the schedule that the optimizer states."""
    stated = optimizer_facts(optimizer)
    schedule = stated.schedule
    accountant_class: type[Accountant] = load_registry().load("accountant", stated.accountant)
    if problem is not None and schedule is not None:
        try:
            return FixedSchedule.planned_accountant(
                accountant_class, epsilon, delta, None, lambda m: schedule(problem, m)
            )
        except InvalidInputError:
            pass  # No noise makes it fit: as the optimizer has to find out for itself.
    return accountant_class.from_budget(epsilon, delta)


def open_session(
    optimizer: Optimizer,
    rows: Rows,
    relation: NeighboringRelation,
    epsilon: float,
    delta: float,
    n0: int | None = 400,
) -> RecordingSession:
    require_assertions()
    problem = problem_of(rows, relation, optimizer, n0)
    accountant = accountant_of(optimizer, epsilon, delta, problem)
    return RecordingSession(rows.table(), accountant, relation, SeededNoise(11), problem)


def record_run(
    optimizer: Optimizer,
    rows: Rows,
    relation: NeighboringRelation,
    epsilon: float = EPSILON,
    n0: int | None = 400,
) -> tuple[RecordingSession, Solution]:
    session = open_session(optimizer, rows, relation, epsilon, DELTA, n0)
    return session, run_in(session, optimizer, problem_of(rows, relation, optimizer, n0))


def run_in(session: RecordingSession, optimizer: Optimizer, problem: Problem) -> Solution:
    """Return the solution of an optimizer in a session, of the shape that its problem asks for."""
    solution = optimizer.minimize(problem, session)
    assert np.shape(solution.w) == problem.w_shape, (
        f"Its solution has w of shape {np.shape(solution.w)}, and problem.w_shape is "
        f"{problem.w_shape}."
    )
    return solution


def load_kernels(optimizer: Optimizer) -> None:
    """Load what most runs load, in the process whose children are to find it there."""
    import scipy.optimize  # noqa: F401
    import scipy.special  # noqa: F401

    for relation, n_classes in cases_of(optimizer):
        rows = make_rows(1, n_classes=n_classes)
        open_session(optimizer, rows, relation, EPSILON, DELTA).dry_run(RowCount())


def replay_run(
    optimizer: Optimizer,
    recorded: tuple[list[Record], Solution],
    rows: Rows,
    other: Rows,
    relation: NeighboringRelation,
    n0: int | None,
) -> ReplaySession:
    """Replay a run on another table, and require the recorded result to the bit."""
    problem = problem_of(rows, relation, optimizer, n0)
    accountant = accountant_of(optimizer, EPSILON, DELTA, problem)
    session = ReplaySession(recorded[0], other.table(), accountant, relation, other.shift)
    replay_in(session, optimizer, problem, recorded, f" (under {relation.value})")
    return session


def replay_in(
    session: ReplaySession,
    optimizer: Optimizer,
    problem: Problem,
    recorded: tuple[list[Record], Solution],
    where: str,
) -> None:
    """Run the optimizer in a replay of its records, and require the recorded result to the bit.
    ``where`` : the replay, for messages."""
    records, solution = recorded
    try:
        again = optimizer.minimize(problem, session)
    finally:
        # An optimizer that catches every exception catches the replay's too.
        session.assert_faithful()
    assert len(session.exacts) == len(records), (
        "The replay stopped early: its control flow depends on something that was not released."
    )
    assert len(session.engine.answers) == len(session.ledger), (
        "The rows were asked something that was not charged."
    )
    assert again.w.tobytes() == solution.w.tobytes(), (
        f"The coefficients depend on more than the released values{where}."
    )
    told = (again.status, again.details)
    assert canonical(told) == canonical((solution.status, solution.details)), (
        "The status or details depend on more than the released values."
    )

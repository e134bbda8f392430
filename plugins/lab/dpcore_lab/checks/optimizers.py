"""Checks of an optimizer: what it may know, spend and return."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from dpcore.errors import DpcoreError
from dpcore.plugin.parts import Model, optimizer_facts
from dpcore_lab.checks.coverage_text import Tested
from dpcore_lab.checks.parameters import check_bad_parameters_refused, check_declarations
from dpcore_lab.checks.parts import check_mechanisms_and_queries, foreign_answers
from dpcore_lab.checks.utility import check_huge_epsilon_limit
from dpcore_lab.isolation import not_isolated, run_apart
from dpcore_lab.made_tables.tables import Rows, faint_rows, make_rows, neighbours
from dpcore_lab.recount.ledger import recounted_epsilon
from dpcore_lab.replay.answers import search_tables
from dpcore_lab.replay.recorded import (
    DELTA,
    cases_of,
    load_kernels,
    loss_of,
    open_session,
    problem_of,
    record_run,
    relations_of,
    replay_run,
    run_in,
    sizes_of,
)
from dpcore_lab.replay.recording import Record, RecordingSession
from dpcore_lab.replay.replay import assert_within

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin import Loss, NeighboringRelation, Solution
    from dpcore.plugin.parts import Optimizer

__all__ = [
    "OPTIMIZER_CHECKS",
    "assert_same_when_replayed",
    "check_never_overspends",
    "check_outputs_released",
    "check_repeatable_when_seeded",
    "check_sensitivity_on_neighbours",
    "check_tiny_budget_refused",
    "checks_of_sessions",
]

_MANY_ROWS = 20_000
_EVALUATIONS = 60
_BUDGETS = (0.05, 1.0, 8.0)
"""The epsilons of runs whose ledgers are counted again."""


def check_outputs_released(optimizer: Optimizer) -> Tested:
    """Raise AssertionError unless replayed values give bit-equal results on unrelated rows.

    Every output is then a function of released values and public facts. The number of rows differs
    too where it is private.

    The runs are recorded in one process and replayed in another, and neither writes a file: what a
    part keeps of its rows outside the session is not there in the replay, or another value.
    """
    load_kernels(optimizer)
    recorded = run_apart(partial(_record_all, optimizer))
    run_apart(partial(_replay_all, optimizer, recorded))
    releases = sum(len(records) for records, _ in recorded)
    what = f"{len(recorded)} runs of {releases} releases in all{_of_classes(optimizer)}, replayed"
    what += " on unrelated tables"
    sizes = ("rows 0 to 20,000", "columns 5", _classes_of(optimizer), f"releases {releases:,}")
    return Tested(f"{what}, equal to the bit", not_tested=not_isolated(), ranges=sizes)


def _settings(optimizer: Optimizer) -> list[tuple[NeighboringRelation, int, int | None]]:
    """Return relation, number of classes and public number of rows of each recorded run."""
    settings: list[tuple[NeighboringRelation, int, int | None]] = []
    for relation, n_classes in cases_of(optimizer):
        values = sizes_of(optimizer, relation) if n_classes == 2 else (400,)
        settings += [(relation, n_classes, n0) for n0 in values]
    return settings


def _record_all(optimizer: Optimizer) -> list[tuple[list[Record], Solution]]:
    """Return the releases and the solution of a run in each setting."""
    recorded = []
    for relation, n_classes, n0 in _settings(optimizer):
        rows = make_rows(300, seed=1, n_classes=n_classes)
        session, solution = record_run(optimizer, rows, relation, n0=n0)
        fault = Model.fault_of_details(solution.details)
        assert not fault, f"The details of its Solution are left out of a report: {fault}"
        recorded.append((session.records, solution))
    return recorded


def _replay_all(optimizer: Optimizer, recorded: list[tuple[list[Record], Solution]]) -> None:
    for run, (relation, n_classes, n0) in zip(recorded, _settings(optimizer), strict=True):
        rows = make_rows(300, seed=1, n_classes=n_classes)
        n = 300 if relation.size_is_public else 161
        strangers = [make_rows(n, seed=2, n_classes=n_classes), faint_rows(n)]
        if not relation.size_is_public:
            strangers.append(faint_rows(0))
        if not relation.size_is_public and n0 is not None:
            strangers.append(make_rows(_MANY_ROWS, seed=2, n_classes=n_classes))
        for stranger in strangers:
            replay_run(optimizer, run, rows, stranger, relation, n0)


def check_sensitivity_on_neighbours(optimizer: Optimizer) -> Tested:
    """Raise AssertionError unless exact answers on neighbouring tables stay within the declared
    change.

    A run is replayed on neighbours. A query of its own that is no sum is held to it on tables
    that are searched for the worst.
    """
    pairs, searched = 0, set()
    for relation, n_classes in cases_of(optimizer):
        rows = make_rows(60, seed=3, n_classes=n_classes)
        recorded = record_run(optimizer, rows, relation)
        for other in neighbours(rows, relation, seed=4):
            assert_same_when_replayed(optimizer, recorded, rows, other, relation)
            pairs += len(recorded[0].records)
        for query in foreign_answers(recorded[0]):
            searched.add(type(query).__name__)
            _search(query, relation, loss_of(optimizer, n_classes), rows)
    told = f"{pairs} pairs of exact answers on neighbouring tables{_of_classes(optimizer)}"
    if searched:
        told += f", and {_EVALUATIONS} more of {', '.join(sorted(searched))}"
    sizes = ("rows 59 to 61", "columns 5", _classes_of(optimizer))
    return Tested(f"{told}, within the declared sensitivities", ranges=sizes)


def _of_classes(optimizer: Optimizer) -> str:
    """Return in words that runs were of several classes too, nothing where they were not."""
    counts = {n_classes for _, n_classes in cases_of(optimizer)} - {2}
    return "".join(f", of two and of {count} classes" for count in counts)


def _classes_of(optimizer: Optimizer) -> str:
    return f"classes 2 to {max(count for _, count in cases_of(optimizer))}"


def _search(query: Any, relation: NeighboringRelation, loss: Loss, rows: Rows) -> None:
    n_classes = rows.n_classes if loss.classification else 0
    n = len(rows.y) if relation.size_is_public else None
    width = rows.X.shape[1]
    search_tables(lambda tried: query, relation, width, n_classes, _EVALUATIONS, n)


def assert_same_when_replayed(
    optimizer: Optimizer,
    recorded: tuple[RecordingSession, Solution],
    rows: Rows,
    other: Rows,
    relation: NeighboringRelation,
) -> None:
    """Replay a recorded run on a neighbour and compare every exact answer."""
    records = recorded[0].records
    session = replay_run(optimizer, (records, recorded[1]), rows, other, relation, n0=400)
    for index, (asked, exact) in enumerate(zip(records, session.exacts, strict=True)):
        what = f"release {index} under {relation.value}"
        assert_within(asked.exact, exact, asked.sensitivity, what)


def check_never_overspends(optimizer: Optimizer) -> Tested:
    """Raise AssertionError unless the ledger, counted again by other formulas, stays within the
    budget.

    Every exact answer that was computed was charged. A budget may be refused with nothing asked,
    as the least one is where some noise has a fixed cost; one of them is not.
    """
    refused: set[float] = set()
    for relation, n_classes in cases_of(optimizer):
        rows = make_rows(80, seed=5, n_classes=n_classes)
        for epsilon in _BUDGETS:
            session = open_session(optimizer, rows, relation, epsilon, DELTA, n0=8000)
            try:
                run_in(session, optimizer, problem_of(rows, relation, optimizer, 8000))
            except DpcoreError:
                if session.ledger or session.engine.answers or epsilon == _BUDGETS[-1]:
                    raise
                refused.add(epsilon)
                continue
            assert (session.accountant.epsilon, session.accountant.delta) == (epsilon, DELTA), (
                "The accountant's budget changed during the run."
            )
            assert session.accountant.remaining >= 0, "The accountant went below zero."
            assert len(session.engine.answers) == len(session.ledger), (
                "The rows were asked something that was not charged."
            )
            total = recounted_epsilon(
                [entry.event for entry in session.ledger], DELTA, epsilon * (1 + 1e-9)
            )
            assert total <= epsilon * (1 + 1e-9), (
                f"The ledger amounts to epsilon={total:.6g}, over the budget of {epsilon}."
            )
    told = "; ".join(f"epsilon {epsilon:g}, which it refuses" for epsilon in sorted(refused))
    return Tested(
        "ledgers of runs at epsilon 0.05, 1 and 8, added up again by Renyi divergences in floats",
        not_tested=(*([told] if told else []), "other accountants, which check_accountant tests"),
        ranges=("rows 80", "epsilon 0.05 to 8", _classes_of(optimizer)),
    )


def check_tiny_budget_refused(optimizer: Optimizer) -> Tested:
    """Raise AssertionError unless a budget too small for one release is refused with nothing
    asked."""
    for relation, n_classes in cases_of(optimizer):
        rows = make_rows(50, seed=6, n_classes=n_classes)
        session = open_session(optimizer, rows, relation, epsilon=1e-250, delta=1e-250)
        try:
            optimizer.minimize(problem_of(rows, relation, optimizer), session)
        except DpcoreError:
            pass
        else:
            raise AssertionError("A budget of epsilon=1e-250, delta=1e-250 was not refused.")
        assert not session.ledger and not session.engine.answers, (
            "The rows were asked something before a hopeless budget was refused."
        )
    told = "a budget of epsilon and delta 1e-250, refused before any release"
    return Tested(told, ranges=("rows 50", _classes_of(optimizer)))


def check_repeatable_when_seeded(optimizer: Optimizer) -> Tested:
    """Raise AssertionError unless the same seed gives the same bits, so that all draws are the
    session's."""
    for relation, n_classes in cases_of(optimizer):
        if relation is relations_of(optimizer)[0]:
            rows = make_rows(100, seed=8, n_classes=n_classes)
            first, second = (record_run(optimizer, rows, relation)[1] for _ in range(2))
            assert first.w.tobytes() == second.w.tobytes(), (
                "Two runs with one seed differ: something is drawn outside the session."
            )
    ranges = ("rows 100", _classes_of(optimizer))
    return Tested("two runs with one seed, equal to the bit", ranges=ranges)


OPTIMIZER_CHECKS: tuple[Callable[[Optimizer], Tested], ...] = (
    check_outputs_released,
    check_sensitivity_on_neighbours,
    check_mechanisms_and_queries,
    check_never_overspends,
    check_tiny_budget_refused,
    check_huge_epsilon_limit,
    check_repeatable_when_seeded,
    check_bad_parameters_refused,
    check_declarations,
)


_OF_PRIVACY = (
    check_sensitivity_on_neighbours,
    check_mechanisms_and_queries,
    check_never_overspends,
    check_tiny_budget_refused,
    check_huge_epsilon_limit,
)


def checks_of_sessions(optimizer: Optimizer) -> tuple[Callable[[Optimizer], Tested], ...]:
    """Return the checks that an optimizer is to pass: those of the guarantee are left out where it
    declares that it has none."""
    if optimizer_facts(type(optimizer)).private:
        return OPTIMIZER_CHECKS
    return tuple(check for check in OPTIMIZER_CHECKS if check not in _OF_PRIVACY)

"""Checks of an optimizer: what it may know, spend and return."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.errors import DpcoreError
from dpcore.losses.logistic import Logistic
from dpcore.noise.source import SeededNoise
from dpcore.sensitivity import NeighboringRelation
from dpcore.testing.recount import recounted_epsilon
from dpcore.testing.replay import RecordingSession, ReplaySession, assert_within
from dpcore.testing.tables import Rows, faint_rows, make_problem, make_rows, neighbours

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcore.problem import Solution
    from dpcore.protocols import Optimizer

__all__ = [
    "OPTIMIZER_CHECKS",
    "assert_same_when_replayed",
    "check_bad_parameters_refused",
    "check_huge_epsilon_limit",
    "check_never_overspends",
    "check_outputs_released",
    "check_repeatable_when_seeded",
    "check_sensitivity_on_neighbours",
    "check_tiny_budget_refused",
]

_EPSILON, _DELTA, _L2 = 1.0, 1e-6, 0.01


def check_outputs_released(optimizer: Optimizer) -> None:
    """Replayed values give bit-equal results on unrelated rows, of another number of them where
    the number is private: every output is a function of released values and public facts."""
    for relation in _relations(optimizer):
        for n0 in (400, None):
            rows = make_rows(300, seed=1)
            recorded = _record(optimizer, rows, relation, n0=n0)
            n = 300 if relation.size_is_public else 161
            strangers = [make_rows(n, seed=2), faint_rows(n)]
            for stranger in strangers if relation.size_is_public else [*strangers, faint_rows(0)]:
                _replay(optimizer, recorded, rows, stranger, relation, n0)


def check_sensitivity_on_neighbours(optimizer: Optimizer) -> None:
    """Replayed on neighbouring tables, no exact answer moves by more than was declared for it."""
    for relation in _relations(optimizer):
        rows = make_rows(60, seed=3)
        recorded = _record(optimizer, rows, relation)
        for other in neighbours(rows, relation, seed=4):
            assert_same_when_replayed(optimizer, recorded, rows, other, relation)


def assert_same_when_replayed(
    optimizer: Optimizer,
    recorded: tuple[RecordingSession, Solution],
    rows: Rows,
    other: Rows,
    relation: NeighboringRelation,
) -> None:
    """Replay a recorded run on a neighbour and compare every exact answer."""
    session = _replay(optimizer, recorded, rows, other, relation, n0=400)
    for index, (record, exact) in enumerate(zip(recorded[0].records, session.exacts, strict=True)):
        what = f"release {index} under {relation.value}"
        assert_within(record.exact, exact, record.sensitivity, what)


def check_never_overspends(optimizer: Optimizer) -> None:
    """The ledger, counted again by other formulas, stays within the budget, and every exact
    answer that was computed was charged."""
    for relation in _relations(optimizer):
        for epsilon in (0.05, 1.0, 8.0):
            session, _ = _record(optimizer, make_rows(80, seed=5), relation, epsilon)
            assert (session.accountant.epsilon, session.accountant.delta) == (epsilon, _DELTA), (
                "The accountant's budget changed during the run."
            )
            assert session.accountant.remaining >= 0, "The accountant went below zero."
            assert len(session.engine.answers) == len(session.ledger), (
                "The rows were asked something that was not charged."
            )
            total = recounted_epsilon([entry.event for entry in session.ledger], _DELTA)
            assert total <= epsilon * (1 + 1e-9), (
                f"The ledger amounts to epsilon={total:.6g}, over the budget of {epsilon}."
            )


def check_tiny_budget_refused(optimizer: Optimizer) -> None:
    """A budget too small for one release is refused by a DpcoreError, with nothing asked."""
    for relation in _relations(optimizer):
        rows = make_rows(50, seed=6)
        session = _session(rows, relation, epsilon=1e-250, delta=1e-250)
        try:
            optimizer.minimize(_problem(rows, relation), session)
        except DpcoreError:
            pass
        else:
            raise AssertionError("A budget of epsilon=1e-250, delta=1e-250 was not refused.")
        assert not session.ledger and not session.engine.answers, (
            "The rows were asked something before a hopeless budget was refused."
        )


def check_huge_epsilon_limit(optimizer: Optimizer) -> None:
    """With a huge epsilon the objective comes within 5 % of what scipy's minimiser gains."""
    from scipy.optimize import minimize

    for relation in _relations(optimizer):
        rows = make_rows(2000, seed=7)
        _, solution = _record(optimizer, rows, relation, epsilon=1e5, n0=2000)
        norms = np.linalg.norm(rows.X, axis=1, keepdims=True)
        X = rows.X * np.minimum(1.0, 1.5 / norms)

        def objective(w: np.ndarray, X: np.ndarray = X, y: np.ndarray = rows.y) -> float:
            return float(np.logaddexp(0.0, -y * (X @ w)).mean() + 0.5 * _L2 * (w @ w))

        best = minimize(objective, np.zeros(X.shape[1]), method="L-BFGS-B").fun
        start, reached = objective(np.zeros(X.shape[1])), objective(solution.w)
        gain = (start - reached) / (start - best)
        assert gain >= 0.95, f"With epsilon=1e5 it reaches {gain:.1%} of the possible gain."


def check_repeatable_when_seeded(optimizer: Optimizer) -> None:
    """The same seed gives the same bits: no random draw comes from anywhere but the session."""
    rows, relation = make_rows(100, seed=8), _relations(optimizer)[0]
    first, second = (_record(optimizer, rows, relation)[1] for _ in range(2))
    assert first.w.tobytes() == second.w.tobytes(), (
        "Two runs with one seed differ: something is drawn outside the session."
    )


def check_bad_parameters_refused(optimizer: Optimizer) -> None:
    """A frozen dataclass, whose parameters are refused, before any release, if not finite."""
    parameters: Any = getattr(type(optimizer), "__dataclass_params__", None)
    assert parameters is not None and parameters.frozen, "An optimizer is a frozen dataclass."
    for name, value in _broken_parameters(optimizer):
        rows, relation = make_rows(50, seed=9), _relations(optimizer)[0]
        session = _session(rows, relation, _EPSILON, _DELTA)
        instance: Any = optimizer
        try:
            broken = dataclasses.replace(instance, **{name: value})
            broken.minimize(_problem(rows, relation), session)
        except (DpcoreError, ValueError):
            assert not session.ledger, f"{name}={value} was refused only after a release."
        else:
            raise AssertionError(f"{name}={value} was accepted.")


OPTIMIZER_CHECKS = (
    check_outputs_released,
    check_sensitivity_on_neighbours,
    check_never_overspends,
    check_tiny_budget_refused,
    check_huge_epsilon_limit,
    check_repeatable_when_seeded,
    check_bad_parameters_refused,
)


def _relations(optimizer: Optimizer) -> list[NeighboringRelation]:
    return [NeighboringRelation(value) for value in optimizer.relations]


def _problem(rows: Rows, relation: NeighboringRelation, n0: int | None = 400) -> Any:
    return make_problem(rows, relation, Logistic(), l2=_L2, n0=n0)


def _session(
    rows: Rows, relation: NeighboringRelation, epsilon: float, delta: float
) -> RecordingSession:
    accountant = ZcdpAccountant.from_budget(epsilon, delta)
    return RecordingSession(rows.table(), accountant, relation, SeededNoise(11))


def _record(
    optimizer: Optimizer,
    rows: Rows,
    relation: NeighboringRelation,
    epsilon: float = _EPSILON,
    n0: int | None = 400,
) -> tuple[RecordingSession, Solution]:
    session = _session(rows, relation, epsilon, _DELTA)
    return session, optimizer.minimize(_problem(rows, relation, n0), session)


def _replay(
    optimizer: Optimizer,
    recorded: tuple[RecordingSession, Solution],
    rows: Rows,
    other: Rows,
    relation: NeighboringRelation,
    n0: int | None,
) -> ReplaySession:
    """Replay a run on another table, and require the recorded result to the bit."""
    accountant = ZcdpAccountant.from_budget(_EPSILON, _DELTA)
    session = ReplaySession(recorded[0].records, other.table(), accountant, relation)
    solution = optimizer.minimize(_problem(rows, relation, n0), session)
    assert len(session.exacts) == len(recorded[0].records), (
        "The replay stopped early: its control flow depends on something that was not released."
    )
    assert len(session.engine.answers) == len(session.exacts), (
        "The rows were asked something that was not charged."
    )
    assert solution.w.tobytes() == recorded[1].w.tobytes(), (
        f"The coefficients depend on more than the released values (under {relation.value})."
    )
    told = (solution.status, solution.details)
    assert repr(told) == repr((recorded[1].status, recorded[1].details)), (
        "The status or details depend on more than the released values."
    )
    return session


def _broken_parameters(optimizer: Optimizer) -> Iterator[tuple[str, float]]:
    instance: Any = optimizer
    for field in dataclasses.fields(instance):
        if isinstance(getattr(instance, field.name), float):
            yield from ((field.name, value) for value in (math.nan, math.inf, -math.inf))

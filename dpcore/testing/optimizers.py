"""Checks of an optimizer: what it may know, spend and return."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import DpcoreError
from dpcore.fitting.details import fault_of_details
from dpcore.registry.catalogue import load_registry
from dpcore.registry.declarations import fault_of_part, optimizer_facts
from dpcore.registry.parameters import convert_all, describe_parameters
from dpcore.testing.parts import check_mechanisms_and_queries
from dpcore.testing.recorded import (
    DELTA,
    EPSILON,
    L2,
    loss_of,
    open_session,
    problem_of,
    record_run,
    relations_of,
    replay_run,
)
from dpcore.testing.recording import RecordingSession
from dpcore.testing.recount import recounted_epsilon
from dpcore.testing.replay import assert_within
from dpcore.testing.tables import Rows, faint_rows, make_rows, neighbours

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpcore.privacy.sensitivity import NeighboringRelation
    from dpcore.protocols import Loss
    from dpcore.protocols.optimizer import Optimizer
    from dpcore.protocols.problem import Solution

__all__ = [
    "OPTIMIZER_CHECKS",
    "assert_same_when_replayed",
    "check_bad_parameters_refused",
    "check_huge_epsilon_limit",
    "check_never_overspends",
    "check_outputs_released",
    "check_declarations",
    "check_repeatable_when_seeded",
    "check_sensitivity_on_neighbours",
    "check_tiny_budget_refused",
    "checks_of_sessions",
]

_MANY_ROWS = 20_000


def check_outputs_released(optimizer: Optimizer) -> None:
    """Replayed values give bit-equal results on unrelated rows, of another number of them where
    the number is private: every output is a function of released values and public facts."""
    for relation in relations_of(optimizer):
        for n0 in (400, None):
            rows = make_rows(300, seed=1)
            recorded = record_run(optimizer, rows, relation, n0=n0)
            fault = fault_of_details(recorded[1].details)
            assert not fault, f"The details of its Solution are left out of a report: {fault}"
            n = 300 if relation.size_is_public else 161
            strangers = [make_rows(n, seed=2), faint_rows(n)]
            if not relation.size_is_public:
                strangers.append(faint_rows(0))
            if not relation.size_is_public and n0 is not None:
                strangers.append(make_rows(_MANY_ROWS, seed=2))
            for stranger in strangers:
                replay_run(optimizer, recorded, rows, stranger, relation, n0)


def check_sensitivity_on_neighbours(optimizer: Optimizer) -> None:
    """Replayed on neighbouring tables, no exact answer moves by more than was declared for it."""
    for relation in relations_of(optimizer):
        rows = make_rows(60, seed=3)
        recorded = record_run(optimizer, rows, relation)
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
    session = replay_run(optimizer, recorded, rows, other, relation, n0=400)
    for index, (asked, exact) in enumerate(zip(recorded[0].records, session.exacts, strict=True)):
        what = f"release {index} under {relation.value}"
        assert_within(asked.exact, exact, asked.sensitivity, what)


def check_never_overspends(optimizer: Optimizer) -> None:
    """The ledger, counted again by other formulas, stays within the budget, and every exact
    answer that was computed was charged."""
    for relation in relations_of(optimizer):
        for epsilon in (0.05, 1.0, 8.0):
            session, _ = record_run(optimizer, make_rows(80, seed=5), relation, epsilon)
            assert (session.accountant.epsilon, session.accountant.delta) == (epsilon, DELTA), (
                "The accountant's budget changed during the run."
            )
            assert session.accountant.remaining >= 0, "The accountant went below zero."
            assert len(session.engine.answers) == len(session.ledger), (
                "The rows were asked something that was not charged."
            )
            total = recounted_epsilon([entry.event for entry in session.ledger], DELTA)
            assert total <= epsilon * (1 + 1e-9), (
                f"The ledger amounts to epsilon={total:.6g}, over the budget of {epsilon}."
            )


def check_tiny_budget_refused(optimizer: Optimizer) -> None:
    """A budget too small for one release is refused by a DpcoreError, with nothing asked."""
    for relation in relations_of(optimizer):
        rows = make_rows(50, seed=6)
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


def check_huge_epsilon_limit(optimizer: Optimizer) -> None:
    """With a huge epsilon the objective comes within 5 % of what scipy's minimiser gains; an
    optimizer that is asked for an excess risk is asked for 3 % of it."""
    from scipy.optimize import minimize

    for relation in relations_of(optimizer):
        rows = make_rows(2000, seed=7)
        norms = np.linalg.norm(rows.X, axis=1, keepdims=True)
        X, loss = rows.X * np.minimum(1.0, 1.5 / norms), loss_of(optimizer)

        def objective(
            w: np.ndarray, X: np.ndarray = X, y: np.ndarray = rows.y, loss: Loss = loss
        ) -> float:
            values = np.empty(y.size)
            loss.value(X @ w, y, values)
            return float(values.mean() + 0.5 * L2 * (w @ w))

        best = minimize(objective, np.zeros(X.shape[1]), method="L-BFGS-B").fun
        start = objective(np.zeros(X.shape[1]))
        asked = _asked_for(optimizer, 0.03 * (start - best))
        _, solution = record_run(asked, rows, relation, epsilon=1e5, n0=2000)
        reached = objective(solution.w)
        gain = (start - reached) / (start - best)
        assert gain >= 0.95, f"With epsilon=1e5 it reaches {gain:.1%} of the possible gain."


def _asked_for(optimizer: Optimizer, excess_risk: float) -> Optimizer:
    if "target_excess_risk" not in optimizer_facts(optimizer).targets:
        return optimizer
    instance: Any = optimizer
    options: dict[str, float | None] = {"target_accuracy": None, "target_risk": None, "slack": None}
    options["target_excess_risk"] = excess_risk
    fields = {field.name for field in dataclasses.fields(instance)}
    known: Any = {name: options[name] for name in fields & options.keys()}
    asked: Optimizer = dataclasses.replace(instance, **known)
    return asked


def check_repeatable_when_seeded(optimizer: Optimizer) -> None:
    """The same seed gives the same bits: no random draw comes from anywhere but the session."""
    rows, relation = make_rows(100, seed=8), relations_of(optimizer)[0]
    first, second = (record_run(optimizer, rows, relation)[1] for _ in range(2))
    assert first.w.tobytes() == second.w.tobytes(), (
        "Two runs with one seed differ: something is drawn outside the session."
    )


def check_bad_parameters_refused(optimizer: Optimizer) -> None:
    """A frozen dataclass, whose parameters are refused, before any release, if not finite."""
    parameters: Any = getattr(type(optimizer), "__dataclass_params__", None)
    assert parameters is not None and parameters.frozen, "An optimizer is a frozen dataclass."
    for name, value in _broken_parameters(optimizer):
        rows, relation = make_rows(50, seed=9), relations_of(optimizer)[0]
        session = open_session(optimizer, rows, relation, EPSILON, DELTA)
        instance: Any = optimizer
        try:
            broken = dataclasses.replace(instance, **{name: value})
            broken.minimize(problem_of(rows, relation, broken), session)
        except (DpcoreError, ValueError):
            assert not session.ledger, f"{name}={value} was refused only after a release."
        else:
            raise AssertionError(f"{name}={value} was accepted.")


def check_declarations(optimizer: Optimizer) -> None:
    """Every fact that its class states is one, and each preset sets parameters and slots that there
    are, to values that can be built, and names an accountant, and a conversion, that there is."""
    instance: Any = optimizer
    fault = fault_of_part("optimizer", type(optimizer))
    assert not fault, f"{type(optimizer).__name__} {fault}"
    parameters = {parameter.name for parameter in describe_parameters(type(optimizer))}
    stated = optimizer_facts(optimizer)
    usual = stated.accountant
    for values in stated.presets.values():
        fields = {name: value for name, value in values.items() if name in parameters}
        dataclasses.replace(instance, **convert_all(type(optimizer), fields))
        accountant = load_registry().load("accountant", values.get("accountant", usual))
        accountant.from_budget(EPSILON, DELTA, values.get("accountant_conversion"))


OPTIMIZER_CHECKS = (
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


def checks_of_sessions(optimizer: Optimizer) -> tuple[Callable[[Optimizer], Any], ...]:
    """Return the checks that an optimizer is to pass: those of the guarantee are left out where it
    declares that it has none."""
    if optimizer_facts(type(optimizer)).private:
        return OPTIMIZER_CHECKS
    return tuple(check for check in OPTIMIZER_CHECKS if check not in _OF_PRIVACY)


def _broken_parameters(optimizer: Optimizer) -> Iterator[tuple[str, float]]:
    instance: Any = optimizer
    for field in dataclasses.fields(instance):
        if isinstance(getattr(instance, field.name), float):
            yield from ((field.name, value) for value in (math.nan, math.inf, -math.inf))

"""The schedule that an optimizer states before its first release: the accountant fitted to it, and
what the run is held to."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcore.accountants.registered import target_of
from dpcore.accountants.schedule import FixedSchedule
from dpcore.errors import InvalidInputError
from dpcore.exact.rounding import exact, float_up
from dpcore.fitting.planning.optimizer_queries import (
    feasible_targets,
    needed_epsilon,
    stated_schedule,
)
from dpcore.registry.tables.optimizer_spec import optimizer_facts

if TYPE_CHECKING:
    from dpcore.fitting.planning.planned import Plan
    from dpcore.protocols import Accountant
    from dpcore.protocols.problem import Problem

__all__ = ["fixed_schedule", "with_planned_accountant"]


def with_planned_accountant(plan: Plan, problem: Problem, runs: int = 1) -> Plan:
    """Return the plan with the accountant fitted to, or chosen for, the schedule that the optimizer
    states: a function of public facts and the budget, ``schedule(problem, noise_multiplier)``.
    ``runs`` : how many times the optimizer is to run within the budget.

    One that knows its epsilon beforehand has a filter of that, which then is the guarantee.

    Raises InvalidInputError where no amount of noise makes the schedule fit, where an accountant is
    to be chosen and the optimizer states none, or where the epsilon is more than was agreed to.
    """
    stated = optimizer_facts(plan.optimizer)
    asked = plan.accountant
    if stated.answered_by:
        return plan  # Its source fits its own filters.
    needed = needed_epsilon(plan.optimizer, problem)
    if needed is not None:
        is_above = runs == 1 and needed > asked.epsilon
        told = feasible_targets(plan.optimizer, problem, asked.epsilon) if is_above else ""
        return replace(
            plan, accountant=_of_what_is_needed(plan, float_up(Fraction(needed) * runs), told)
        )
    if plan.is_part or plan.settings.native_budget() is not None:
        return plan  # A budget in its own unit, all of which is for any releases.
    if asked.name in stated.adaptive_accountants and asked.fully_adaptive:
        return plan  # The schedule is of the other accountants.
    schedule = stated_schedule(plan.optimizer, problem)
    if schedule is None:
        if not asked.fully_adaptive:
            raise InvalidInputError(
                f"{plan.entry.name} states no schedule that the {asked.name} accountant, which is "
                "not fully adaptive, could hold it to; name another, such as its own, "
                f"--accountant {stated.accountant} (accountant={stated.accountant!r})."
            )
        return plan
    accountant = FixedSchedule.planned_accountant(
        type(asked),
        asked.epsilon,
        asked.delta,
        asked.conversion,
        lambda multiplier: {e: runs * n for e, n in schedule(multiplier).items()},
    )
    chosen = () if type(accountant) is type(asked) else target_of(accountant)
    return replace(plan, accountant=accountant, targets=(*plan.targets, *chosen))


def _of_what_is_needed(plan: Plan, needed: float, told: str) -> Accountant:
    asked = plan.accountant
    if needed > asked.epsilon:
        raise InvalidInputError(
            f"{plan.entry.name} needs epsilon={exact(needed)} for its target, and the worst case "
            f"is {exact(asked.epsilon)}. "
            f"{told or 'Raise --epsilon-max (epsilon_max=) to that, or ask for less.'}"
        )
    return type(asked).from_budget(needed, asked.delta, asked.conversion)


def fixed_schedule(plan: Plan, problem: Problem) -> FixedSchedule | None:
    """Return what the run is held to where its accountant is not fully adaptive: the schedule that
    the optimizer states, with the least noise that fits. ``plan`` : its accountant planned."""
    schedule = stated_schedule(plan.optimizer, problem)
    if plan.accountant.fully_adaptive or schedule is None:
        return None
    return FixedSchedule(schedule(FixedSchedule.noise_multiplier(plan.accountant, schedule)))

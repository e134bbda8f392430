"""The questions that are put to an optimizer before its run.

An optimizer is not trusted. It is handed copies, and what it returns is copied: whatever it does to
either, the fit goes on with the facts and the budget that the settings asked for.
"""

from __future__ import annotations

import copy
import dataclasses
from typing import TYPE_CHECKING, Any

from dpcore.errors import DpcoreError
from dpcore.privacy.exact_copies import exact_copy, plain_counts
from dpcore.privacy.immutable import private_copy
from dpcore.registry.tables.optimizer_spec import optimizer_facts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcore.accountants.schedule import Schedule
    from dpcore.fitting.request.settings import Settings
    from dpcore.privacy.events import DpEvent
    from dpcore.protocols import Accountant
    from dpcore.protocols.optimizer import Optimizer
    from dpcore.protocols.problem import Problem
    from dpcore.registry.catalogue import Registry

__all__ = [
    "choose",
    "default_l2",
    "cost_forecast",
    "needed_epsilon",
    "feasible_targets",
    "stated_memory",
    "stated_schedule",
    "takes_curves",
]

_CHOSEN = ("algo", "accountant", "conversion", "preset", "use", "params")
"""The settings that a choice may make: none of the budget, the relation, the seed or the users."""


def default_l2(optimizer: Optimizer, problem: Problem, accountant: Accountant) -> float | None:
    """Return the l2 that the optimizer takes by default; ``None`` where it states none."""
    ask = optimizer_facts(optimizer).default_l2
    return None if ask is None else float(ask(private_copy(problem), exact_copy(accountant)))


def needed_epsilon(optimizer: Optimizer, problem: Problem) -> float | None:
    """Return the epsilon that the optimizer's targets need; ``None`` where it states none."""
    ask = optimizer_facts(optimizer).needed_epsilon
    return None if ask is None else float(ask(private_copy(problem)))


def cost_forecast(optimizer: Optimizer, problem: Problem, accountant: Accountant) -> str:
    """Return what the optimizer says of the cost of a run for its targets; empty where it says
    nothing, and where the run will be refused, which it says itself."""
    ask = optimizer_facts(optimizer).cost_forecast
    if ask is None:
        return ""
    try:
        return str(ask(private_copy(problem), exact_copy(accountant)))
    except DpcoreError:
        return ""


def takes_curves(optimizer: Optimizer, problem: Problem, accountant: Accountant) -> bool:
    """Return whether the optimizer asks for hat functions beside numbers."""
    ask = optimizer_facts(optimizer).takes_curves
    return ask is not None and bool(ask(private_copy(problem), exact_copy(accountant)))


def feasible_targets(optimizer: Optimizer, problem: Problem, epsilon_max: float) -> str:
    """Return what the optimizer says would do instead of its targets; empty where it says
    nothing."""
    ask = optimizer_facts(optimizer).feasible_targets
    return "" if ask is None else str(ask(private_copy(problem), epsilon_max))


def stated_memory(optimizer: Optimizer, problem: Problem) -> float:
    """Return the bytes that the optimizer says its run takes; 0 where it states none."""
    ask = optimizer_facts(optimizer).memory
    return 0.0 if ask is None else float(ask(private_copy(problem)))


def stated_schedule(optimizer: Optimizer, problem: Problem) -> Schedule | None:
    """Return the schedule that the optimizer states; ``None`` where it states none."""
    ask = optimizer_facts(optimizer).schedule
    if ask is None:
        return None

    def schedule(noise_multiplier: float) -> Mapping[DpEvent, int]:
        return plain_counts(ask(private_copy(problem), noise_multiplier))

    return schedule


def choose(settings: Settings, registry: Registry) -> tuple[Settings, dict[str, str] | None]:
    """Return the settings with an algorithm where a name was in its place, and which name it was
    and why; ``None`` for an algorithm's own name.

    Raises RegistryError for an unknown name.
    """
    choice = optimizer_facts(registry.load("optimizer", settings.algo)).choose
    if choice is None:
        return settings, None
    chosen, why = choice(copy.deepcopy(settings))
    taken: dict[str, Any] = {name: getattr(chosen, name) for name in _CHOSEN}
    return dataclasses.replace(settings, **taken), {"name": settings.algo, "why": why}

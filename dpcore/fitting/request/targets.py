"""Algorithms that are asked for an accuracy: their options, and the budget that goes with them.

Such an optimizer states ``targets``, the names of its fields that are options of their own on the
command line. Epsilon is then an output: an ex-post epsilon, which is pure, beside the worst case
that was agreed to beforehand (``epsilon_max``), which the filter enforces as epsilon-DP. With
``delta`` among the targets both hold but with the run's delta. Under one of an optimizer's
``adaptive_accountants`` its releases are charged one by one: no epsilon is ex post, and the run
costs what was charged. One that states ``needed_epsilon``
says what epsilon it needs from public facts: that is then the guarantee, and nothing about its
privacy is learnt from the outcome.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError, RegistryError
from dpcore.fitting.request.settings import Settings, option_of
from dpcore.moved import where_to_get
from dpcore.registry.tables.optimizer_spec import optimizer_facts

if TYPE_CHECKING:
    from dpcore.registry.catalogue import Registry

__all__ = [
    "Budget",
    "budget_of",
    "target_values",
]

_DEFAULT_EPSILON, _DEFAULT_WORST_CASE = 1.0, 5.0

Budget = tuple[float, float, str]
"""Epsilon, delta and the name of the accountant if nobody says."""


def target_values(settings: Settings, factory: Any, registry: Registry) -> Mapping[str, Any]:
    """Return the target options that were given, as parameters of the optimizer.

    Raises InvalidInputError, naming the algorithms that take it, for an option not the optimizer's.
    """
    if not isinstance(settings.targets, Mapping):
        raise InvalidInputError('Expected targets to be a mapping, as {"target_accuracy": 0.8}.')
    given = {
        str(name).replace("-", "_"): value
        for name, value in settings.targets.items()
        if value is not None
    }
    stated = optimizer_facts(factory).targets
    for name in (each for each in given if each not in stated):
        option = f"--{name.replace('_', '-')}"
        if name not in (known := _registered_targets(registry)):
            where = where_to_get("option", option)
            told = f"There is no target {name!r}; there are: {', '.join(known)}. {where}"
            raise InvalidInputError(told.rstrip())
        raise InvalidInputError(
            f"{settings.algo} takes no {option} (of targets=){_takers(name, registry)}."
        )
    return {**given, "delta": settings.delta} if _has_delta(factory) else given


def _registered_targets(registry: Registry) -> tuple[str, ...]:
    """Return the options of all registered algorithms, and the run's own delta."""
    entries = registry.entries("optimizer")
    names = (option.parameter for entry in entries for option in entry.data["options"])
    return (*dict.fromkeys(names), "delta")


def budget_of(settings: Settings, factory: Any, registry: Registry) -> Budget:
    """Return the budget that the filter is to enforce.

    Raises InvalidInputError for --epsilon where it is an output, for --epsilon-max where it is an
    input, for an accountant in which an ex-post epsilon has no meaning, and for a budget in the
    unit of a filter where that is not the budget of the run.
    """
    stated = optimizer_facts(factory)
    if (native := settings.native_budget()) is not None and (stated.targets or stated.answered_by):
        whose = "users' budgets are" if stated.answered_by else "its budget is"
        raise InvalidInputError(
            f"{settings.algo} takes no {option_of(native[0])}: {whose} in epsilon and delta."
        )
    if not stated.targets:
        if settings.epsilon_max is not None:
            takers = _takers("target_excess_risk", registry)
            raise InvalidInputError(
                f"{settings.algo} takes {option_of('epsilon')}, not {option_of('epsilon_max')}"
                f"{takers}."
            )
        epsilon = _DEFAULT_EPSILON if settings.epsilon is None else settings.epsilon
        return epsilon, settings.delta, stated.accountant
    if settings.epsilon is not None:
        raise InvalidInputError(
            f"{settings.algo} takes a target, and its epsilon is a result. Leave out "
            f"{option_of('epsilon')}; {option_of('epsilon_max')} bounds it (default "
            f"{_DEFAULT_WORST_CASE:g})."
        )
    worst = _DEFAULT_WORST_CASE if settings.epsilon_max is None else settings.epsilon_max
    if settings.accountant in stated.adaptive_accountants:
        return worst, settings.delta, stated.accountant
    if settings.accountant not in (None, "pure"):
        raise InvalidInputError(
            f"{settings.algo} has an ex-post epsilon under --accountant pure only "
            f"(accountant='pure'), not {settings.accountant}"
            f"{_as_charged(stated.adaptive_accountants)}."
        )
    if _has_delta(factory):
        return worst, settings.delta, "pure"
    if settings.delta not in (0, type(settings)().delta):
        raise InvalidInputError(
            f"{settings.algo} is pure: delta is 0, whatever --delta (delta=) says. Leave it away."
        )
    return worst, 0.0, "pure"


def _as_charged(accountants: tuple[str, ...]) -> str:
    known = " and ".join(accountants)
    return f"; under {known} each of its releases is charged as it is made" if known else ""


def _has_delta(factory: Any) -> bool:
    return "delta" in optimizer_facts(factory).targets


def _takers(option: str, registry: Registry) -> str:
    """Return which algorithms take an option, as the end of a sentence."""
    names = []
    for name in registry.names("optimizer"):
        try:
            factory = registry.load("optimizer", name)
        except RegistryError:
            continue
        if option in optimizer_facts(factory).targets:
            names.append(name)
    return f"; these do: {', '.join(names)}" if names else "; no installed algorithm does"

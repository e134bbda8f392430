"""The table behind ``dpcore account``: each accountant's figures for one budget."""

import math
from typing import Any

from dpcore.accountants.additive import validated_delta, validated_epsilon
from dpcore.accountants.calibrate import noise_multiplier
from dpcore.accountants.registered import distribution_of, registered_accountants
from dpcore.accountants.schedule import Schedule, planned_accountant, schedule_noise_multiplier
from dpcore.errors import InvalidInputError
from dpcore.fitting.request.settings import FIGURES, Settings, checked_settings, figure_of
from dpcore.privacy.events import DpEvent, GaussianDpEvent, PoissonSampledDpEvent
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.registry.catalogue import load_registry
from dpcore.registry.tables.declarations import accountant_facts

__all__ = ["describe_budget", "describe_schedule", "epsilon_of"]


def describe_budget(epsilon: float, delta: float) -> list[dict[str, Any]]:
    """Return one dict per accountant and conversion that can hold (epsilon, delta).

    Keys: ``accountant``, ``distribution`` (that has it), ``conversion``, ``unit``, ``budget`` (in
    that unit, rounded down), ``order`` (of the rdp accountant, else ``None``) and
    ``noise_multiplier``: the smallest, rounded up, of one Gaussian release that takes the whole
    budget (under gdp the analytic Gaussian of Balle & Wang 2018), ``None`` where no Gaussian
    release fits.

    Raises
    ------
    InvalidInputError : epsilon not finite and > 0, delta not in [0, 1).
    """
    validated_epsilon(epsilon)
    positive_delta = validated_delta(delta, zero_allowed=True) > 0
    return [
        _row(accountant_class, conversion, epsilon, delta)
        for accountant_class in registered_accountants()
        if accountant_class.fully_adaptive
        if positive_delta or accountant_facts(accountant_class).delta_may_be_zero
        for conversion in accountant_facts(accountant_class).conversions or (None,)
    ]


def epsilon_of(
    epsilon: float | None, delta: float, rho: float | None, mu: float | None
) -> tuple[float, dict[str, float]]:
    """Return the epsilon of a budget, and the figure that it follows from, if any, by its name.

    Raises InvalidInputError for more than one of them, and for figures out of range.
    """
    asked = checked_settings(Settings(epsilon=epsilon, delta=delta, rho=rho, mu=mu))
    figure = figure_of(asked)
    if figure is None:
        return 1.0 if epsilon is None else epsilon, {}
    name, value = figure
    filter_class = load_registry("accountant").load("accountant", FIGURES[name])
    return filter_class.of_figure(value, delta).epsilon, {name: value}


def describe_schedule(
    epsilon: float,
    delta: float,
    rounds: int,
    probability: float,
    relation: NeighboringRelation,
) -> list[dict[str, Any]]:
    """Return one dict per accountant that can hold so many Gaussian releases, each over a Poisson
    sample at that rate (1: over all rows), the least noise first.

    Keys: ``accountant``, ``distribution``, ``conversion``, ``order`` (of the rdp accountant,
    planned for the schedule, else ``None``), ``noise_multiplier`` of each release, rounded up,
    and ``reason``: ``None``, or why this accountant has no noise multiplier and no order for
    this budget. Those rows stand last.

    Raises
    ------
    InvalidInputError : a budget, number or rate out of range.
    """
    validated_epsilon(epsilon)
    if validated_delta(delta, zero_allowed=True) == 0:
        raise InvalidInputError(
            "Expected delta=0 > 0: these are Gaussian releases, which no pure epsilon bounds. Give "
            "--delta, such as 1e-8."
        )
    if rounds < 1:
        raise InvalidInputError(f"Expected rounds={rounds!r} >= 1.")

    def schedule(multiplier: float) -> dict[DpEvent, int]:
        inner = GaussianDpEvent(multiplier)
        sampled = PoissonSampledDpEvent(probability, inner, relation)
        return {inner if probability == 1 else sampled: rounds}

    (event,) = schedule(1.0)
    rows = [
        _schedule_row(accountant_class, epsilon, delta, schedule)
        for accountant_class in registered_accountants()
        if accountant_class.supports(event)
    ]
    return sorted(rows, key=lambda row: row["noise_multiplier"] or math.inf)


def _schedule_row(
    accountant_class: Any, epsilon: float, delta: float, schedule: Schedule
) -> dict[str, Any]:
    row = {
        "accountant": accountant_class.name,
        "distribution": distribution_of(accountant_class.name),
        "conversion": next(iter(accountant_facts(accountant_class).conversions), None),
        "order": None,
        "noise_multiplier": None,
        "reason": None,
    }
    try:
        accountant = planned_accountant(accountant_class, epsilon, delta, None, schedule)
        row["noise_multiplier"] = schedule_noise_multiplier(accountant, schedule)
    except InvalidInputError as error:
        return {**row, "reason": str(error)}
    row["order"] = _order_of(accountant)
    return row


def _order_of(accountant: Any) -> float | None:
    order = getattr(accountant, "order", None)
    return None if order is None else float(order)


def _row(
    accountant_class: Any, conversion: str | None, epsilon: float, delta: float
) -> dict[str, Any]:
    accountant = accountant_class.from_budget(epsilon, delta, conversion)
    holds_gaussian = accountant.budget > 0 and accountant.supports(GaussianDpEvent(1.0))
    return {
        "accountant": accountant.name,
        "distribution": distribution_of(accountant.name),
        "conversion": conversion,
        "unit": accountant.unit,
        "budget": accountant.budget,
        "order": _order_of(accountant),
        "noise_multiplier": (
            noise_multiplier(accountant, GaussianDpEvent, accountant.budget)
            if holds_gaussian
            else None
        ),
    }

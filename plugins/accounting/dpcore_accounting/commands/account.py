"""``dpcore account``: what a budget buys under each accountant."""

import math
from typing import Annotated, Any

from dpcore.plugin import (
    FixedSchedule,
    InvalidInputError,
    NeighboringRelation,
    Settings,
    noise_multiplier,
)
from dpcore.plugin.commands import Option, print_json, print_lines
from dpcore.plugin.parts import (
    AdditiveAccountant,
    DpEvent,
    GaussianDpEvent,
    PoissonSampledDpEvent,
    Registry,
    exact,
    load_registry,
)
from dpcore_accounting.best import Schedule
from dpcore_accounting.commands.printing import print_table

__all__ = ["account_command", "describe_budget", "describe_schedule", "epsilon_of"]


def account_command(
    epsilon: Annotated[float | None, Option(help="Budget: epsilon > 0; 1 if not given.")] = None,
    delta: Annotated[float, Option(help="Budget: 0 <= delta < 1.")] = 1e-8,
    rho: Annotated[
        float | None,
        Option(help="In place of epsilon: a budget of zCDP; epsilon at --delta follows."),
    ] = None,
    mu: Annotated[
        float | None,
        Option(help="In place of epsilon: a budget of Gaussian DP; epsilon at --delta follows."),
    ] = None,
    rounds: Annotated[
        int | None, Option(help="Gaussian releases that share the budget, fixed beforehand.")
    ] = None,
    probability: Annotated[
        float, Option(help="Each over a Poisson sample at this rate; 1 for all rows.")
    ] = 1.0,
    relation: Annotated[
        str, Option(help="add-or-remove-one or replace-one.")
    ] = "add-or-remove-one",
    as_json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Print what (epsilon, delta) buys under each accountant. That is the budget in its unit, such
    as rho or mu^2, and the noise multiplier of one Gaussian release that takes all of it, or with
    --rounds of each of so many releases."""
    from dpcore.plugin.parts import PrivacyStatement

    epsilon, native = epsilon_of(epsilon, delta, rho, mu)
    for name, value in native.items() if not as_json else ():
        words = f"{name}-{PrivacyStatement.NOTIONS[name]} with {name} = {exact(value)}"
        print_lines(f"{words} is ({exact(epsilon)}, {exact(delta)})-differential privacy.")
    known = NeighboringRelation.parse(relation)
    if rounds is None and probability != 1:
        raise InvalidInputError("--probability is of the releases of a schedule: give --rounds.")
    asked: dict[str, Any] = {**native, "epsilon": epsilon, "delta": delta}
    title = f"({exact(epsilon)}, {exact(delta)})-differential privacy"
    heads: tuple[str, ...] = "budget", "one Gaussian release"
    if rounds is None:
        rows, shown = describe_budget(epsilon, delta), _bought
        title += " buys, under each accountant"
    else:
        rows, shown = describe_schedule(epsilon, delta, rounds, probability, known), _planned
        asked |= {"rounds": rounds, "probability": probability, "neighboring_relation": relation}
        at_rate = f"{rounds} Gaussian releases at a rate of {exact(probability)}"
        title, heads = f"{title}, {at_rate}, {relation}", ("noise multiplier of each",)
    if as_json:
        print_json({**asked, "accountants": rows})
        return
    cells = [(_name(row), row["conversion"] or "-", *shown(row)) for row in rows]
    print_table(title, ("accountant", "conversion", *heads), cells)
    print_lines(*(f"{row['accountant']}: {row['reason']}" for row in rows if row.get("reason")))


def _bought(row: dict[str, Any]) -> tuple[str, ...]:
    budget, multiplier = f"{row['budget']:.6g} {row['unit']}", row["noise_multiplier"]
    if row["order"] is not None:
        budget = budget.replace("at one order", f"at order {row['order']:.4g}")
    return budget, "none fits" if multiplier is None else f"noise multiplier {multiplier:.6g}"


def _planned(row: dict[str, Any]) -> tuple[str, ...]:
    return ("-" if row["reason"] else f"{row['noise_multiplier']:.6g}",)


def _name(row: dict[str, Any]) -> str:
    """Return an accountant's name, and whose it is if it is not of this repository."""
    from dpcore.plugin.parts import PrivacyStatement

    name, distribution = row["accountant"], row["distribution"]
    return name if distribution in PrivacyStatement.DISTRIBUTIONS else f"{name} (of {distribution})"


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
    AdditiveAccountant.validated_epsilon(epsilon)
    positive_delta = AdditiveAccountant.validated_delta(delta, zero_allowed=True) > 0
    return [
        _row(accountant_class, conversion, epsilon, delta)
        for accountant_class in AdditiveAccountant.registered()
        if accountant_class.fully_adaptive
        if positive_delta or Registry.facts_of("accountant", accountant_class).delta_may_be_zero
        for conversion in Registry.facts_of("accountant", accountant_class).conversions or (None,)
    ]


def epsilon_of(
    epsilon: float | None, delta: float, rho: float | None, mu: float | None
) -> tuple[float, dict[str, float]]:
    """Return the epsilon of a budget, and the native budget that it follows from, if any, by its
    name.

    Raises InvalidInputError for more than one of them, and for values out of range.
    """
    asked = Settings(epsilon=epsilon, delta=delta, rho=rho, mu=mu).checked()
    native = asked.native_budget()
    if native is None:
        return 1.0 if epsilon is None else epsilon, {}
    name, value = native
    filter_class = load_registry("accountant").load("accountant", Settings.NATIVE_BUDGETS[name])
    return filter_class.of_native_budget(value, delta).epsilon, {name: value}


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
    AdditiveAccountant.validated_epsilon(epsilon)
    if AdditiveAccountant.validated_delta(delta, zero_allowed=True) == 0:
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
        for accountant_class in AdditiveAccountant.registered()
        if accountant_class.supports(event)
    ]
    return sorted(rows, key=lambda row: row["noise_multiplier"] or math.inf)


def _schedule_row(
    accountant_class: Any, epsilon: float, delta: float, schedule: Schedule
) -> dict[str, Any]:
    facts = Registry.facts_of("accountant", accountant_class)
    row = {
        **_of(accountant_class, next(iter(facts.conversions), None)),
        "order": None,
        "noise_multiplier": None,
        "reason": None,
    }
    try:
        accountant = FixedSchedule.planned_accountant(
            accountant_class, epsilon, delta, None, schedule
        )
        row["noise_multiplier"] = FixedSchedule.noise_multiplier(accountant, schedule)
    except InvalidInputError as error:
        return {**row, "reason": str(error)}
    return {**row, "order": _order_of(accountant)}


def _of(accountant: Any, conversion: str | None) -> dict[str, Any]:
    name = accountant.name
    return {"accountant": name, "distribution": distribution_of(name), "conversion": conversion}


def distribution_of(name: str) -> str:
    """Return the distribution that has an accountant, and answers for its values."""
    return load_registry("accountant").get("accountant", name).distribution


def _order_of(accountant: Any) -> float | None:
    order = getattr(accountant, "order", None)
    return None if order is None else float(order)


def _row(
    accountant_class: Any, conversion: str | None, epsilon: float, delta: float
) -> dict[str, Any]:
    accountant = accountant_class.from_budget(epsilon, delta, conversion)
    holds_gaussian = accountant.budget > 0 and accountant.supports(GaussianDpEvent(1.0))
    return {
        **_of(accountant, conversion),
        "unit": accountant.unit,
        "budget": accountant.budget,
        "order": _order_of(accountant),
        "noise_multiplier": (
            noise_multiplier(accountant, GaussianDpEvent, accountant.budget)
            if holds_gaussian
            else None
        ),
    }

"""``dpcore account``: what a budget buys under each accountant."""

from __future__ import annotations

from typing import Annotated, Any

from dpcore.cli.terminal.printing import print_json, print_lines
from dpcore.cli.terminal.tables import print_table
from dpcore.exact.rounding import exact
from dpcore.registry.commands import Option

__all__ = ["account_command"]


def account_command(
    epsilon: Annotated[float | None, Option(help="Budget: epsilon > 0; 1 if not given.")] = None,
    delta: Annotated[float, Option(help="Budget: 0 <= delta < 1.")] = 1e-8,
    rho: Annotated[
        float | None,
        Option(help="In place of epsilon: a budget of zCDP; epsilon at --delta follows."),
    ] = None,
    mu: Annotated[
        float | None, Option(help="In place of epsilon: a budget of Gaussian DP, likewise.")
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
    """Print what (epsilon, delta) buys: the budget in each accountant's unit (rho, mu^2), and the
    noise multiplier of one Gaussian release that takes all of it; with --rounds, of each of so many
    releases."""
    from dpcore.cli.budgets import describe_budget, epsilon_of
    from dpcore.errors import InvalidInputError
    from dpcore.privacy.relations import parse_relation
    from dpcore.privacy.statement import NOTIONS

    epsilon, figure = epsilon_of(epsilon, delta, rho, mu)
    for name, value in figure.items() if not as_json else ():
        words = f"{name}-{NOTIONS[name]} with {name} = {exact(value)}"
        print_lines(f"{words} is ({exact(epsilon)}, {exact(delta)})-differential privacy.")
    asked = {**figure, "epsilon": epsilon, "delta": delta}
    if rounds is not None:
        return _print_schedule(asked, rounds, probability, relation, as_json)
    parse_relation(relation)
    if probability != 1:
        raise InvalidInputError("--probability is of the releases of a schedule: give --rounds.")
    rows = describe_budget(epsilon, delta)
    if as_json:
        print_json({**asked, "accountants": rows})
        return
    cells = []
    for row in rows:
        budget = f"{row['budget']:.6g} {row['unit']}"
        if row["order"] is not None:
            budget = budget.replace("at one order", f"at order {row['order']:.4g}")
        multiplier = row["noise_multiplier"]
        noise = "none fits" if multiplier is None else f"noise multiplier {multiplier:.6g}"
        cells.append((_name(row), row["conversion"] or "-", budget, noise))
    title = f"({exact(epsilon)}, {exact(delta)})-differential privacy buys, under each accountant"
    print_table(title, ("accountant", "conversion", "budget", "one Gaussian release"), cells)


def _print_schedule(
    budget: dict[str, float], rounds: int, probability: float, relation: str, as_json: bool
) -> None:
    epsilon, delta = budget["epsilon"], budget["delta"]
    from dpcore.cli.budgets import describe_schedule
    from dpcore.privacy.relations import parse_relation

    rows = describe_schedule(epsilon, delta, rounds, probability, parse_relation(relation))
    if as_json:
        asked = {**budget, "rounds": rounds, "probability": probability}
        text = {**asked, "neighboring_relation": relation, "accountants": rows}
        return print_json(text)
    title = (
        f"({exact(epsilon)}, {exact(delta)})-differential privacy, {rounds} Gaussian releases at a "
        f"rate of {exact(probability)}, {relation}"
    )
    cells = [
        (
            _name(row),
            row["conversion"] or "-",
            "-" if row["reason"] else f"{row['noise_multiplier']:.6g}",
        )
        for row in rows
    ]
    print_table(title, ("accountant", "conversion", "noise multiplier of each"), cells)
    for row in rows:
        if row["reason"]:
            print_lines(f"{row['accountant']}: {row['reason']}")


def _name(row: dict[str, Any]) -> str:
    """Return an accountant's name, and whose it is if it is not of this repository."""
    from dpcore.privacy.first_party import DISTRIBUTIONS

    name, distribution = row["accountant"], row["distribution"]
    return name if distribution in DISTRIBUTIONS else f"{name} (of {distribution})"

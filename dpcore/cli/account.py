"""``dpcore account``: what a budget buys under each accountant."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from dpcore.cli.tables import print_table

__all__ = ["account_command"]


def account_command(
    epsilon: Annotated[float, typer.Option(help="Budget: epsilon > 0.")] = 1.0,
    delta: Annotated[float, typer.Option(help="Budget: 0 <= delta < 1.")] = 1e-8,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Print what (epsilon, delta) buys: the budget in each accountant's unit (rho, mu^2), and the
    noise multiplier of one Gaussian release that takes all of it."""
    from dpcore.budget import describe_budget

    rows = describe_budget(epsilon, delta)
    if as_json:
        typer.echo(json.dumps({"epsilon": epsilon, "delta": delta, "accountants": rows}, indent=2))
        return
    cells = []
    for row in rows:
        budget = f"{row['budget']:.6g} {row['unit']}"
        if row["order"] is not None:
            budget = budget.replace("at one order", f"at order {row['order']:.4g}")
        multiplier = row["noise_multiplier"]
        noise = "none fits" if multiplier is None else f"noise multiplier {multiplier:.6g}"
        cells.append((row["accountant"], row["conversion"], budget, noise))
    title = f"({epsilon:g}, {delta:g})-differential privacy buys, under each accountant"
    print_table(title, ("accountant", "conversion", "budget", "one Gaussian release"), cells)

"""``dpcore acme-sweep``: what runs many fits, by the public plan and run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from dpcore.plugin import InvalidInputError, Settings
from dpcore.plugin.commands import (
    Argument,
    DataRequest,
    LedgerRequest,
    Option,
    Run,
    make_plan,
    print_json,
    print_lines,
)

__all__ = ["sweep"]


def sweep(
    data: Annotated[str, Argument(help="A data set's name, or a file of rows.")],
    schema: Annotated[Path | None, Option(help="The file's schema (TOML).")] = None,
    algo: Annotated[str, Option(help="The algorithm of all fits.")] = "dp-gd",
    epsilons: Annotated[str, Option(help="Budgets, by commas.")] = "0.1,0.2,0.5,1,2",
    ledger: Annotated[
        str | None, Option(help="Charge every fit to this ledger.", group="Charges")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Fit a model at each epsilon, and tabulate what it spent and how large its coefficients are.

    Every fit is a release of its own: together they cost the sum, which the last line says.
    """
    try:
        budgets = [float(word) for word in epsilons.split(",")]
    except ValueError:
        raise InvalidInputError(
            f"Expected --epsilons {epsilons!r} as numbers, by commas."
        ) from None
    plans = [make_plan(Settings(algo=algo, epsilon=epsilon)) for epsilon in budgets]
    rows, of_table = [], LedgerRequest(ledger)
    for plan in plans:  # All of them were checked before the first is charged.
        model = Run.train(plan, DataRequest(data, schema), table_ledger=of_table).model
        told = {key: model.privacy[key] for key in ("epsilon", "spent", "budget")}
        rows.append({**told, "largest": float(abs(model.w).max())})
    if as_json:
        print_json({"fits": rows})
        return
    print_lines("epsilon  spent of budget  largest coefficient")
    for row in rows:
        share = row["spent"] / row["budget"]
        print_lines(f"{row['epsilon']:<9g}{share:<17.3f}{row['largest']:.4g}")
    print_lines(f"Together these fits cost epsilon {sum(budgets):g} at most.")

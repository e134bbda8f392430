"""``dpcore summary``: a model's coefficients, in the units of its columns."""

from __future__ import annotations

from typing import Annotated

from dpcore.plugin.commands import Argument, Option, print_json, print_lines
from dpcore_accounting.commands.printing import print_table

__all__ = ["summary_command"]


def summary_command(
    model: Annotated[str, Argument(help="A model file.")],
    as_json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Print a model's coefficients in the units of its columns.

    Each is also per standard deviation of its column's public range, to compare columns.
    """
    from dpcore import load_model

    fitted = load_model(model)
    summary = fitted.summary()
    if as_json:
        print_json(summary.to_dict())
        return
    print_table(f"{model}: {fitted.fitted_in_words()}", *summary.cells())
    if summary.curves:
        print_table("Curves: what a column adds at each knot", *summary.curve_cells())
    print_lines(*summary.notes)

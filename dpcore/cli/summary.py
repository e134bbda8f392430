"""A comparison's means in the terminal, and as Markdown."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import typer

from dpcore.cli.tables import print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore.compare.results import Results
    from dpcore.compare.table import Mean

__all__ = ["print_summary"]


def print_summary(results: Results, means: Sequence[Mean], measure: str, *, markdown: bool) -> None:
    """Print a table for each data set, why fits failed, and what the figures are and are not."""
    from dpcore.compare.settings import STATEMENT
    from dpcore.compare.table import INTERVAL, MEASURES, tables_of

    settings = results.settings
    asked = (
        f"delta {settings['delta']:g}, {settings['relation']}, {settings['loss']}, "
        f"{settings['folds']} folds, {settings['repeats']} repeats"
    )
    for data, heads, rows in tables_of(means):
        title = f"{data}: {MEASURES[measure]}, {asked}"
        if markdown:
            typer.echo(f"{title}\n\n{_line(heads)}\n{_line(['---'] * len(heads))}")
            typer.echo("".join(f"{_line(row)}\n" for row in rows))
        else:
            print_table(title, heads, rows)
    failed = [row for row in results.rows if row["status"] == "failed"]
    reasons = Counter((row["algorithm"], row["message"]) for row in failed)
    for (algorithm, message), count in reasons.items():
        typer.echo(f"Failed: {algorithm}, {count} fits: {message}")
    typer.echo(f"Figures: {INTERVAL}.\n{STATEMENT}")
    if settings["seed"] is not None:
        typer.echo("The noise came from a seed: no fit is private.")


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"

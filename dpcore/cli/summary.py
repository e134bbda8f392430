"""A comparison's means in the terminal, and as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from dpcore.cli.tables import print_table
from dpcore.exact.rounding import exact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore.compare.results import Results
    from dpcore.compare.table import Mean

__all__ = ["print_summary"]


def print_summary(results: Results, means: Sequence[Mean], measure: str, *, markdown: bool) -> None:
    """Print a table for each data set, what is to be known of its fits, and what the figures are
    and are not."""
    from dpcore.compare.notes import notes_of
    from dpcore.compare.settings import STATEMENT, loss_in_words
    from dpcore.compare.table import INTERVAL, MEASURES, tables_of

    settings = results.settings
    repeats = settings["repeats"]
    asked = (
        f"delta {exact(settings['delta'])}, {settings['relation']}, {loss_in_words(settings)}, "
        f"{settings['folds']} folds, {repeats} repeat{'s' * (repeats > 1)}"
    )
    for data, heads, rows in tables_of(means):
        title = f"{data}: {MEASURES[measure]}, {asked}"
        if markdown:
            typer.echo(f"{title}\n\n{_line(heads)}\n{_line(['---'] * len(heads))}")
            typer.echo("".join(f"{_line(row)}\n" for row in rows))
        else:
            print_table(title, heads, rows)
    for note in notes_of(results.rows, means):
        typer.echo(note)
    typer.echo(f"Figures: {INTERVAL}.\n{STATEMENT}")
    if settings["seed"] is not None:
        typer.echo("The noise came from a seed: no fit is private.")


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"

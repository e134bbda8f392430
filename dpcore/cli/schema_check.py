"""``dpcore schema --check``: how a schema fits the rows of a file, in the terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import typer

from dpcore.cli.tables import print_table

if TYPE_CHECKING:
    from dpcore.data.schema.check import SchemaCheck

__all__ = ["print_check"]

_NOT_PRIVATE = (
    "These shares are exact: not private; bounds or categories changed after reading this come "
    "from the data (`from_data = true` in the schema marks the model)."
)
_LEGEND = (
    "below, above: clamped to the bounds (of the features of a row: scaled down to row_norm); in "
    "none: in no category or class, or no number; empty: no value. train refuses a row without a "
    "label, or a number that has no fill and no indicator, and --bad-rows drop leaves it out."
)
_BOUNDED = ("numeric", "numeric label", "date")
"""The kinds whose cells are held against bounds."""


def print_check(check: SchemaCheck, file: str) -> None:
    """Print a row of shares for each column, and what may be done with them."""
    from dpcore.data.readers.raw_cells import BINS

    about = "about " if check.sentence else ""
    title = f"{file}: {about}{max(0, round(check.rows)):,} rows; share of the cells of a column"
    rows = [
        [name, kind, *([*map(_share, shares)] if kind in _BOUNDED else _of_words(shares))]
        for (name, kind), shares in zip(check.columns, check.shares.tolist(), strict=True)
    ]
    print_table(title, ["column", "kind", *BINS], rows)
    typer.echo(_LEGEND)
    if check.sentence is None:
        typer.echo(_NOT_PRIVATE)
        return
    points = _share(check.deviation / max(1.0, check.rows))
    typer.echo(
        f"Each number of cells, and that of rows, has noise of standard deviation "
        f"{check.deviation:.4g}: {points} of the cells of a column.\n"
        f"Privacy: {check.sentence} Every other release of these rows adds to it."
    )


def _of_words(shares: list[float]) -> list[str]:
    """Return the shares of cells that are compared with no bound."""
    return ["", "", *map(_share, shares[2:])]


def _share(share: float) -> str:
    if math.isnan(share):
        return "-"
    return "<0.01%" if 0 < share < 5e-5 else f"{share:.2%}"

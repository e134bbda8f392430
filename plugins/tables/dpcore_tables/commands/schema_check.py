"""``dpcore schema --check``: how a schema fits the rows of a file, in the terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcore.plugin.commands import print_lines
from dpcore_accounting.commands.printing import print_table

if TYPE_CHECKING:
    from dpcore_tables.statistics.schema_check import SchemaCheck
    from dpcore_tables.statistics.unit_check import UnitCheck

__all__ = ["print_check"]

_NOT_PRIVATE = (
    "These shares are exact: not private; bounds, categories or rows_per_unit changed after "
    "reading this come from the data (`from_data = true` in the schema marks the model)."
)
_LEGEND = (
    "below, above: clamped to the bounds (of the features of a row: scaled down to row_norm); in "
    "none: in no category, level or class, or no number, date or truth value; empty: no value. A "
    "category in none has zeros in all features of its column. What else is in none, or is empty "
    "without fill = VALUE or indicator = true, and a row without a label, is refused by train; "
    "--bad-rows drop leaves it out."
)
_WORDS = (
    "Which words are in none is not shown; the owner of the rows finds them by listing the values "
    "of the column, as pandas does: frame[NAME].value_counts(dropna=False)."
)
_BOUNDED = ("numeric", "numeric label", "date")
"""The kinds whose cells are held against bounds."""


def print_check(check: SchemaCheck, file: str) -> None:
    """Print a row of shares for each column, and what may be done with them."""
    from dpcore_tables.statistics.raw_cells import BINS

    about = "about " if check.sentence else ""
    title = f"{file}: {about}{max(0, round(check.rows)):,} rows; share of the cells of a column"
    rows = [
        [name, kind, *([*map(_share, shares)] if kind in _BOUNDED else _of_words(shares))]
        for (name, kind), shares in zip(check.columns, check.shares.tolist(), strict=True)
    ]
    print_table(title, ["column", "kind", *BINS], rows)
    print_lines(_LEGEND)
    if check.sentence is None:
        if check.counts[:, BINS.index("in none")].any():
            print_lines(_WORDS)
        if check.units is not None:
            print_lines(*_of_units(check.units))
        print_lines(_NOT_PRIVATE)
        return
    points = _share(check.deviation / max(1.0, check.rows))
    print_lines(
        f"Each number of cells, and that of rows, has noise of standard deviation "
        f"{check.deviation:.4g}: {points} of the cells of a column.",
        f"Privacy: {check.sentence} Every other release of these rows adds to it.",
    )


def _of_units(check: UnitCheck) -> list[str]:
    """Return how many rows units have, and what each choice of rows_per_unit leaves out."""
    units, rows = check.units, max(1, check.n_rows)
    fate = "each a unit by itself" if units.missing == "row" else "malformed rows"
    shares = [
        f"{k}{' (as it is)' if k == units.rows_per_unit else ''}: {_share(check.dropped(k))}"
        for k in check.choices
    ]
    return [
        f"Units by {units.column!r}: {check.sizes.size:,} in {check.n_rows:,} rows; without an id "
        f"{_share(check.n_empty / rows)} of the rows, {fate}; cells that can be no id "
        f"{_share(check.n_no_id / rows)}, malformed rows.",
        f"Rows with an id that rows_per_unit = k leaves out, by k: {', '.join(shares)}. A larger k "
        "keeps more rows; noise grows in proportion to k.",
    ]


def _of_words(shares: list[float]) -> list[str]:
    """Return the shares of cells that are compared with no bound."""
    return ["", "", *map(_share, shares[2:])]


def _share(share: float) -> str:
    if math.isnan(share):
        return "-"
    return "<0.01%" if 0 < share < 5e-5 else f"{share:.2%}"

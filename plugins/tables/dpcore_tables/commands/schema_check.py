"""``dpcore schema --check``: how a schema fits the rows of a file, in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.plugin.commands import print_lines
from dpcore_accounting.commands.printing import print_table
from dpcore_tables.statistics.check_text import notes_of, shares_told

if TYPE_CHECKING:
    from dpcore_tables.statistics.check_text import SchemaCheck

__all__ = ["print_check"]

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


def print_check(check: SchemaCheck, file: str) -> None:
    """Print a row of shares for each column, and what may be done with them."""
    from dpcore_tables.statistics.raw_cells import BINS

    about = "about " if check.sentence else ""
    title = f"{file}: {about}{max(0, round(check.rows)):,} rows; share of the cells of a column"
    rows = [[name, kind, *cells] for (name, kind), cells in shares_told(check)]
    print_table(title, ["column", "kind", *BINS], rows)
    print_lines(_LEGEND)
    if check.sentence is None and check.counts[:, BINS.index("in none")].any():
        print_lines(_WORDS)
    print_lines(*notes_of(check))

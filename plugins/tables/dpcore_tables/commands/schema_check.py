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
    "below, above: the value is outside the bounds and is clamped to the nearest. Of the features "
    "of a row, above: the row is longer than row_norm and is scaled down. unknown: the value is "
    "none of the categories, levels or classes of the schema, or cannot be read as a number, date "
    "or truth value. empty: there is no value.",
    "An unknown or empty category has zeros in all features of its column. train refuses every "
    "other unknown value, every other empty cell of a column without fill = VALUE or indicator = "
    "true, and a row without a label; --bad-rows drop leaves such rows out.",
)
_WORDS = (
    "The unknown values themselves are not shown. The owner of the rows finds them by listing the "
    "values of the column, with pandas by frame[NAME].value_counts(dropna=False)."
)


def print_check(check: SchemaCheck, file: str) -> None:
    """Print a row of shares for each column, and what may be done with them."""
    from dpcore_tables.statistics.raw_cells import BINS

    about = "about " if check.sentence else ""
    title = f"{file}: {about}{max(0, round(check.rows)):,} rows; share of the cells of a column"
    rows = [[name, kind, *cells] for (name, kind), cells in shares_told(check)]
    print_table(title, ["column", "kind", *BINS], rows)
    print_lines(*_LEGEND)
    if check.sentence is None and check.counts[:, BINS.index("unknown")].any():
        print_lines(_WORDS)
    print_lines(*notes_of(check))

"""Dates, truth values and hashed texts as plain numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.plugin.columns import transforms
from dpcore_tables.cells.boolean_hashed_cells import to_buckets, to_parsed, to_truth
from dpcore_tables.cells.dates import to_days

if TYPE_CHECKING:
    import numpy as np

    from dpcore.plugin.columns import ColumnPlan
    from dpcore_tables.cells.typed import Cells

__all__ = ["numbers_of"]

_NO_TRUTH = (
    "the cell is no truth value, such as true, yes or 1 (other words are categories or levels)"
)
_FORMAT = 'format = "%d.%m.%Y", or the like, in the column\'s schema says how dates are written'
_TO_SCORE = "(of a file that a model is to score: dpcore predict --date-format)"


def numbers_of(cells: Cells, plan: ColumnPlan) -> tuple[np.ndarray, str]:
    """Return the cells as numbers, and what is wrong with a cell without a number."""
    reading, notation = plan.reading, plan.notation
    if isinstance(reading, transforms.Truth):
        return to_truth(cells, notation), _NO_TRUTH
    if isinstance(reading, transforms.Hash):
        return to_buckets(cells, reading, notation), transforms.Number.FAULT
    if isinstance(reading, transforms.Parsed):
        found = to_parsed(cells, reading, plan.column.kind, notation)
        return found, f"the cell is no {reading.wanted}"
    assert isinstance(reading, transforms.Day)
    form = reading.format
    said = f"{form}, the column's format in the schema"
    written = f"2024-02-29; {_FORMAT}" if form is None else said
    days = to_days(cells, plan.name, form, notation)
    return days, f"the cell is no date that is written as {written} {_TO_SCORE}"

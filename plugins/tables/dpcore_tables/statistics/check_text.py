"""The fit of a schema to rows, and its words: shares of a column's cells, and what may be done with
them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore_tables.statistics.raw_cells import BINS

if TYPE_CHECKING:
    from dpcore_tables.statistics.unit_check import UnitCheck

__all__ = ["SchemaCheck", "notes_of", "share_told", "shares_told"]

_NOT_PRIVATE = (
    "These shares are exact, not private. If you change bounds, categories or another key of the "
    "schema after reading them, set `from_data = true` in it, which marks models as not private."
)
_BOUNDED = ("numeric", "numeric label", "date")
"""The kinds whose cells are held against bounds."""


@dataclass(frozen=True)
class SchemaCheck:
    """How many rows and cells, exact or noisy.

    Parameters
    ----------
    rows : the number of rows.
    columns : name and kind of each.
    counts : float64 of shape (n_columns, 4), by ``BINS``.
    deviation : the standard deviation of the noise on each of these; 0 if they are exact.
    sentence : the privacy statement, ``None`` if they are exact.
    units : whose rows are whose, exact, where the schema has units.
    turned : names of columns whose fractions look like whole numbers with a point between
        thousands, and how many cells are such fractions; exact, and empty beside a ``sentence``.
    """

    rows: float
    columns: tuple[tuple[str, str], ...]
    counts: np.ndarray
    deviation: float = 0.0
    sentence: str | None = None
    units: UnitCheck | None = None
    turned: tuple[tuple[str, int], ...] = ()

    @property
    def shares(self) -> np.ndarray:
        """The counts over the number of rows, within [0, 1]; NaN where there is no row."""
        rows = self.rows if self.rows >= 1 else math.nan
        return np.clip(self.counts / rows, 0.0, 1.0)

    def __str__(self) -> str:
        """The table of ``dpcore schema --check``, as text."""
        heads = ["column", "kind", *BINS]
        rows = [heads, *([name, kind, *cells] for (name, kind), cells in shares_told(self))]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
        return "\n".join([*table, *notes_of(self)])


def shares_told(check: SchemaCheck) -> Iterator[tuple[tuple[str, str], list[str]]]:
    """Yield name and kind of each column, and its shares, those of bounds empty where it has
    none."""
    for (name, kind), shares in zip(check.columns, check.shares.tolist(), strict=True):
        cells = [*map(share_told, shares)]
        yield (name, kind), cells if kind in _BOUNDED else ["", "", *cells[2:]]


def notes_of(check: SchemaCheck) -> list[str]:
    """Return sentences on exact shares, or the statement on noisy ones."""
    if check.sentence is not None:
        points = share_told(check.deviation / max(1.0, check.rows))
        return [
            "The number of rows and each number of cells have noise of standard deviation "
            f"{check.deviation:.4g}, which is {points} of the cells of a column.",
            f"Privacy: {check.sentence} Every other release of these rows adds to it.",
        ]
    units = [] if check.units is None else _of_units(check.units)
    return [*_of_turned(check), *units, _NOT_PRIVATE]


def share_told(share: float) -> str:
    """Return a share in per cent."""
    if math.isnan(share):
        return "-"
    return "<0.01%" if 0 < share < 5e-5 else f"{share:.2%}"


def _of_turned(check: SchemaCheck) -> Iterator[str]:
    for name, n in check.turned:
        yield (
            f"{name!r} has fractions of three decimals at most, below 1,000, which would lie "
            f"within the bounds as whole numbers ({share_told(n / max(1.0, check.rows))} of its "
            'cells): another program may have read a point between thousands ("38.767" for '
            '38767) as a decimal one. Read the file as text, with thousands = "." in the schema.'
        )


def _of_units(check: UnitCheck) -> list[str]:
    """Return how many rows units have, and what each choice of rows_per_unit leaves out."""
    units, rows = check.units, max(1, check.n_rows)
    fate = "each a unit by itself" if units.missing == "row" else "malformed rows"
    shares = [
        f"{k}{' (as it is)' if k == units.rows_per_unit else ''}: {share_told(check.dropped(k))}"
        for k in check.choices
    ]
    return [
        f"Units by {units.column!r}: {check.sizes.size:,} in {check.n_rows:,} rows; without an id "
        f"{share_told(check.n_empty / rows)} of the rows, {fate}; cells that can be no id "
        f"{share_told(check.n_no_id / rows)}, malformed rows.",
        f"Rows with an id that are left out, by rows_per_unit: {', '.join(shares)}. A larger one "
        "keeps more rows; noise grows in proportion to it.",
    ]

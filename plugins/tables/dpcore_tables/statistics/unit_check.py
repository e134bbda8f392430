"""The units of a file, and the rows that a rows_per_unit keeps: exact, for their owner's eyes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin.readers import UnitIds
from dpcore_tables.cells.cell_values import unread_told
from dpcore_tables.cells.ids import ids_of
from dpcore_tables.raw.raw_table import RawTable
from dpcore_tables.statistics.raw_cells import raw_pieces

if TYPE_CHECKING:
    from dpcore import Schema
    from dpcore.plugin.parts import Units

__all__ = ["UnitCheck", "check_units"]

_CHOICES = (1, 2, 3, 5, 10, 20, 50, 100)


@dataclass(frozen=True)
class UnitCheck:
    """The units of a file as they are, exact.

    Parameters
    ----------
    units : the schema's.
    sizes : int64, the number of rows of each id.
    n_empty, n_no_id : rows without an id, and rows whose cell can be none.
    """

    units: Units
    sizes: np.ndarray
    n_empty: int
    n_no_id: int

    @property
    def n_rows(self) -> int:
        """The number of rows, with an id or without."""
        return int(self.sizes.sum()) + self.n_empty + self.n_no_id

    def dropped(self, rows_per_unit: int) -> float:
        """Return the share of the rows with an id that such a ``rows_per_unit`` leaves out."""
        kept = np.minimum(self.sizes, rows_per_unit).sum()
        return 1.0 - float(kept) / max(1, int(self.sizes.sum()))

    @property
    def choices(self) -> tuple[int, ...]:
        """Numbers of rows per unit to choose from, the schema's among them, ascending."""
        largest = int(self.sizes.max(initial=1))
        fewer = {k for k in _CHOICES if k < largest}
        return tuple(sorted({*fewer, min(largest, _CHOICES[-1]), self.units.rows_per_unit}))


def check_units(source: Any, schema: Schema) -> UnitCheck | None:
    """Return the units of the rows of a file or a frame, None where the schema has none. Raises
    DataError for a file that cannot be read, or a column of another type than ids have."""
    units = schema.units
    if units is None:
        return None
    numbers, n_empty, n_no_id = UnitIds(), 0, 0
    for raw in raw_pieces(source, schema):
        assert isinstance(raw, RawTable)  # Units need named columns.
        with unread_told(raw.source, units.column):
            ids, bad = ids_of(raw.columns[units.column], schema.notation)
        known = np.fromiter((id is not None for id in ids), bool, len(ids)) & ~bad
        n_no_id += int(bad.sum())
        n_empty += int((~known & ~bad).sum())
        numbers.add(ids[known])
    return UnitCheck(units, np.bincount(numbers.units()), n_empty, n_no_id)

"""The columns of a schema as queries read them: each row's cell as one whole number.

Numbers are read through a block's contract alone, so that they serve every layout. Whatever the
features hold, a row has one number, within the stated limits: sensitivities rest on that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.data.schema.columns import Drop, Label, Numeric
from dpcore.data.targets import scale_to_unit
from dpcore.data.weighted_labels import plain_labels
from dpcore.errors import near_names
from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import FEATURE_BITS, sealed
from dpcore_tables.statistics.categorical_column import CategoricalColumn, picked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore import Schema
    from dpcore.plugin.parts import Block

__all__ = ["LARGEST_STEP", "NumericColumn", "column_of", "numeric_column"]

LARGEST_STEP = 1 << FEATURE_BITS
"""The upper bound of a numeric column, in steps from its lower bound."""


@sealed
@dataclass(frozen=True, slots=True)
class NumericColumn:
    """Numbers between public bounds, which are 0 and ``LARGEST_STEP`` steps.

    Parameters
    ----------
    feature : the place of the feature; ``None`` for a real-valued label.
    lower, upper : the public bounds.

    Examples
    --------
    >>> from dpcore_tables.statistics import NumericColumn
    >>> age = NumericColumn(feature=0, lower=0, upper=90)
    >>> age.upper
    90
    """

    feature: int | None
    lower: float
    upper: float

    def steps(self, block: Block) -> np.ndarray:
        """Return the cell of every row in whole steps, int64 of shape (n_rows,)."""
        if self.feature is None:
            return _steps_of((plain_labels(block.y) + 1.0) / 2.0)
        return _steps_of(picked(block, {self.feature: 1}))

    def public_steps(self, values: Sequence[float]) -> np.ndarray:
        """Return the steps that cells of these public values have, int64."""
        array = np.asarray(values, dtype=np.float64)
        if not (np.isfinite(array).all() and array.ndim == 1 and array.size):
            raise InvalidInputError("Expected a list of finite numbers.")
        unit = scale_to_unit(array, self.lower, self.upper)
        # A label's cells are mapped to [-1, 1] and back: equal cells have equal steps.
        return _steps_of(((2.0 * unit - 1.0) + 1.0) / 2.0 if self.feature is None else unit)

    def value_at(self, unit: np.ndarray) -> np.ndarray:
        """Return the column's own unit of values where its bounds are 0 and 1."""
        return np.asarray(self.lower + (self.upper - self.lower) * unit)


def column_of(schema: Schema, name: str) -> NumericColumn | CategoricalColumn:
    """Return the column of that name; InvalidInputError for a column that is not read."""
    columns = {column.name: column for column in schema.columns if not isinstance(column, Drop)}
    if name not in columns:
        raise InvalidInputError(
            f"The schema has no column {name!r} of public bounds or levels."
            f"{near_names(str(name), list(columns))}"
        )
    if isinstance(label := columns[name], Label):
        if not label.is_real:
            return CategoricalColumn((), label.names)
        return NumericColumn(None, float(label.lower or 0.0), float(label.upper or 0.0))
    at = 0
    for column in schema.features:
        width = sum(part.width for part in column.parts)
        if column.name == name:
            if len(column.parts) == 1 and column.parts[0].is_code:
                empty = ("",) if column.indicator else ()
                return CategoricalColumn(
                    tuple(range(at, at + width)), (*column.encoding.levels, *empty)
                )
            if isinstance(column, Numeric) and column.scale == "linear":
                return NumericColumn(at, column.lower, column.upper)
            raise InvalidInputError(
                f"No statistic takes column {name!r}: expected categories, buckets or bins, or a "
                "number between lower and upper on a linear scale."
            )
        at += width
    raise InvalidInputError(f"The schema encodes no column {name!r}.")


def numeric_column(schema: Schema, name: str) -> NumericColumn:
    """Return the numeric column of that name; InvalidInputError for one of levels, or none."""
    column = column_of(schema, name)
    if not isinstance(column, NumericColumn):
        raise InvalidInputError(f"Expected column {name!r} to be numeric, with public bounds.")
    return column


def _steps_of(unit: np.ndarray) -> np.ndarray:
    steps = np.trunc(np.ldexp(np.clip(unit, 0.0, 1.0), FEATURE_BITS))
    return np.asarray(steps.astype(np.int64))

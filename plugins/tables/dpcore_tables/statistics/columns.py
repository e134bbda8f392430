"""The columns of a schema as queries read them: each row's cell as one whole number.

Numbers are read through a block's contract alone, so that they serve every layout. Whatever the
features hold, a row has one number, within the stated limits: sensitivities rest on that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dpcore.errors import near_names, replacing
from dpcore.plugin import InvalidInputError, Problem
from dpcore.plugin.columns import Drop, Label, Numeric, transforms
from dpcore.plugin.parts import Table, sealed
from dpcore_tables.cells.features import transformed
from dpcore_tables.kinds.date_formats import EPOCH
from dpcore_tables.kinds.dates import Date
from dpcore_tables.statistics.categorical_column import CategoricalColumn, picked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore import Schema
    from dpcore.plugin.parts import Block

__all__ = ["LARGEST_STEP", "NumericColumn", "column_of", "numeric_column", "public_numbers"]

LARGEST_STEP = 1 << Problem.FEATURE_BITS
"""The upper bound of a numeric column, in steps from its lower bound."""


@sealed
@dataclass(frozen=True, slots=True)
class NumericColumn:
    """Numbers or days between public bounds, which are 0 and ``LARGEST_STEP`` steps.

    Parameters
    ----------
    feature : the place of the feature; ``None`` for a real-valued label.
    lower, upper : the public bounds; of days since 1970-01-01.
    scale : that on which the steps are even.
    unit : of the cells.

    Raises InvalidInputError for bounds that no schema has, or another word for a scale or a unit: a
    row's number would have no limits.

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
    scale: Literal["linear", "log"] = "linear"
    unit: Literal["number", "day"] = "number"

    def __post_init__(self) -> None:
        if self.scale not in ("linear", "log") or self.unit not in ("number", "day"):
            raise InvalidInputError(
                f"Expected scale={self.scale!r} to be linear or log, and unit={self.unit!r} to be "
                "number or day."
            )
        least = 0.0 if self.scale == "log" else -math.inf
        if not (least < self.lower < self.upper and math.isfinite(self.upper - self.lower)):
            raise InvalidInputError(
                f"Expected lower={self.lower!r} < upper={self.upper!r}, both finite, as their "
                "difference is, and above 0 on a log scale."
            )

    def steps(self, block: Block) -> np.ndarray:
        """Return the cell of every row in whole steps of its scale, int64 of shape (n_rows,)."""
        if self.feature is None:
            return _steps_of((Table.plain_labels(block.y) + 1.0) / 2.0)
        return _steps_of(picked(block, {self.feature: 1}))

    def linear_steps(self, block: Block) -> np.ndarray:
        """Return the cell of every row in whole steps of a linear scale between the bounds, int64
        of shape (n_rows,).

        Of a log scale each is the entry of a public table at the row's step, for the middle of what
        the step holds, so that it is a function of the cell alone; NumPy's powers need not be the
        same wherever a number is in an array.
        """
        steps = self.steps(block)
        if self.scale == "linear":
            return steps
        middles = self.value_at((np.arange(LARGEST_STEP + 1) + 0.5) / LARGEST_STEP)
        table = np.rint(
            LARGEST_STEP * transformed(transforms.Affine.between(self.lower, self.upper), middles)
        )
        table[0] = 0.0  # Cells at the lower bound and below it are there, and few others.
        return np.asarray(table.astype(np.int64)[steps])

    def public_steps(self, values: Sequence[float]) -> np.ndarray:
        """Return the steps that cells of these public values have, int64."""
        array = np.asarray(values, dtype=np.float64)
        if not (np.isfinite(array).all() and array.ndim == 1 and array.size):
            raise InvalidInputError("Expected a list of finite numbers.")
        if self.scale == "log":  # As the cells were encoded.
            array = transforms.Log.of(np.clip(array, self.lower, self.upper))
        unit = transformed(transforms.Affine.between(*self._ends), array)
        # A label's cells are mapped to [-1, 1] and back: equal cells have equal steps.
        return _steps_of(((2.0 * unit - 1.0) + 1.0) / 2.0 if self.feature is None else unit)

    def value_at(self, unit: np.ndarray) -> np.ndarray:
        """Return the column's own unit of values where its bounds are 0 and 1, on its scale."""
        low, high = self._ends
        values = low + (high - low) * unit
        if self.scale == "log":
            values = np.clip(np.exp2(values), self.lower, self.upper)
        return np.asarray(values)

    def public_values(self, name: str, values: Any) -> tuple[float, ...]:
        """Return one value or several as numbers, days since 1970-01-01; InvalidInputError, with
        ``name`` of the argument, for anything else."""
        if self.unit == "number":
            return public_numbers(name, values)
        unfit = InvalidInputError(f"Expected {name}={values!r} to be dates, as in 2024-02-29.")
        with replacing(TypeError, ValueError, OverflowError, by=lambda _: unfit):
            several: list[Any] = [values] if np.isscalar(values) else list(values)
            days = np.array([np.datetime64(value, "D") for value in several])
            if np.isnat(days).any():
                raise unfit
            return tuple(days.astype(np.int64).astype(np.float64).tolist())

    def told(self, values: np.ndarray) -> np.ndarray:
        """Return values in the column's unit as whoever asks has them: days as dates."""
        return np.rint(values).astype("datetime64[D]") if self.unit == "day" else values

    @property
    def _ends(self) -> tuple[float, float]:
        """The bounds on the column's scale."""
        if self.scale == "linear":
            return self.lower, self.upper
        low, high = transforms.Log.of(np.array([self.lower, self.upper])).tolist()
        return low, high


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
            if isinstance(column, Numeric):
                return NumericColumn(at, column.lower, column.upper, column.scale)
            if isinstance(column, Date):
                lower, upper = (end.toordinal() - EPOCH for end in (column.lower, column.upper))
                return NumericColumn(at, float(lower), float(upper), unit="day")
            raise InvalidInputError(
                f"No statistic takes column {name!r}: expected a column of categories, buckets or "
                "bins, or of numbers or dates between lower and upper."
            )
        at += width
    raise InvalidInputError(f"The schema encodes no column {name!r}.")


def numeric_column(schema: Schema, name: str) -> NumericColumn:
    """Return the numeric column of that name; InvalidInputError for one of levels, or none."""
    column = column_of(schema, name)
    if not isinstance(column, NumericColumn):
        raise InvalidInputError(f"Expected column {name!r} to be numeric, with public bounds.")
    return column


def public_numbers(name: str, values: Any) -> tuple[float, ...]:
    """Return one number or several as floats; InvalidInputError, with ``name`` of the argument, for
    anything else."""
    no_numbers = InvalidInputError(f"Expected {name}={values!r} to be numbers.")
    with replacing(TypeError, ValueError, by=lambda _: no_numbers):
        several: list[Any] = [values] if np.isscalar(values) else list(values)
        return tuple(float(value) for value in several)


def _steps_of(unit: np.ndarray) -> np.ndarray:
    steps = np.trunc(np.ldexp(np.clip(unit, 0.0, 1.0), Problem.FEATURE_BITS))
    return np.asarray(steps.astype(np.int64))

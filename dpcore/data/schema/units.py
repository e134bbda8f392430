"""The schema's keys about units of several rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dpcore.data.schema.label import Drop
from dpcore.errors import InvalidInputError
from dpcore.privacy.units import Units

if TYPE_CHECKING:
    from dpcore.data.schema.columns import Column

__all__ = ["NO_UNITS", "check_unit_column", "units_of"]

NO_UNITS: dict[str, Any] = {
    "rows_per_unit": None,
    "unit_missing": "refuse",
    "unit_in_one_file": False,
}
"""The keys beside ``unit``, as they are without it."""


def units_of(
    unit: str | None, rows_per_unit: int | None, missing: Any, in_one_file: bool
) -> Units | None:
    """Return the units that four keys mean, ``None`` for rows; InvalidInputError for keys that
    contradict each other. ``in_one_file`` : a claim that a table in one piece does not rest on."""
    if unit is None:
        if (rows_per_unit, missing, in_one_file) != (None, "refuse", False):
            raise InvalidInputError(
                "Expected unit = COLUMN beside rows_per_unit, unit_missing or unit_in_one_file."
            )
        return None
    if rows_per_unit is None:
        raise InvalidInputError(
            f"Expected rows_per_unit beside unit = {unit!r}: at most how many rows of each are "
            "used. It is public; more rows cost more noise."
        )
    return Units(unit, rows_per_unit, missing)


def check_unit_column(units: Units | None, columns: Sequence[Column], width: int | None) -> None:
    """Raise InvalidInputError for a column of ids that is used otherwise, or is not there."""
    if units is None:
        return
    if width is not None:
        raise InvalidInputError(
            f"unit = {units.column!r} needs named columns, and a schema with a width has none."
        )
    if not any(column.name == units.column and isinstance(column, Drop) for column in columns):
        raise InvalidInputError(
            f"The column {units.column!r} says whose a row is, and is no feature and no label: "
            'expected kind = "drop" for it, or no entry.'
        )

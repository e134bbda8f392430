"""Columns of numbers whose bounds nobody knows: ``"private"`` in the schema, until released."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dpcore.data.registered_loader import registered_loader
from dpcore.data.schema.label import Drop, Label
from dpcore.errors import InvalidInputError

if TYPE_CHECKING:
    from dpcore.data.schema.columns import Column
    from dpcore.data.schema.values import Entry

__all__ = ["other_number", "require_private_bounds", "waits"]


def other_number(name: str, entry: Entry, is_label: bool = False) -> Any:
    """Return the column of an entry with a private bound, bins or knots; ``None`` where it has none
    of these.

    Raises InvalidInputError, with what to install, where no package has such columns.
    """
    bounds = entry.data.get("lower"), entry.data.get("upper")
    if entry.PRIVATE not in bounds and not {"bins", "knots"} & entry.data.keys():
        return None
    what = "numbers in bins, between knots or without bounds"
    return registered_loader(what)[1].number(name, entry, is_label)


def waits(column: Column) -> bool:
    """Return whether rows hold a column's number itself until its bounds are released."""
    if isinstance(column, Label):
        return column.is_real and None in (column.lower, column.upper)
    return not isinstance(column, Drop) and any(part.in_waiting for part in column.parts)


def require_private_bounds(waiting: Sequence[Any] | None) -> None:
    """Raise InvalidInputError if no bound of a schema is to be released; not for ``None``, where
    private bounds were not asked for."""
    if waiting is not None and not waiting:
        raise InvalidInputError(
            "Private bounds are those of numeric columns without any, and the schema has none."
        )

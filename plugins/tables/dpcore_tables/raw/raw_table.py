"""Columns of cells under their names, as a reader hands them over, before any schema is applied."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcore.errors import DataError
from dpcore.plugin.columns import Drop, Label

if TYPE_CHECKING:
    from dpcore import Schema
    from dpcore_tables.cells.typed import Cells

__all__ = ["RawTable", "check_names", "refuse_repeated"]


@dataclass(frozen=True)
class RawTable:
    """Columns of ``n_rows`` cells each.

    ``where(i)`` says where row ``i`` (from 0) is in the source, as in ``"line 7"``.
    """

    columns: Mapping[str, Cells]
    n_rows: int
    source: str
    where: Callable[[int], str]


def check_names(
    names: Sequence[str],
    schema: Schema,
    source: str,
    labelled: bool = True,
    with_ids: bool | None = None,
) -> list[str]:
    """Return the names of the columns to convert, if the source's names are the schema's.

    A dropped column may be absent, and so may the label where ``labelled`` is false, and the units'
    ids where ``with_ids`` is (by default as ``labelled``): whose rows are scored does not matter.
    Raises DataError for duplicate, missing and unknown columns.
    """
    refuse_repeated(names, source)
    present = set(names)
    wanted = []
    with_ids = labelled if with_ids is None else with_ids
    for column in schema.columns:
        is_id = column.name == schema.unit and with_ids
        if isinstance(column, Drop) and not is_id or isinstance(column, Label) and not labelled:
            continue
        if column.name not in present:
            what = "label column" if isinstance(column, Label) else "column"
            what = "column of ids (unit)" if is_id else what
            raise DataError(f"{source}: no {what} {column.name!r}.{_near(column.name, names)}")
        wanted.append(column.name)
    unknown = present.difference(column.name for column in schema.columns)
    if unknown:
        name = next(name for name in names if name in unknown)
        advice = ', or add it to the schema with kind = "drop" to leave it out' if with_ids else ""
        whose = "in the schema" if with_ids else "among those that the model was trained with"
        raise DataError(f"{source}: column {name!r} is not {whose}; remove the column{advice}.")
    return wanted


def refuse_repeated(names: Sequence[str], source: str) -> None:
    """Raise DataError for a name that two columns have."""
    repeated = [name for name, k in Counter(names).items() if k > 1]
    if repeated:
        raise DataError(f"{source}: duplicate column name {repeated[0]!r}.")


def _near(name: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, names[:1000], n=1)
    return f" Did you mean {near[0]!r}?" if near else ""

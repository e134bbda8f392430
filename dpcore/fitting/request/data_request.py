"""The data of a run as they were asked for, before any are loaded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from dpcore.data.schema.schema import Schema

__all__ = ["DataRequest"]


@dataclass(frozen=True)
class DataRequest:
    """Where the rows come from, as it was asked for on the command line.

    ``data`` : a registered name or a path. ``schema`` : its path, or itself. ``target`` : the label
    column that is meant; it has to be the schema's. ``bad_rows`` : ``"refuse"``, or ``"drop"``
    where the number of rows is private. ``test``, ``test_fraction`` : what to report on, without
    privacy; at most one. ``unit``, ``rows_per_unit`` : the schema's, where they are not in its
    file. ``private_bounds`` : whether those of the schema's numeric columns that have none are
    released. ``part`` : ``COLUMN=LEVEL``, whose rows alone the run is over.
    """

    data: str = "census-sim"
    schema: Path | Schema | None = None
    target: str | None = None
    bad_rows: str = "refuse"
    schema_from_data: bool = False
    test: str | None = None
    test_fraction: float | None = None
    unit: str | None = None
    rows_per_unit: int | None = None
    private_bounds: bool = False
    part: str | None = None

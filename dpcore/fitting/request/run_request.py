"""One fit as it was asked for: its data, before any are loaded, and then a plan, its rows, and all
that its statement depends on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from dpcore.data.blocks.table import Table
    from dpcore.data.dataset import Dataset
    from dpcore.data.files import RowFacts
    from dpcore.data.schema.schema import Schema
    from dpcore.fitting.planning.planned import Plan
    from dpcore.fitting.planning.utility_warning import UtilityWarning
    from dpcore.fitting.request.ledger_request import LedgerRequest
    from dpcore.protocols import Engine
    from dpcore.session.charges import Charges
    from dpcore.session.sequential_sessions import OnRelease

__all__ = ["DataRequest", "Run"]


@dataclass(frozen=True, eq=False)
class Run:
    """One fit of a plan to rows, as it was asked for.

    Parameters
    ----------
    why_not_private : reasons that void the guarantee, as clauses.
    parts : readers that ran on raw rows, as ``"module:Class"``.
    on_release : is called after each release.
    kept_fraction : the public part of the rows that these are, by which the schema's n0 shrinks.
    table : the data set's ``table()``, where the caller has it already.
    charges : the caller's, to follow.
    utility_warning : tells the expected utility, where the caller wants it told.
    engine : open over the rows already; of rows elsewhere.
    table_ledger : charged the whole budget before anything is asked; ``None``: no ledger, whatever
        the schema names.
    held_out : rows for the evaluation that the plan asks for.
    """

    plan: Plan
    dataset: RowFacts
    why_not_private: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    on_release: OnRelease = None
    kept_fraction: float = 1.0
    table: Table | None = None
    charges: Charges | None = None
    utility_warning: UtilityWarning | None = None
    engine: Engine | None = None
    table_ledger: LedgerRequest | None = None
    held_out: Dataset | None = None


@dataclass(frozen=True)
class DataRequest:
    """The request for rows: a data set or files, a schema, and how to read them.

    ``data`` : a registered name or a path. ``schema`` : its path, or itself. ``target`` : the label
    column that is meant; it has to be the schema's. ``bad_rows`` : ``"refuse"``, or ``"drop"``
    where the number of rows is private. ``test``, ``test_fraction`` : what to report on, without
    privacy; at most one. ``unit``, ``rows_per_unit`` : the schema's, where they are not in its
    file. ``private_bounds`` : whether those of the schema's numeric columns that have none are
    released. ``part`` : ``COLUMN=LEVEL``, whose rows alone the run is over. ``weight``,
    ``weight_bound`` : the column of the rows' weights, and their public bound.
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
    weight: str | None = None
    weight_bound: float | None = None

    @property
    def has_units(self) -> bool:
        """Whether rows are of units: by a column that is asked for, or by the schema, that which
        a file keeps of itself too. Raises as ``load_data`` does for a schema."""
        from dpcore.data.loader import file_loader

        schema = None if self.unit is not None else file_loader().schema_of_rows(self)
        return self.unit is not None or (schema is not None and schema.unit is not None)

"""The data of one fit as they were asked for, before any are loaded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from dpcore.errors import InvalidInputError

if TYPE_CHECKING:
    from pathlib import Path

    from dpcore.data.schema.schema import Schema
    from dpcore.data.units import Coins
    from dpcore.fitting.request.ledger_request import LedgerRequest
    from dpcore.fitting.rows.loading import Data
    from dpcore.privacy.sensitivity import NeighboringRelation

__all__ = ["DataRequest"]


@dataclass(frozen=True)
class DataRequest:
    """The request for rows: a data set or files, a schema, and how to read them.

    ``data`` : a registered name or a path. ``schema`` : its path, or itself. ``target`` : the label
    column that is meant; it has to be the schema's. ``bad_rows`` : ``"refuse"``, or ``"drop"``
    where the number of rows is private. ``test``, ``test_fraction`` : what to report on, without
    privacy; at most one. ``unit``, ``rows_per_unit`` : the schema's, where they are not in its
    file. ``private_bounds`` : whether those of the schema's numeric columns that have none are
    released. ``part`` : ``COLUMN=LEVEL``, whose rows alone the run is over. ``weight``,
    ``weight_bound`` : the column of the rows' weights, and their public bound. ``table_ledger`` :
    what is charged for them, whoever runs; ``None``: as the run has it. ``asked_by`` : the foreign
    parts that were handed the request, which the statement names.
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
    table_ledger: LedgerRequest | None = None
    asked_by: tuple[str, ...] = ()

    @property
    def has_units(self) -> bool:
        """Whether rows are of units: by a column that is asked for, or by the schema, that which
        a file keeps of itself too. Raises as ``load`` does for a schema."""
        from dpcore.data.loader import file_loader

        schema = None if self.unit is not None else file_loader().schema_of_rows(self)
        return self.unit is not None or (schema is not None and schema.unit is not None)

    def with_loss(self, loss: str | None, multiclass: str | None = None) -> tuple[Self, str]:
        """Return the request, its schema read where it is needed, and the loss: by the label's kind
        where none is named."""
        from dpcore.data.loader import file_loader
        from dpcore.fitting.request.settings import Settings

        if loss is not None:
            return self, loss
        request = file_loader().with_schema(self)
        known = () if multiclass else (file_loader().schema_of_rows(request),)
        return request, Settings.usual_loss(*known)

    def load(
        self,
        relation: NeighboringRelation,
        threads: int | None = None,
        seed: int | None = None,
        coins: Coins | None = None,
    ) -> Data:
        """Return the data that were asked for. ``seed`` : makes the rows held out, and those kept
        of each unit, repeatable. ``coins`` : the bytes that decide the latter, in place of those.

        Raises InvalidInputError, RegistryError or DataError (for the owner's eyes), all before
        anything is spent.
        """
        from dpcore.data.dataset import Dataset
        from dpcore.data.loader import file_loader
        from dpcore.data.registered_loader import foreign_loader
        from dpcore.data.units import coins_of
        from dpcore.fitting.rows.loading import Data

        found = file_loader().requested(
            self, relation, threads, seed, coins or coins_of(seed, "units")
        )
        if type(found) is not tuple or len(found) != 5 or type(found[0]) is not Dataset:
            raise InvalidInputError("What reads files made no Dataset of the rows.")
        return Data(*found[:4], (*found[4], *foreign_loader()))

"""One fit as it was asked for: a plan, its rows, and all that its statement depends on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpcore.data.blocks.table import Table
    from dpcore.data.dataset import Dataset
    from dpcore.data.files import RowFacts
    from dpcore.fitting.planning.planned import Plan
    from dpcore.fitting.planning.utility_warning import UtilityWarning
    from dpcore.fitting.released import OnRelease
    from dpcore.fitting.request.ledger_request import LedgerRequest
    from dpcore.protocols import Engine
    from dpcore.session.charges import Charges

__all__ = ["Run"]


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

"""A run under the ledger of its table: the whole budget charged there before anything is asked."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError, LedgerError, TargetNotMetError
from dpcore.fitting.ledger_request import LedgerRequest
from dpcore.ledger.by_release import ByRelease, opened_run
from dpcore.ledger.cost import Run
from dpcore.ledger.parts import Part
from dpcore.ledger.reservation import Found, Reservation
from dpcore.ledger.table_ledger import TableLedger
from dpcore.privacy.statement import foreign_parts
from dpcore.session.charges import tell_of_ledger
from dpcore.session.ledger import Ledger, LedgerEntry

if TYPE_CHECKING:
    from dpcore.data.files import RowFacts
    from dpcore.data.part import RowPart
    from dpcore.data.schema.schema import Schema
    from dpcore.fitting.planned import Plan
    from dpcore.fitting.released import Released
    from dpcore.model.model import Model
    from dpcore.privacy.sensitivity import NeighboringRelation
    from dpcore.protocols import Accountant

__all__ = [
    "Charged",
    "LedgerRequest",
    "charged_run",
    "closed_after",
    "found_in",
    "note_outside",
    "note_saved",
    "refuse_users",
    "reserved",
]

_LOG = logging.getLogger("dpcore")


def refuse_users(request: LedgerRequest | None, plan: Plan, schema: Schema) -> None:
    """Raise InvalidInputError where there is a ledger and rows stay with users, who have a budget
    each."""
    if request is not None and request.of(schema) is not None:
        raise InvalidInputError(
            f"{plan.entry.name} asks users, who have a budget each: no ledger of a table holds it."
        )


def note_outside(request: LedgerRequest, schema: Schema, what: str) -> None:
    """Note in the table's ledger, if it has one, what is computed of its rows without privacy."""
    path = request.of(schema)
    if path is not None:
        TableLedger(path).outside({"analyst": request.analyst, "why_not_private": [what]})


def note_saved(request: LedgerRequest, model: Model, out: Path) -> None:
    """Note in the ledger that a model was charged to the SHA-256 of the file that it is in now.

    Where that cannot be written it is said: the model is there all the same.
    """
    reference, path = model.privacy.get("ledger"), request.of(model.schema)
    if reference is None or path is None:
        return
    try:
        TableLedger(path).note_model(reference, hashlib.sha256(out.read_bytes()).hexdigest())
    except (LedgerError, OSError) as error:
        _LOG.error("dpcore: error: the file of the model is not noted in its ledger. %s", error)


def found_in(
    session: Released, why_not_private: tuple[str, ...], trusted: tuple[str, ...], typed: str | None
) -> Found:
    """Return what is known of a run's guarantee by its session, or sessions."""
    parts = tuple(sorted({*session.foreign_parts, *foreign_parts(trusted)}))
    return Found(why_not_private, session.most_rows, typed, parts)


class Charged:
    """A run's charges.

    Parameters
    ----------
    log : the ledger that its releases are written to.
    reference : what its model keeps of a ledger's file; ``None`` without one.
    """

    def __init__(self, reservation: Reservation | ByRelease | None = None) -> None:
        self._reservation = reservation
        self.log: Ledger[LedgerEntry] = Ledger() if reservation is None else reservation.log
        self.reference = None if reservation is None else reservation.reference
        self.found: Callable[[], Found] = Found
        """Returns what is known of the run's guarantee when it ends."""

    def close(self, outcome: str, error: BaseException | None = None) -> None:
        """Note how the run ended, by an ``error`` perhaps.

        Where that cannot be written, all of the reservation stays. What the ledger has is added to
        the error, or else is an error line, however quiet the command is: the model is there.
        """
        reservation, self._reservation = self._reservation, None
        if reservation is None:
            return
        try:
            reservation.close(outcome, self.found())
        except LedgerError:
            if error is None:
                _LOG.error("dpcore: error: the run was not closed. %s", reservation.standing())
            else:
                tell_of_ledger(error, reservation.standing())


@contextmanager
def charged_run(
    request: LedgerRequest | None,
    plan: Plan,
    rows: RowFacts,
    why_not_private: tuple[str, ...],
) -> Iterator[Charged]:
    """Lend a run its charges, its whole budget reserved if there is a ledger, and close it.

    A run without a guarantee is noted there as such and charged nothing, which no budget could
    hold. Raises InvalidInputError, LedgerError or BudgetExceededError, with nothing charged.
    """
    reasons = (*plan.why_not_private(), *why_not_private)
    n = rows.n_units if plan.relation.size_is_public else None
    run = plan.entry.name, plan.accountant, plan.relation
    with closed_after(reserved(request, run, rows.schema, n, reasons, rows.part)) as charged:
        yield charged


@contextmanager
def closed_after(charged: Charged) -> Iterator[Charged]:
    """Lend the charges of a run, and close it in its ledger, however it ends."""
    try:
        yield charged
    except TargetNotMetError as error:
        charged.close("no model met the target", error)
        raise
    except BaseException as error:
        charged.close(f"ended by {type(error).__name__}", error)
        raise
    charged.close("finished")


def reserved(
    request: LedgerRequest | None,
    run: tuple[str, Accountant, NeighboringRelation],
    schema: Schema,
    n: int | None,
    why_not_private: tuple[str, ...],
    part: RowPart | None = None,
    by_release: bool = False,
) -> Charged:
    """Return the charges of a run, all of its budget reserved where its table has a ledger.

    ``run`` : the name of its algorithm, its filter, empty, and its relation. ``n`` : the number of
    rows or units, where that is public. ``part`` : whose rows it is over; ``None`` for all.
    ``by_release`` : whether nothing is reserved, and each release charged by itself. Raises as
    ``charged_run``.
    """
    name, accountant, relation = run
    path = None if request is None else request.of(schema)
    if request is None or path is None:
        return Charged()
    ledger = TableLedger(path)
    stated: dict[str, Any] = {
        "analyst": request.analyst,
        "algorithm": name,
        "epsilon": accountant.epsilon,
        "delta": accountant.delta,
        "accountant": accountant.name,
        "relation": relation.value,
    }
    if why_not_private:
        ledger.outside({**stated, "why_not_private": list(why_not_private)})
        return Charged()
    table: dict[str, Any] = {"schema": digest_of_schema(schema)}
    if n is not None:
        table["n"] = n
    unit = None if schema.units is None else schema.units.column
    of = None if part is None else Part(table["schema"], part.column, part.name)
    own = Run(accountant, relation.value, unit, of)
    if by_release:
        return Charged(opened_run(ledger, own, stated, table, request.same_table))
    return Charged(ledger.reserve(own, stated, table, request.same_table))


def digest_of_schema(schema: Schema) -> str:
    """Return the SHA-256 of a schema, the ledger that it names left out."""
    keys = {key: value for key, value in schema.to_dict().items() if key != "ledger"}
    return hashlib.sha256(json.dumps(keys, sort_keys=True, default=str).encode()).hexdigest()

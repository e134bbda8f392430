"""A run under the ledger of its table: the whole budget charged there before anything is asked.
That of a session which is no fit, too."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore.data.files import parts_of_rows
from dpcore.data.schema.named_ledger import kept_by
from dpcore.errors import InvalidInputError, LedgerError, TargetNotMetError, tell_of_ledger
from dpcore.fitting.planning.engines import engine_at_hand, load_engine
from dpcore.fitting.reporting import charged_in, state_session, unpromised
from dpcore.fitting.request.ledger_request import LedgerRequest
from dpcore.fitting.rows.given import dataset_of
from dpcore.privacy.statement import PrivacyStatement, foreign_parts
from dpcore.session.charges import Charges
from dpcore.session.ledger import ChargeLog, Found, LedgerEntry, LedgerWithin, RunCharges, TableRun
from dpcore.session.trust_boundary import foreign_callables

if TYPE_CHECKING:
    from dpcore.data.schema.schema import Schema
    from dpcore.fitting.planning.planned import Plan
    from dpcore.model.model import Model
    from dpcore.noise.source import NoiseSource
    from dpcore.privacy.sensitivity import NeighboringRelation
    from dpcore.privacy.unit_of_privacy import RowPart
    from dpcore.protocols import Accountant, Engine
    from dpcore.session.sequential_sessions import Released

__all__ = [
    "Charged",
    "SessionRun",
    "found_in",
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


def note_saved(request: LedgerRequest, model: Model, out: Path) -> None:
    """Note in the ledger that a model was charged to the file that it is in now.

    Where that cannot be written it is said: the model is there all the same.
    """
    reference = model.privacy.get("ledger")
    if reference is None:
        return
    try:
        ledger = request.table_ledger(model.schema)
        if ledger is not None:
            ledger.note_model(reference, out)
    except (LedgerError, OSError) as error:
        _LOG.error("dpcore: error: the file of the model is not noted in its ledger. %s", error)


def found_in(
    session: Released, why_not_private: tuple[str, ...], trusted: tuple[str, ...], typed: str | None
) -> Found:
    """Return what is known of a run's guarantee by its session, or sessions."""
    parts = sorted({*session.foreign_parts, *foreign_parts(trusted)})
    return Found(why_not_private, session.most_rows, typed, tuple(parts))


class Charged:
    """A run's charges.

    Parameters
    ----------
    places : its place in the ledger of its table, if there is one.
    log : the ledger that its releases are written to.
    reference : what its model keeps of a ledger's file; ``None`` without one.

    Raises LedgerError for what is no place in a ledger, before the rows are asked anything: a run
    whose ledger was asked for is charged there, or does not begin.
    """

    def __init__(self, *places: Any) -> None:
        self._place = places[0] if places else None
        self.log: ChargeLog[LedgerEntry] = LedgerWithin(*places) if places else ChargeLog()
        # Returns what is known of the run's guarantee when it ends.
        self.found: Callable[[], Found] = Found
        self.reference = self._reference_of(*places) if places else None

    def _reference_of(self, place: RunCharges) -> dict[str, Any]:
        """Return what a model keeps of its place in a ledger, and who keeps the ledger where that
        is none of ours: it decides what was charged, and the statement names it."""
        methods = ("charge", "close", "standing")
        fault = "gave no place with charge, close and standing"
        if all(callable(getattr(place, name, None)) for name in methods):
            try:
                json.dumps(dict(place.reference), allow_nan=False)
            except Exception:
                fault = "gave a reference that is no JSON"
                self.close("ended by LedgerError")
            else:
                foreign = foreign_parts((kept_by(),))
                return {**place.reference, **({"keeper": foreign[0]} if foreign else {})}
        raise LedgerError(f"The ledger {kept_by()} {fault}: the run has not begun.")

    def close(self, outcome: str, error: BaseException | None = None) -> None:
        """Note how the run ended, by an ``error`` perhaps.

        Where that cannot be written, all of the reservation stays. What the ledger has is added to
        the error, or else is an error line, however quiet the command is. A ledger of somebody
        else's may raise anything, and the model is there all the same.
        """
        place, self._place = self._place, None
        if place is None:
            return
        try:
            place.close(outcome, self.found())
        except Exception:
            if error is None:
                _LOG.error("dpcore: error: the run was not closed. %s", _standing(place))
            else:
                tell_of_ledger(error, _standing(place))

    @contextmanager
    def closing(self) -> Iterator[Charged]:
        """Lend the charges of a run, and close it in its ledger, however it ends."""
        try:
            yield self
        except TargetNotMetError as error:
            self.close("no model met the target", error)
            raise
        except BaseException as error:
            self.close(f"ended by {type(error).__name__}", error)
            raise
        self.close("finished")


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
    ``by_release`` : whether nothing is reserved, and each release charged by itself. Raises
    InvalidInputError, LedgerError or BudgetExceededError, with nothing charged.
    """
    whole = TableRun(*run, schema, n, part)
    ledger = None if request is None else request.table_ledger(schema)
    if ledger is not None and why_not_private:
        ledger.outside(why_not_private, whole)
    if ledger is None or why_not_private:
        return Charged()
    return Charged(ledger.by_release(whole) if by_release else ledger.reserve(whole))


class SessionRun:
    """The run of a session that is no fit: charged to the ledger of its table before anything is
    released, closed there, and stated.

    Where there is a ledger the budget is reserved when this is made, and the session that it opens
    writes each release there before it is drawn. ``charges.told()`` adds to whatever ends a block
    what was charged, once the session was opened; ``charged.closing()`` closes the run in its
    ledger at the end of a block. Either way of closing tells the ledger what is known of the
    guarantee. The static methods are those of a fit.

    Parameters
    ----------
    request : of the ledger.
    run : a name for it, its filter, empty, and its relation.
    schema : that of the rows.
    n : the number of rows or units, where that is public.
    why_not_private : reasons that void the guarantee, as clauses: a ledger is charged nothing then.
    trusted : parts beside those that the session sees, as ``"module:Class"``.
    typed_by : as ``PrivacyStatement`` has it.
    by_release : whether nothing is reserved, and each release charged by itself.

    Raises InvalidInputError, LedgerError or BudgetExceededError, with nothing charged.
    """

    engine_at_hand, load_engine = staticmethod(engine_at_hand), staticmethod(load_engine)
    dataset_of, parts_of_rows = staticmethod(dataset_of), staticmethod(parts_of_rows)

    def __init__(
        self,
        request: LedgerRequest,
        run: tuple[str, Accountant, NeighboringRelation],
        schema: Schema,
        n: int | None = None,
        *,
        why_not_private: tuple[str, ...] = (),
        trusted: tuple[str, ...] = (),
        typed_by: str | None = None,
        by_release: bool = False,
    ) -> None:
        self._run, self._known, self.charges = run, (trusted, typed_by), Charges()
        self._reasons = why_not_private
        self._session: Any = None
        self.charged = reserved(request, run, schema, n, why_not_private, by_release=by_release)

    def opened(self, kind: Any, engine: Engine, noise: NoiseSource, **others: Any) -> Any:
        """Return the session, of a class that takes what ``TableSession`` does, and ``others``;
        what of these is not from dpcore is named.

        Raises InvalidInputError for a second one: each would have the whole budget, which the
        ledger is charged and the statement tells once.
        """
        if self._session is not None:
            raise InvalidInputError("This run has opened its session: a second one is another run.")
        named = foreign_callables(kind, noise, *others.values())
        self._known = (*self._known[0], *named), self._known[1]
        session = self._session = kind(
            engine, *self._run[1:], noise, ledger=self.charged.log, **others
        )
        self.charges.follow(lambda: charged_in(session))
        self.charged.found = lambda: found_in(
            session, tuple(unpromised(session.parts_not_private)), *self._known
        )
        return session

    def close(self, error: BaseException | None = None) -> None:
        """Close the run in its ledger; ``error`` : by which it ended, to which is added what the
        ledger has where that cannot be written."""
        self.charged.close("closed", error)

    def statement(self, **others: Any) -> PrivacyStatement:
        """Return the privacy statement of what was released; ``others`` : more of its fields."""
        others["ledger"] = self.charged.reference
        return state_session(
            self._session,
            self._run[1],
            (*self._reasons, *unpromised(self._session.parts_not_private)),
            *self._known,
            **others,
        )


def _standing(place: RunCharges) -> str:
    try:
        return place.standing()
    except Exception:
        return "Its ledger does not say what it has of it."

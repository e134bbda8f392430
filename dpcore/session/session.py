"""The session: an optimizer gets noisy answers here, and nothing else."""

from __future__ import annotations

import threading
from collections import Counter
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from dpcore.accountants.pure import PureAccountant
from dpcore.errors import InvalidInputError
from dpcore.exact.rounding import float_up
from dpcore.privacy.events import DpEvent, ExPostDpEvent
from dpcore.privacy.exact_copies import exact_copy
from dpcore.privacy.immutable import Copies, private_copy
from dpcore.privacy.stated_events import ApproximateDpEvent
from dpcore.session.account import Account
from dpcore.session.answers import ExactAnswers, overwrite_freed
from dpcore.session.interactive_handle import (
    CachedAnswers,
    OpenMechanism,
    SessionExchange,
    require_another,
    require_whole,
    require_within,
)
from dpcore.session.ledger import ChargeLog, LedgerEntry, copied
from dpcore.session.unit_sensitivity import refuse_for_units

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.accountants.schedule import FixedSchedule
    from dpcore.noise.source import NoiseSource
    from dpcore.privacy.sensitivity import NeighboringRelation
    from dpcore.protocols import Accountant, DerivedQuery, Engine, Mechanism, Query, TableQuery
    from dpcore.protocols.interactive import InteractiveMechanism, InteractiveState
    from dpcore.protocols.problem import Problem
    from dpcore.session.trust_boundary import TrustedParts

__all__ = ["LedgerEntry", "TableSession"]


class TableSession(ExactAnswers):
    """Knows the data, the accountant and the noise, and releases noisy answers, one at a time.

    It can be neither copied nor pickled, and a forked child is refused: each would have the whole
    of what is left of the budget to itself.

    Parameters
    ----------
    engine : answers queries exactly; held privately.
    accountant : an empty or partly spent filter; its budget is what the run guarantees.
    relation : the neighbouring relation of every release.
    noise : the source of every random bit.
    on_release : called with the session after each release (progress); sees public facts only.
    schedule : what the releases are held to, where the accountant is not fully adaptive.
    problem : the run's public facts, which those of a query are held to.
    ledger : where charges are written down; that of an earlier session of the same run, over the
        same rows, whose releases ``accountant`` was charged already. ``None``: a new one.
    earlier : the record of the parts of earlier sessions of the same run, which this one goes on
        with. ``None``: a new one.
    takes_shares : whether mechanisms that draw a share of their noise are released: by a user whose
        answers leave masked, and by nobody else.
    """

    _elsewhere = (
        "This process was forked after the session began: its budget is the parent's. Release in "
        "the process that opened the session, or open one there."
    )

    def __init__(
        self,
        engine: Engine,
        accountant: Accountant,
        relation: NeighboringRelation,
        noise: NoiseSource,
        on_release: Callable[[TableSession], None] | None = None,
        schedule: FixedSchedule | None = None,
        problem: Problem | None = None,
        takes_shares: bool = False,
        ledger: ChargeLog[LedgerEntry] | None = None,
        earlier: TrustedParts | None = None,
    ) -> None:
        super().__init__(engine, accountant, relation, noise, problem, takes_shares, earlier)
        kept = ChargeLog[LedgerEntry]() if ledger is None else ledger
        self._account = Account(exact_copy(accountant), kept, schedule)
        self._on_release = on_release
        self._lock, self._closed = threading.Lock(), False
        self._open: OpenMechanism | None = None
        self._outcomes: dict[int, Fraction] = {}

    def release(self, query: Query | DerivedQuery | TableQuery, mechanism: Mechanism) -> Any:
        """Return a noisy answer: safe to use, print and keep in any way.

        A query over a sample (``SampledQuery``) draws it afresh and is charged as sampled.

        Raises BudgetExceededError (nothing drawn, nothing charged), UnsupportedEventError or
        InvalidInputError (a mechanism that does not fit the query, a process that was forked after
        the session began, an interactive mechanism that is open), all before the data are asked.
        What is raised after the charge is the session's end (``require_whole``).
        """
        self._require_this_process()
        with self._lock:
            self._require_idle()
            copies: Copies = {}
            query, mechanism = private_copy(query, copies), private_copy(mechanism, copies)
            sensitivity = self._sensitivity(query)
            event = self._event(query, mechanism, sensitivity)
            parts = self._admitted(query, mechanism, query)

            def draw() -> Any:
                # A selection that states so compares answers: where these wrap around, it tells.
                self._parts.note(parts, getattr(type(mechanism), "compares_answers", False))
                held = [self._exact(query)]
                value = mechanism.release(held[0], sensitivity, self._noise)
                overwrite_freed(held.pop().size)
                return value

            entry = partial(self._entry, query.kind, mechanism, event)
            value = self._account.charge_then_draw(event, entry, draw)
        self._tell()
        return value

    def start(self, mechanism: InteractiveMechanism) -> SessionExchange:
        """Return an open interactive mechanism, its cap charged, with its first released value.

        Until it halts or is closed no other release is made. Raises as ``release`` does.
        """
        self._require_this_process()
        with self._lock:
            self._require_idle()
            copies: Copies = {}
            mechanism = private_copy(mechanism, copies)
            if self._rows_per_unit is not None:
                refuse_for_units(mechanism)
            base, reference = mechanism.base, mechanism.reference
            require_whole(base)
            require_whole(reference)
            sensitivity = self._sensitivity(base)
            known = None if reference is None else self._sensitivity(reference)
            event = mechanism.event(sensitivity, known)
            parts = self._admitted(base, mechanism, base, reference)
            index = len(self._account.ledger)

            def draw() -> tuple[InteractiveState, CachedAnswers]:
                self._parts.note(parts, getattr(type(mechanism), "compares_answers", True))
                exact, kept = self._exact(base), None
                if reference is not None and known is not None:
                    self._parts.note(self._parts.check(reference), is_compared=True)
                    kept = (self._exact(reference, ((base, exact),)), known)
                answers = ((base, exact.copy()),)
                return mechanism.begin(exact, sensitivity, kept, self._noise), answers

            entry = partial(self._entry, mechanism.kind, mechanism, event)
            state, answers = self._account.charge_then_draw(event, entry, draw)
            exchange = SessionExchange(state.first, self._reply, self._close)
            self._open = OpenMechanism(exchange, mechanism, state, index, answers, copies)
            self._note(self._open)
        self._tell()
        return exchange

    def _reply(self, exchange: SessionExchange, query: Query | DerivedQuery | TableQuery) -> Any:
        self._require_this_process()
        with self._lock:
            opened = self._open
            if opened is None or opened.exchange is not exchange:
                raise InvalidInputError("This interactive mechanism has halted or was closed.")
            # What the mechanism holds, and the last question, are the session's copies of them.
            require_another(opened)
            asked, copies = query, dict(opened.copies)
            held = query = require_whole(private_copy(query, copies))
            if hasattr(opened.mechanism, "narrowed"):
                query = require_whole(opened.mechanism.narrowed(opened.asked, held))
            require_within(self._sensitivity(query), opened.mechanism.question)
            parts = self._parts.check(query)
            self._dry_run.ask(query, parts)
            # Unless all that it does with an answer is to add noise, modulo 2^64.
            is_compared = getattr(type(opened.mechanism), "compares_answers", True)
            self._parts.note(parts, is_compared=is_compared)
            opened.asked += 1  # Before the answer: an interrupt must not make room for another.

            def draw() -> Any:
                # The same question again, where an answer did not change it: no second pass.
                exact = self._exact(query, (*opened.known, *opened.last))
                opened.last = ((query, exact.copy()),)
                opened.copies = {**opened.held, id(asked): (asked, held)}
                return opened.state.reply(exact)

            try:
                value = self._account.draw(draw)
            finally:
                self._note(opened)
        self._tell()
        return value

    def _note(self, opened: OpenMechanism) -> None:
        """Keep the loss of what was said, and let go of a mechanism that has halted."""
        said = opened.state.epsilon
        event = self._account.ledger.entries[opened.index].event
        if said is not None and isinstance(event, (ExPostDpEvent, ApproximateDpEvent)):
            self._outcomes[opened.index] = said
        if opened.state.halted:
            self._open = None

    def _close(self, exchange: SessionExchange) -> None:
        with self._lock:
            if self._open is not None and self._open.exchange is exchange:
                self._open = None

    def close(self) -> None:
        """Refuse every release from now on, and every further step; what was charged stays
        charged."""
        with self._lock:
            self._closed, self._open = True, None

    def require_whole(self) -> None:
        """Raise InvalidInputError if an answer ended in an error after it was charged: what was
        released has no guarantee to state. So in a forked child, whose run is its parent's."""
        self._require_this_process()
        with self._lock:  # An answer that is being made, for another thread, ended in no error.
            self._account.require_whole()

    def _require_idle(self) -> None:
        self._account.require_whole()
        if self._closed:
            raise InvalidInputError("This session was closed; open another one.")
        if self._open is not None:
            raise InvalidInputError(
                "An interactive mechanism is open, and no other release may come between its "
                "steps; close it first."
            )

    def _tell(self) -> None:
        if self._on_release is not None:
            self._on_release(self)

    def _entry(
        self, kind: str, mechanism: Mechanism | InteractiveMechanism, event: DpEvent
    ) -> LedgerEntry:
        return LedgerEntry(
            index=len(self._account.ledger),
            kind=kind,
            mechanism=type(mechanism).__name__,
            event=event,
            cost=float_up(self._account.filter.cost(event)),
        )

    @property
    def accountant(self) -> Accountant:
        """A copy of the filter after all charges so far, a function of released values only: nobody
        else holds the filter that decides."""
        held: Accountant = exact_copy(self._account.filter)
        return held

    @property
    def ledger(self) -> tuple[LedgerEntry, ...]:
        """Copies of all charges so far."""
        return copied(self._account.ledger.entries)

    @property
    def releases(self) -> dict[str, int]:
        """How many releases of each kind were charged."""
        return dict(Counter(entry.kind for entry in self._account.ledger.entries))

    @property
    def ex_post_epsilon(self) -> float:
        """The privacy loss of the outcome that happened, rounded up. Every entry of the ledger
        counts at its pure epsilon, an ``ExPostDpEvent`` at what its mechanism said (composition:
        Ligett et al. 2017; Rogers, Roth, Ullman & Vadhan 2016). Ex-post: no epsilon-DP, which is
        the budget's. With (epsilon, delta) releases it holds but with the sum of their deltas: of
        the distributions P and Q of one on two neighbours min(P, e^loss Q) lacks a mass of delta at
        most, and masses that are lacking add up along a run.

        Raises UnsupportedEventError for a release that has no pure epsilon.
        """
        total = Fraction(0)
        for entry in self._account.ledger.entries:
            cost = _PURE.cost(entry.event)
            total += min(self._outcomes.get(entry.index, cost), cost)
        return float_up(total)


_PURE = PureAccountant.with_reserve(1.0, 0.5, 0.5)  # for its costs only

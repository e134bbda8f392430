"""Record a run on one table, replay its released values on another (Cebere et al., PETS 2026).

If an optimizer uses released values only, the replay asks the same questions in the same order and
ends at the same bits whatever table lies behind the door; and each pair of exact answers is a
test of the declared sensitivity.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.engines.local import LocalEngine
from dpcore.privacy.sealed import sealed
from dpcore.session.exchange import SessionExchange
from dpcore.session.session import TableSession
from dpcore.testing.canonical import canonical
from dpcore.testing.tape import Played, PlayedNoise, Tape, TapedNoise

if TYPE_CHECKING:
    from dpcore.data.blocks.table import Table
    from dpcore.privacy.sensitivity import NeighboringRelation, Sensitivity
    from dpcore.protocols import (
        Accountant,
        DerivedQuery,
        Mechanism,
        Query,
        TableQuery,
    )
    from dpcore.protocols.interactive import InteractiveMechanism
    from dpcore.protocols.problem import Problem

__all__ = ["CountingEngine", "Record", "RecordingSession", "ReplaySession", "assert_within"]

_QUESTION, _REFERENCE = ("question",), ("reference",)
"""In place of a mechanism, where an open one goes on."""


@dataclass(frozen=True)
class Record:
    """One release of a run: what was asked, the exact answer, what was given, and the random
    choices that the exact answer took: the words of a secret permutation, the coins of a sample."""

    query: tuple[Any, ...]
    mechanism: tuple[Any, ...]
    exact: np.ndarray
    sensitivity: Sensitivity
    value: Any
    said: tuple[bool, Fraction | None] = (True, None)
    """Whether an interactive mechanism was closed afterwards, and the loss of what it had said."""
    words: tuple[np.ndarray, ...] = ()


class CountingEngine(LocalEngine):
    """A local engine that keeps its answers, to compare them with the ledger."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.answers: list[np.ndarray] = []

    def answer(self, query: Query) -> np.ndarray:
        exact = super().answer(query)
        self.answers.append(exact.copy())
        return exact


class _CountingSession(TableSession):
    """The sums behind one derived answer, and all answers of an interactive mechanism, are one
    answer, as they are one charge. ``started`` are the exact answers that the last such mechanism
    began with, ``asked`` that to its last question."""

    engine: CountingEngine
    started: list[np.ndarray]
    asked: np.ndarray

    def _exact(self, query: Query | DerivedQuery | TableQuery, known: Any = ()) -> np.ndarray:
        before = len(self.engine.answers)
        exact = super()._exact(query, known)
        self.engine.answers[before:] = [exact.copy()]
        return exact

    def start(self, mechanism: InteractiveMechanism) -> SessionExchange:
        before = len(self.engine.answers)
        exchange = super().start(mechanism)
        self.started = self.engine.answers[before:]
        del self.engine.answers[before + 1 :]
        return exchange

    def _reply(self, exchange: SessionExchange, query: Query | DerivedQuery) -> Any:
        value = super()._reply(exchange, query)
        self.asked = self.engine.answers.pop()
        return value


class RecordingSession(_CountingSession):
    """A session that records what passes through the door."""

    def __init__(
        self,
        table: Table,
        accountant: Accountant,
        relation: NeighboringRelation,
        noise: Any,
        problem: Problem | None = None,
    ) -> None:
        self.engine = CountingEngine(table)
        self.records: list[Record] = []
        self.parts: list[tuple[Query | DerivedQuery | TableQuery, Any]] = []
        self._tape = Tape(noise._entropy)
        noise = TapedNoise(self._tape)
        super().__init__(self.engine, accountant, relation, noise, problem=problem)

    def release(self, query: Query | DerivedQuery | TableQuery, mechanism: Mechanism) -> Any:
        self.parts.append((query, mechanism))
        asked = canonical(query), canonical(mechanism)
        value = super().release(query, mechanism)
        self._record(query, asked, self.engine.answers[-1], value)
        return value

    def _exact(self, query: Query | DerivedQuery | TableQuery, known: Any = ()) -> np.ndarray:
        outer = self._tape.kept is None  # not an answer that another one is derived from
        if outer:
            self._words = self._tape.kept = []
        try:
            return super()._exact(query, known)
        finally:
            if outer:
                self._tape.kept = None

    def start(self, mechanism: InteractiveMechanism) -> SessionExchange:
        self.parts.append((mechanism.base, mechanism))
        asked = canonical(mechanism.base), canonical(mechanism)
        kept = canonical(mechanism.reference), _REFERENCE
        exchange = super().start(mechanism)
        self._record(mechanism.base, asked, self.started[0], exchange.value)
        if mechanism.reference is not None:
            self._record(mechanism.reference, kept, self.started[1], None)
        return exchange

    def _reply(self, exchange: SessionExchange, query: Query | DerivedQuery) -> Any:
        asked = canonical(query), _QUESTION
        value = super()._reply(exchange, query)
        self._record(query, asked, self.asked, value)
        return value

    def _record(
        self,
        query: Query | DerivedQuery | TableQuery,
        asked: tuple[tuple[Any, ...], tuple[Any, ...]],
        exact: np.ndarray,
        value: Any,
    ) -> None:
        """Keep a release. ``asked`` : query and mechanism as they were before it was made."""
        sensitivity = query.sensitivity(self.relation)
        said = (self._open is None, self._outcomes.get(len(self._account.ledger) - 1))
        given = copy.deepcopy(value)
        words = tuple(self._words)
        self.records.append(Record(*asked, exact, sensitivity, given, said, words))


class ReplaySession(_CountingSession):
    """A session that charges and asks as ever, and gives the recorded values.

    ``exacts`` are its own exact answers, in order. ``violations`` are the reasons of the assertions
    that it raised: an optimizer may have swallowed them. ``shift`` : row i of the recorded table is
    row i + shift of this one, so that a sample holds the same rows.
    """

    def __init__(
        self,
        records: list[Record],
        table: Table,
        accountant: Accountant,
        relation: NeighboringRelation,
        shift: int = 0,
    ) -> None:
        self.engine = CountingEngine(table)
        self._played = Played()
        super().__init__(self.engine, accountant, relation, PlayedNoise(self._played, shift))
        self._records = records
        self.exacts: list[np.ndarray] = []
        self.violations: list[str] = []

    def release(self, query: Query | DerivedQuery | TableQuery, mechanism: Mechanism) -> Any:
        self._require_this_process()
        event = self._event(query, mechanism, query.sensitivity(self.relation))
        self._account.filter.compose(event)
        record = self._next(query, canonical(mechanism))
        self._require_idle()
        self._require_engine(query)
        self._parts.note(self._parts.check(mechanism, query))
        self._played.left = list(record.words)
        entry = partial(self._entry, query.kind, mechanism, event)
        exact = self._account.charge_then_draw(event, entry, partial(self._exact, query))
        self._require(not self._played.left, "The replay draws fewer random words than recorded.")
        self.exacts.append(exact)
        return copy.deepcopy(record.value)

    def start(self, mechanism: InteractiveMechanism) -> SessionExchange:
        base, reference = mechanism.base, mechanism.reference
        known = None if reference is None else self._sensitivity(reference)
        self._account.filter.compose(mechanism.event(self._sensitivity(base), known))
        record = self._next(base, canonical(mechanism))
        exchange = super().start(_Replayed.of(mechanism, record))
        self.exacts += self.started
        return exchange

    def _reply(self, exchange: SessionExchange, query: Query | DerivedQuery) -> Any:
        record = self._next(query, _QUESTION)
        if self._open is not None and isinstance(self._open.state, _ReplayedState):
            self._open.state.value, self._open.state.said = record.value, record.said
        value = super()._reply(exchange, query)
        self.exacts.append(self.asked)
        return value

    def _next(self, query: Query | DerivedQuery | TableQuery, mechanism: tuple[Any, ...]) -> Record:
        index = len(self.exacts)
        self._require(
            index < len(self._records),
            "The replay asks for more releases than the recorded run: its control flow depends on "
            "something that was not released.",
        )
        record = self._records[index]
        self._require(
            (canonical(query), mechanism) == (record.query, record.mechanism),
            f"Release {index} of the replay asks another question than the recorded run: it "
            "depends on something that was not released.",
        )
        return record

    def assert_faithful(self) -> None:
        """Raise the first violation again."""
        assert not self.violations, self.violations[0]

    def _require(self, holds: bool, reason: str) -> None:
        if not holds:
            self.violations.append(reason)
        assert holds, reason


def assert_within(
    exact: np.ndarray, other: np.ndarray, sensitivity: Sensitivity, what: str
) -> None:
    """Raise AssertionError if two neighbours' exact answers differ by more than declared."""
    # Python integers: no difference of two int64 can overflow or round.
    change = [int(a) - int(b) for a, b in zip(exact.ravel(), other.ravel(), strict=True)]
    bound = sensitivity.bound * 2.0**sensitivity.grid_bits
    if sensitivity.norm == "l2":
        holds = sum(c * c for c in change) <= bound * bound * (1 + 1e-15)
    else:
        size = (sum if sensitivity.norm == "l1" else max)(abs(c) for c in change)
        holds = size <= bound
    assert holds, f"{what}: an exact answer moved by more than the declared {sensitivity.norm}."
    if sensitivity.change_range is not None:
        spread = max(change) - min(change)
        limit = sensitivity.change_range * 2.0**sensitivity.grid_bits
        assert spread <= limit, f"{what}: scores moved apart by more than the declared range."


class _ReplayedState:
    """Says what was recorded, whatever the exact answers are."""

    def __init__(self, value: Any, said: Any) -> None:
        self.value, self.said = value, said

    @property
    def first(self) -> Any:
        return copy.deepcopy(self.value)

    @property
    def halted(self) -> bool:
        return self.said[0]

    @property
    def epsilon(self) -> Fraction:
        return self.said[1] or Fraction(0)

    def reply(self, exact: np.ndarray) -> Any:
        return copy.deepcopy(self.value)


@sealed
@dataclass(frozen=True, slots=True)
class _Replayed:
    """An interactive mechanism that asks and charges as ever and says what was recorded."""

    base: Any
    reference: Any
    question: Sensitivity
    mechanism: InteractiveMechanism
    value: Any
    said: Any

    kind: ClassVar[str] = "replayed"

    @classmethod
    def of(cls, mechanism: InteractiveMechanism, record: Record) -> _Replayed:
        held = mechanism.base, mechanism.reference, mechanism.question, mechanism
        return cls(*held, record.value, record.said)

    def event(self, sensitivity: Sensitivity, reference: Sensitivity | None) -> Any:
        return self.mechanism.event(sensitivity, reference)

    def begin(self, *exact: Any) -> _ReplayedState:
        return _ReplayedState(self.value, self.said)

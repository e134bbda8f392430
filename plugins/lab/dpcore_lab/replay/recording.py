"""A session that records what is asked and released, and the exact answers before the noise."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from dpcore.plugin.parts import LocalEngine, TableSession
from dpcore_lab.replay.canonical import canonical
from dpcore_lab.replay.recorded_noise import NoiseRecorder, WordRecorder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    import numpy as np

    from dpcore.plugin import Accountant, NeighboringRelation, Problem
    from dpcore.plugin.parts import (
        DerivedQuery,
        InteractiveMechanism,
        Mechanism,
        NoiseSource,
        Query,
        Sensitivity,
        Table,
        TableQuery,
    )

__all__ = [
    "QUESTION",
    "REFERENCE",
    "CountingEngine",
    "CountingSession",
    "Opened",
    "Record",
    "RecordingSession",
    "started_in",
]

QUESTION, REFERENCE = ("question",), ("reference",)
"""In place of a mechanism, where an open one goes on."""


@dataclass(frozen=True)
class Record:
    """One release of a run: the query, the exact answer, the released value, and the random choices
    of the exact answer. These are the words of a secret permutation, or the coins of a sample."""

    query: tuple[Any, ...]
    mechanism: tuple[Any, ...]
    exact: np.ndarray
    sensitivity: Sensitivity
    value: Any
    said: tuple[bool, Fraction | None] = (True, None)
    """Whether an interactive mechanism was closed afterwards, and the loss of what it had said."""
    words: tuple[np.ndarray, ...] = ()


class Opened(Protocol):
    """An interactive mechanism that a session opened, as far as a recording looks at it."""

    @property
    def value(self) -> Any:
        """The value that was released when it was opened."""


class CountingEngine(LocalEngine):
    """A local engine that keeps its answers, to compare them with the ledger."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.answers: list[np.ndarray] = []

    def answer(self, query: Query) -> np.ndarray:
        exact = super().answer(query)
        self.answers.append(exact.copy())
        return exact


class CountingSession(TableSession):
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

    def start(self, mechanism: InteractiveMechanism) -> Any:
        before = len(self.engine.answers)
        exchange: Opened = super().start(mechanism)
        self.started = self.engine.answers[before:]
        del self.engine.answers[before + 1 :]
        return exchange

    def _reply(self, exchange: Any, query: Query | DerivedQuery | TableQuery) -> Any:
        value = super()._reply(exchange, query)
        self.asked = self.engine.answers.pop()
        return value


class RecordingSession(CountingSession):
    """A session that records what is asked and released."""

    def __init__(
        self,
        table: Table,
        accountant: Accountant,
        relation: NeighboringRelation,
        noise: NoiseSource,
        problem: Problem | None = None,
    ) -> None:
        self.engine = CountingEngine(table)
        self.records: list[Record] = []
        self.parts: list[tuple[Query | DerivedQuery | TableQuery, Any]] = []
        self.n_classes = max(2, 1 if problem is None else problem.n_margins)
        self._tape = WordRecorder(noise)
        recorder = NoiseRecorder(self._tape)
        super().__init__(self.engine, accountant, relation, recorder, problem=problem)

    def release(self, query: Query | DerivedQuery | TableQuery, mechanism: Mechanism) -> Any:
        self.parts.append((query, mechanism))
        asked = canonical(query), canonical(mechanism)
        value = super().release(query, mechanism)
        self._record(query, asked, self.engine.answers[-1], value)
        return value

    def sensitivity_of(self, query: Query | DerivedQuery | TableQuery) -> Sensitivity:
        """Return what the session takes as a query's sensitivity: that between units, where these
        have several rows."""
        return self._sensitivity(query)

    def _exact(self, query: Query | DerivedQuery | TableQuery, known: Any = ()) -> np.ndarray:
        outer = self._tape.kept is None  # not an answer that another one is derived from
        if outer:
            self._words = self._tape.kept = []
        try:
            return super()._exact(query, known)
        finally:
            if outer:
                self._tape.kept = None

    def start(self, mechanism: InteractiveMechanism) -> Any:
        self.parts.append((mechanism.base, mechanism))
        asked = canonical(mechanism.base), canonical(mechanism)
        kept = canonical(mechanism.reference), REFERENCE
        exchange: Opened = super().start(mechanism)
        self._record(mechanism.base, asked, self.started[0], exchange.value)
        if mechanism.reference is not None:
            self._record(mechanism.reference, kept, self.started[1], None)
        return exchange

    def _reply(self, exchange: Any, query: Query | DerivedQuery | TableQuery) -> Any:
        asked = canonical(query), QUESTION
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


def started_in(session: RecordingSession) -> Iterator[tuple[Any, tuple[int | None, int]]]:
    """Yield each interactive mechanism of a run, with how many coordinates the answer to its first
    question has, ``None`` where it was asked none, and that to its base."""
    records, parts = session.records, iter(session.parts)
    for k, record in enumerate(records):
        if record.mechanism in (QUESTION, REFERENCE):
            continue
        _, mechanism = next(parts)
        if hasattr(mechanism, "begin"):
            after = records[k + 1 : k + 3]  # a reference, if it has one, and a question
            asked = (each.exact.size for each in after if each.mechanism == QUESTION)
            yield mechanism, (next(asked, None), record.exact.size)

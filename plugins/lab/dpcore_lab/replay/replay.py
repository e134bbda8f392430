"""Replay a run's released values on another table (Cebere et al., PETS 2026).

If an optimizer uses released values only, the replay asks the same questions in the same order and
ends at the same bits whatever table the session is of; and each pair of exact answers is a
test of the declared sensitivity.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from dpcore.plugin.parts import SeededNoise, sealed
from dpcore_lab.replay.canonical import canonical
from dpcore_lab.replay.recorded_noise import ReplayedNoise, ReplayedWords
from dpcore_lab.replay.recording import QUESTION, CountingEngine, CountingSession, Record

if TYPE_CHECKING:
    from dpcore.plugin import Accountant, NeighboringRelation
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
    from dpcore_lab.replay.recording import Opened

__all__ = ["ReplaySession", "assert_within", "distance"]

_OTHER_SEED = 12
"""Of noise other than the recorded run's: noise that a mechanism keeps tells its answer too."""


class ReplaySession(CountingSession):
    """A session that charges, asks and draws as usual, and returns recorded values.

    Mechanisms run on this table's answers too, and what they draw is thrown away: an answer that a
    mechanism keeps elsewhere, for an optimizer to find, is another one than in the recorded run.

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
        self._played = ReplayedWords()
        super().__init__(self.engine, accountant, relation, ReplayedNoise(self._played, shift))
        self._spare = SeededNoise(_OTHER_SEED)
        self._records = records
        self.exacts: list[np.ndarray] = []
        self.violations: list[str] = []

    def release(self, query: Query | DerivedQuery | TableQuery, mechanism: Mechanism) -> Any:
        self._require_this_process()
        sensitivity = query.sensitivity(self.relation)
        event = self._event(query, mechanism, sensitivity)
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
        # Nobody is given this value: it is drawn for what the mechanism might keep of the answer.
        mechanism.release(exact.copy(), sensitivity, self._spare)
        return copy.deepcopy(record.value)

    def start(self, mechanism: InteractiveMechanism) -> Any:
        base, reference = mechanism.base, mechanism.reference
        known = None if reference is None else self._sensitivity(reference)
        self._account.filter.compose(mechanism.event(self._sensitivity(base), known))
        record = self._next(base, canonical(mechanism))
        self._played.left = list(record.words)
        exchange: Opened = super().start(_Replayed.of(mechanism, record))
        self.exacts += self.started
        return exchange

    def _reply(self, exchange: Any, query: Query | DerivedQuery | TableQuery) -> Any:
        record = self._next(query, QUESTION)
        self._played.left = list(record.words)
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
    assert exact.shape == other.shape, (
        f"{what}: a defect of the query: its answer's shape depends on the rows."
    )
    # Python integers: no difference of two int64 can overflow or round.
    change = [int(a) - int(b) for a, b in zip(exact.ravel(), other.ravel(), strict=True)]
    bound = sensitivity.bound * 2.0**sensitivity.grid_bits
    if sensitivity.norm == "l2":
        holds = sum(c * c for c in change) <= bound * bound * (1 + 1e-15)
    else:
        size = (sum if sensitivity.norm == "l1" else max)(abs(c) for c in change)
        holds = size <= bound
    assert holds, (
        f"{what}: an exact answer moved by more than the declared {sensitivity.norm}: by "
        f"{distance(exact, other, sensitivity):.10g} of it."
    )
    if sensitivity.change_range is not None:
        spread = max(change) - min(change)
        limit = sensitivity.change_range * 2.0**sensitivity.grid_bits
        assert spread <= limit, f"{what}: scores moved apart by more than the declared range."


def distance(exact: np.ndarray, other: np.ndarray, sensitivity: Sensitivity) -> float:
    """Return how far apart two answers are as a share of what is declared, in floats."""
    change = np.ldexp(exact.astype(float) - other.astype(float), -sensitivity.grid_bits).ravel()
    order = {"l1": 1, "l2": 2, "linf": np.inf}[sensitivity.norm]
    share = float(np.linalg.norm(change, ord=order)) / sensitivity.bound
    if sensitivity.change_range is not None:
        share = max(share, float(np.ptp(change)) / sensitivity.change_range)
    return share


class _State(Protocol):
    """The state of a mechanism, as far as a replay asks it."""

    @property
    def halted(self) -> bool: ...

    def reply(self, exact: np.ndarray) -> Any: ...


class _ReplayedState:
    """Says what was recorded, whatever the exact answers are; the mechanism's own ``state`` is
    asked as long as it has not halted, and its replies are thrown away."""

    def __init__(self, value: Any, said: Any, state: _State) -> None:
        self.value, self.said, self._state = value, said, state

    @property
    def first(self) -> Any:
        return copy.deepcopy(self.value)

    @property
    def halted(self) -> bool:
        return bool(self.said[0])

    @property
    def epsilon(self) -> Fraction | None:
        loss: Fraction | None = self.said[1]
        return loss

    def reply(self, exact: np.ndarray) -> Any:
        if not self._state.halted:
            self._state.reply(exact.copy())
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

    @property
    def most_questions(self) -> int:
        return self.mechanism.most_questions

    def narrowed(self, index: int, query: Any) -> Any:
        of_its_own: Any = self.mechanism
        narrow = getattr(of_its_own, "narrowed", None)
        return query if narrow is None else narrow(index, query)

    def event(self, sensitivity: Sensitivity, reference: Sensitivity | None) -> Any:
        return self.mechanism.event(sensitivity, reference)

    def begin(
        self, exact: np.ndarray, sensitivity: Sensitivity, reference: Any, noise: NoiseSource
    ) -> _ReplayedState:
        spare = SeededNoise(_OTHER_SEED)
        state = self.mechanism.begin(exact.copy(), sensitivity, reference, spare)
        return _ReplayedState(self.value, self.said, state)

"""The single door: an optimizer gets noisy answers here, and nothing else."""

from __future__ import annotations

import os
import threading
import weakref
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError
from dpcore.noise.entropy import Unshareable
from dpcore.rounding import float_up

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from dpcore.events import DpEvent
    from dpcore.noise.source import NoiseSource
    from dpcore.protocols import (
        Accountant,
        DerivedQuery,
        Engine,
        Mechanism,
        Query,
        TableQuery,
    )
    from dpcore.sensitivity import NeighboringRelation

__all__ = ["LedgerEntry", "PrivacySession"]


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One charge: made before its noise was drawn, and never taken back.

    ``cost`` is in the accountant's unit, rounded up; book-keeping, not a guarantee of its own.
    """

    index: int
    kind: str
    mechanism: str
    event: DpEvent
    cost: float


class PrivacySession(Unshareable):
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
    """

    def __init__(
        self,
        engine: Engine,
        accountant: Accountant,
        relation: NeighboringRelation,
        noise: NoiseSource,
        on_release: Callable[[PrivacySession], None] | None = None,
    ) -> None:
        self._engine = engine
        self._accountant = accountant
        self._relation = relation
        self._noise = noise
        self._on_release = on_release
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._forked = False
        _open_sessions.add(self)
        self._ledger: list[LedgerEntry] = []
        self._trusted: set[str] = {_qualified(engine), _qualified(accountant)}

    def release(self, query: Query | DerivedQuery | TableQuery, mechanism: Mechanism) -> Any:
        """Return a noisy answer: safe to use, print and keep in any way.

        Raises BudgetExceededError (nothing drawn, nothing charged), UnsupportedEventError or
        InvalidInputError (a mechanism that does not fit the query, a process that was forked after
        the session began), all before the data are asked.
        """
        if os.getpid() != self._pid or self._forked:
            raise InvalidInputError(
                "This process was forked after the session began: its budget is the parent's. "
                "Release in the process that opened the session, or open one there."
            )
        with self._lock:
            sensitivity = query.sensitivity(self._relation)
            if sensitivity.relation is not self._relation:
                raise InvalidInputError(
                    f"{type(query).__name__} states its sensitivity under "
                    f"{sensitivity.relation.value}, the session runs under {self._relation.value}."
                )
            event = mechanism.event(sensitivity)
            self._require_engine(query)
            accountant = self._accountant.compose(event)
            self._commit(query, mechanism, event, accountant)
            exact = self._exact(query)
            value = mechanism.release(exact, sensitivity, self._noise)
        if self._on_release is not None:
            self._on_release(self)
        return value

    def _exact(self, query: Query | DerivedQuery | TableQuery) -> np.ndarray:
        asked: Any = query
        if hasattr(asked, "derive"):
            return asked.derive(self._engine.answer, self._noise)
        if hasattr(asked, "answer_table"):
            engine: Any = self._engine
            return engine.answer_table(asked, self._noise)
        return self._engine.answer(asked)

    def _require_engine(self, query: Query | DerivedQuery | TableQuery) -> None:
        if hasattr(query, "answer_table") and not hasattr(self._engine, "answer_table"):
            raise InvalidInputError(
                f"{type(query).__name__} goes through the rows in an order of its own, and the "
                f"engine {type(self._engine).__name__} has no table at hand; use --engine local."
            )

    def _commit(
        self,
        query: Query | DerivedQuery | TableQuery,
        mechanism: Mechanism,
        event: DpEvent,
        accountant: Accountant,
    ) -> None:
        entry = LedgerEntry(
            index=len(self._ledger),
            kind=query.kind,
            mechanism=type(mechanism).__name__,
            event=event,
            cost=float_up(self._accountant.cost(event)),
        )
        self._ledger.append(entry)
        self._accountant = accountant
        parts = (query, mechanism, getattr(query, "loss", None))
        self._trusted.update(_qualified(part) for part in parts if part is not None)

    @property
    def accountant(self) -> Accountant:
        """The filter as it stands: an immutable value, a function of released values only."""
        return self._accountant

    @property
    def relation(self) -> NeighboringRelation:
        return self._relation

    @property
    def ledger(self) -> tuple[LedgerEntry, ...]:
        return tuple(self._ledger)

    @property
    def releases(self) -> dict[str, int]:
        """How many releases of each kind were charged."""
        return dict(Counter(entry.kind for entry in self._ledger))

    @property
    def trusted_parts(self) -> tuple[str, ...]:
        """``module:Class`` of every part that ran inside the trust boundary."""
        return tuple(sorted(self._trusted))


_open_sessions: weakref.WeakSet[PrivacySession] = weakref.WeakSet()


def _mark_forked() -> None:
    # Beside the process id, which a namespace or a reused number can make equal.
    for session in tuple(_open_sessions):
        session._forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_mark_forked)


def _qualified(part: object) -> str:
    return f"{type(part).__module__}:{type(part).__qualname__}"

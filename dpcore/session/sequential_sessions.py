"""Sessions in turn over the same rows, each with its part of one budget, read as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcore.errors import UnsupportedEventError
from dpcore.exact.rounding import float_down, float_up

if TYPE_CHECKING:
    from dpcore.privacy.sensitivity import NeighboringRelation
    from dpcore.protocols import Accountant
    from dpcore.session.ledger import LedgerEntry
    from dpcore.session.session import TableSession

__all__ = ["Budget", "Said", "ExtendedSession", "SequentialSessions"]


@dataclass(frozen=True)
class Budget:
    """The parts of a budget added up, in their unit: ``budget`` rounded down, ``spent`` up."""

    name: str
    conversion: str
    unit: str
    budget: float
    spent: float


@dataclass(frozen=True)
class Said:
    """The facts that a session tells of itself, without its rows."""

    spent: float
    ledger: tuple[LedgerEntry, ...]
    ex_post_epsilon: float | None
    most_rows: int | None
    rows_that_fit: int | None
    foreign_parts: tuple[str, ...]
    parts_not_private: tuple[str, ...]

    @classmethod
    def of(cls, session: TableSession) -> Said:
        try:
            ex_post = session.ex_post_epsilon
        except UnsupportedEventError:
            ex_post = None
        return cls(
            session.accountant.spent,
            session.ledger,
            ex_post,
            session.most_rows,
            session.rows_that_fit,
            session.foreign_parts,
            session.parts_not_private,
        )


@dataclass(eq=False)
class SequentialSessions:
    """All that a report reads off a session, of several. No door: each session is its own.

    Parameters
    ----------
    part : the empty filter of each session. The parts are equal and fixed before the first of
        them; what they guarantee together, ``dpcore.accountants.equal_parts`` proves.
    count : how many sessions there are to be.
    before : what a release before the first session was charged, in the same unit.
    earlier : the ledger of that release.
    """

    relation: NeighboringRelation
    part: Accountant
    count: int
    before: Fraction = Fraction(0)
    earlier: tuple[LedgerEntry, ...] = ()
    _ended: list[Said] = field(default_factory=list, init=False)
    _open: TableSession | None = field(default=None, init=False)

    def begin(self, session: TableSession) -> None:
        """Follow the next session; the one before it, which was closed, and its rows are let
        go."""
        self._ended, self._open = self._said, session

    @property
    def _said(self) -> list[Said]:
        return [*self._ended, *([] if self._open is None else [Said.of(self._open)])]

    @property
    def accountant(self) -> Budget:
        charged = [Fraction(said.spent) for said in self._ended]
        if self._open is not None:  # Asked after each release: no more of it than this.
            charged.append(Fraction(self._open.accountant.spent))
        return Budget(
            self.part.name,
            self.part.conversion,
            self.part.unit,
            float_down(self.before + self.count * Fraction(self.part.budget)),
            float_up(sum(charged, self.before)),
        )

    @property
    def ledger(self) -> tuple[LedgerEntry, ...]:
        """The entries of all, in order; each session counts its own from 0."""
        ledgers = [self.earlier, *(said.ledger for said in self._ended)]
        ledgers += [] if self._open is None else [self._open.ledger]
        return tuple(entry for ledger in ledgers for entry in ledger)

    @property
    def releases(self) -> dict[str, int]:
        return dict(Counter(entry.kind for entry in self.ledger))

    @property
    def ex_post_epsilon(self) -> float:
        """The sum of the sessions' own (composition, as in ``TableSession``), rounded up."""
        total = Fraction(0)
        for said in self._said:
            if said.ex_post_epsilon is None:
                raise UnsupportedEventError("A release has no pure epsilon.")
            total += Fraction(said.ex_post_epsilon)
        return float_up(total)

    @property
    def most_rows(self) -> int | None:
        return _least(said.most_rows for said in self._said)

    @property
    def rows_that_fit(self) -> int | None:
        return _least(said.rows_that_fit for said in self._said)

    @property
    def foreign_parts(self) -> tuple[str, ...]:
        return _all_of(said.foreign_parts for said in self._said)

    @property
    def parts_not_private(self) -> tuple[str, ...]:
        return _all_of(said.parts_not_private for said in self._said)


@dataclass(frozen=True, eq=False)
class ExtendedSession:
    """Closed sessions of a run, and a later one with their filter and ledger, read as one. No door.

    Parameters
    ----------
    last : its filter was charged what the others were, and its ledger is theirs, continued.
    """

    run: TableSession | SequentialSessions | ExtendedSession | Said
    last: TableSession | SequentialSessions | ExtendedSession

    @property
    def relation(self) -> NeighboringRelation:
        return self.last.relation

    @property
    def accountant(self) -> Accountant | Budget:
        return self.last.accountant

    @property
    def ledger(self) -> tuple[LedgerEntry, ...]:
        return self.last.ledger

    @property
    def releases(self) -> dict[str, int]:
        return self.last.releases

    @property
    def ex_post_epsilon(self) -> float:
        return self.last.ex_post_epsilon

    @property
    def most_rows(self) -> int | None:
        return _least((self.run.most_rows, self.last.most_rows))

    @property
    def rows_that_fit(self) -> int | None:
        return _least((self.run.rows_that_fit, self.last.rows_that_fit))

    @property
    def foreign_parts(self) -> tuple[str, ...]:
        return _all_of((self.run.foreign_parts, self.last.foreign_parts))

    @property
    def parts_not_private(self) -> tuple[str, ...]:
        return _all_of((self.run.parts_not_private, self.last.parts_not_private))


def _least(limits: Iterable[int | None]) -> int | None:
    return min((limit for limit in limits if limit is not None), default=None)


def _all_of(lists: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(sorted({part for parts in lists for part in parts}))

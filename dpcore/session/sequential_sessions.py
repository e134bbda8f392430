"""Sessions in turn over the same rows, each with its part of one budget, read as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from dpcore.errors import UnsupportedEventError
from dpcore.exact.rounding import float_down, float_up
from dpcore.session.charges import Budget
from dpcore.session.ledger import ChargeLog, LedgerEntry, copied

if TYPE_CHECKING:
    from dpcore.privacy.sensitivity import NeighboringRelation
    from dpcore.protocols import Accountant
    from dpcore.session.session import TableSession
    from dpcore.session.trust_boundary import TrustedParts

__all__ = ["OnRelease", "Released", "SequentialSessions"]

Released: TypeAlias = "TableSession | SequentialSessions"
"""The charges and releases of a run, as far as its report asks: one session, or those of several
fits. Either goes on with the ledger and the record of parts of the run's sessions before it."""
OnRelease: TypeAlias = Callable[[Any], None] | None  # called with that after each release


@dataclass(eq=False)
class SequentialSessions:
    """All that a report reads off a session, of several. It releases nothing itself.

    Parameters
    ----------
    part : the empty filter of each session. The parts are equal and fixed before the first of
        them; what they guarantee together, ``dpcore.accountants.equal_parts`` proves.
    count : how many sessions there are to be.
    before : what releases before the first session were charged, in the same unit.
    of_all : the ledger of those releases and of all sessions.
    parts : the record of the parts of all.
    """

    relation: NeighboringRelation
    part: Accountant
    count: int
    before: Fraction
    of_all: ChargeLog[LedgerEntry]
    parts: TrustedParts
    _charged: Fraction = field(default=Fraction(0), init=False)
    _losses: list[Fraction | None] = field(default_factory=list, init=False)
    _open: TableSession | None = field(default=None, init=False)

    def begin(self, session: TableSession) -> None:
        """Follow the next session; the one before it, which was closed, and its rows are let
        go."""
        if self._open is not None:
            self._charged += Fraction(self._open.accountant.spent)
            self._losses.append(_loss_of(self._open))
        self._open = session

    @property
    def accountant(self) -> Budget:
        # Asked after each release: no more of the open session than this.
        last = 0.0 if self._open is None else self._open.accountant.spent
        return Budget(
            self.part.name,
            self.part.conversion,
            self.part.unit,
            float_down(self.before + self.count * Fraction(self.part.budget)),
            float_up(self.before + self._charged + Fraction(last)),
        )

    @property
    def ledger(self) -> tuple[LedgerEntry, ...]:
        """The entries of all, in order; each session counts its own from 0."""
        return copied(self.of_all.entries)

    @property
    def releases(self) -> dict[str, int]:
        return dict(Counter(entry.kind for entry in self.of_all.entries))

    @property
    def ex_post_epsilon(self) -> float:
        """The sum of the sessions' own (composition, as in ``TableSession``), rounded up."""
        total = Fraction(0)
        for loss in (*self._losses, *([] if self._open is None else [_loss_of(self._open)])):
            if loss is None:
                raise UnsupportedEventError("A release has no pure epsilon.")
            total += loss
        return float_up(total)

    @property
    def most_rows(self) -> int | None:
        return self.parts.most_rows

    @property
    def rows_that_fit(self) -> int | None:
        return self.parts.rows_that_fit

    @property
    def foreign_parts(self) -> tuple[str, ...]:
        return self.parts.foreign

    @property
    def parts_not_private(self) -> tuple[str, ...]:
        return self.parts.not_private


def _loss_of(session: TableSession) -> Fraction | None:
    try:
        return Fraction(session.ex_post_epsilon)
    except UnsupportedEventError:
        return None

"""Sessions over all rows and over the rows of a part, over one budget: a unit is in one part."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.ledgers import LedgerEntry
from dpcore.plugin.parts import (
    Account,
    ChargeLog,
    Sensitivity,
    TableSession,
)
from dpcore_tables.statistics.parted_filter import InPart, PartedFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from dpcore.plugin import Accountant, Problem
    from dpcore.plugin.parts import (
        DerivedQuery,
        DpEvent,
        Engine,
        InteractiveMechanism,
        Mechanism,
        NoiseSource,
        Query,
        TableQuery,
    )

__all__ = ["PartSession", "SelectedSession", "WholeSession"]


class WholeSession(TableSession):
    """A session whose rows may be in parts (``part``), which ``close`` closes too."""

    def __init__(
        self,
        engine: Engine,
        accountant: Accountant,
        relation: NeighboringRelation,
        noise: NoiseSource,
        problem: Problem,
        ledger: ChargeLog[LedgerEntry] | None = None,
    ) -> None:
        super().__init__(engine, accountant, relation, noise, problem=problem)
        at_once = 2 if relation is NeighboringRelation.REPLACE_ONE else 1
        filter = PartedFilter(Account.copied(accountant), at_once)
        self._account = Account(filter, ChargeLog[LedgerEntry]() if ledger is None else ledger)
        self._column: str | None = None

    def part(self, column: str, name: str, engine: Engine, problem: Problem) -> PartSession:
        """Return the session over the rows of a part.

        ``column`` : by which the rows are in parts. ``name`` : of the part, in the ledger; no two
        parts have the same. ``engine`` : answers of its rows, which are in no other part.
        ``problem`` : the public facts of its rows. Raises InvalidInputError for a second column, or
        a relation under which parts have no rule.
        """
        self._require_this_process()
        if self._rows_per_unit is not None:
            raise InvalidInputError(
                "Rows in parts are for units of one row: those of a unit of several may be in more "
                "than one part. Ask of all rows, or of some by where=."
            )
        self._require_rows()
        with self._lock:  # Of two threads with two columns one is refused.
            if self._column not in (None, column):
                raise InvalidInputError(
                    f"The rows of this session are in parts by {self._column!r}: a row would be in "
                    f"two parts at a time if they were by {column!r} too."
                )
            self._column = column
        return PartSession(self, name, engine, problem)

    def selected(self, engine: Engine, problem: Problem) -> SelectedSession:
        """Return the session over rows that meet a condition. ``engine`` : answers of these.
        ``problem`` : the public facts of them. Raises InvalidInputError as ``part`` does for a
        relation."""
        self._require_this_process()
        self._require_rows()
        return SelectedSession(self, engine, problem)

    def _require_rows(self) -> None:
        """Raise where some of the rows have no rule."""
        if self._relation is NeighboringRelation.REPLACE_SPECIAL:
            raise InvalidInputError(
                "Expected parts under add-or-remove-one or replace-one: under replace-special "
                "no rule says in which part a special row is."
            )

    @property
    def accountant(self) -> Accountant:
        """A copy of the filter that has least left, where the rows are in parts."""
        return _tightest(self._account)


class PartSession(TableSession):
    """The session over the rows of a part: its releases are in the whole session's ledger, charged
    by its filter, and one at a time with all others. ``WholeSession.part`` makes it.

    Under replace-one a part may lose a row, get one, or have one replaced, and its number of rows
    is not public: the sensitivity of a question is the larger of those under both relations.
    """

    def __init__(self, whole: WholeSession, name: str, engine: Engine, problem: Problem) -> None:
        filter = whole._account.filter.whole
        # What a session has of its own is the whole one's.
        super(TableSession, self).__init__(engine, filter, whole._relation, whole._noise, problem)
        self._whole, self._name = whole, name
        self._parts = whole._parts.beside(problem)
        self._account = PartAccount(whole._account, name)
        self._lock, self._outcomes = whole._lock, whole._outcomes
        self._on_release = whole._on_release

    @property
    def _open(self) -> Any:
        return self._whole._open

    @_open.setter
    def _open(self, opened: Any) -> None:
        self._whole._open = opened

    def _require_idle(self) -> None:
        self._whole._require_idle()

    def _sensitivity(self, query: Query | DerivedQuery | TableQuery) -> Sensitivity:
        stated = super()._sensitivity(query)
        if self._relation is not NeighboringRelation.REPLACE_ONE:
            return stated
        moved = query.sensitivity(NeighboringRelation.ADD_OR_REMOVE_ONE)
        alike = (stated.norm, stated.grid_bits) == (moved.norm, moved.grid_bits)
        if not alike or {type(stated), type(moved)} != {Sensitivity}:
            raise InvalidInputError(
                f"{type(query).__name__} states sensitivities under add-or-remove-one and "
                "replace-one that cannot be compared; a part needs the larger of them."
            )
        return replace(
            stated,
            bound=max(stated.bound, moved.bound),
            change_range=_largest(stated.change_range, moved.change_range),
        )

    def _event(
        self, query: Query | DerivedQuery | TableQuery, mechanism: Mechanism, bound: Sensitivity
    ) -> DpEvent:
        if self._relation.size_is_public and hasattr(query, "sampled_event"):
            raise InvalidInputError(
                f"A sample of a part's rows is accounted for under add-or-remove-one only: under "
                f"{self._relation.value} a row may come from another part."
            )
        return super()._event(query, mechanism, bound)

    def _entry(
        self, kind: str, mechanism: Mechanism | InteractiveMechanism, event: DpEvent
    ) -> LedgerEntry:
        return replace(super()._entry(kind, mechanism, event), part=self._name)

    @property
    def accountant(self) -> Accountant:
        """A copy of the filter that has least left of those that a release from here concerns."""
        return _tightest(self._account)


class SelectedSession(PartSession):
    """The session over the rows that meet a public condition on each row by itself, which is
    charged as one to all rows.

    Of two tables that differ in a row, the rows that meet it are the same, or differ in that row:
    under add-or-remove-one it is there or not, and under replace-one it is there, gone, new or
    another, which is why a question has the larger of both sensitivities there, as in a part. Their
    number is private. Conditions may overlap, so that costs add up as for all rows.

    Between units of at most k rows: of two tables that differ in all rows of a unit, the rows that
    meet the condition differ in those of the unit that do. They are some of its rows, so k at most
    on either side, and the theorem of ``dpcore.session.unit_sensitivity`` holds for them, whatever
    the two numbers of rows are: k times the bound of a sum under add-or-remove-one, 2 k times under
    replace-one. (One row's bound, which ``_sensitivity`` compares that with, is smaller.) A unit
    may be left with no row: a query that states its bound between units itself has the larger of
    those under both relations. Which rows of a unit are used was drawn before, from the unit alone.
    """

    def __init__(self, whole: WholeSession, engine: Engine, problem: Problem) -> None:
        super().__init__(whole, "", engine, problem)
        self._account = whole._account

    def _entry(
        self, kind: str, mechanism: Mechanism | InteractiveMechanism, event: DpEvent
    ) -> LedgerEntry:
        return replace(super()._entry(kind, mechanism, event), part=None)


class PartAccount(Account[LedgerEntry]):
    """The whole session's account, as the releases from one part use it."""

    def __init__(self, whole: Account[LedgerEntry], part: Hashable) -> None:
        self._of_all, self._part = whole, part
        self.ledger = whole.ledger

    @property
    def filter(self) -> PartedFilter:
        held: PartedFilter = self._of_all.filter
        return held.within(self._part)

    def charge_then_draw(
        self, event: Any, entry: Callable[[], LedgerEntry], draw: Callable[[], Any]
    ) -> Any:
        return self._of_all.charge_then_draw(InPart(self._part, event), entry, draw)

    def draw(self, draw: Callable[[], Any]) -> Any:
        return self._of_all.draw(draw)

    def require_whole(self) -> None:
        self._of_all.require_whole()


def _tightest(account: Account[LedgerEntry]) -> Accountant:
    held: Accountant = Account.copied(account.filter.tightest())
    return held


def _largest(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else max(one, other)

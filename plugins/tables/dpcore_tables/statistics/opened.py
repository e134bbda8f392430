"""The public facts of a session that was opened by itself, and its statement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcore.fitting.planning.engines import engine_at_hand
from dpcore.fitting.reporting import state_session, unpromised

if TYPE_CHECKING:
    from dpcore import Schema
    from dpcore.plugin import Accountant, Problem
    from dpcore.plugin.parts import Engine, PrivacyStatement, Table
    from dpcore_tables.statistics.part_session import WholeSession

__all__ = ["Opened"]


@dataclass(frozen=True, slots=True)
class Opened:
    """The public facts of a session, and the parts that it was opened with."""

    schema: Schema
    problem: Problem
    accountant: Accountant
    engine: type[Engine]
    threads: int | None
    trusted: tuple[str, ...]
    why_not_private: tuple[str, ...]
    typed_by: str | None
    figure: tuple[str, float] | None = None

    def engine_of(self, table: Table) -> Engine:
        return engine_at_hand(self.engine, table, self.schema, self.threads)

    def statement(
        self, door: WholeSession, ledger: dict[str, Any] | None = None
    ) -> PrivacyStatement:
        """Return the statement of what was released through the door and its parts. ``ledger`` :
        the session's place in one."""
        reasons = (*self.why_not_private, *unpromised(door.parts_not_private))
        public: dict[str, Any] = {
            "n0": self.problem.n0 if self.problem.n is None else None,
            "figure": self.figure,
            "units": self.schema.units,
            "ledger": ledger,
        }
        stated = reasons, self.trusted, self.typed_by
        return state_session(door, self.accountant, *stated, **public)

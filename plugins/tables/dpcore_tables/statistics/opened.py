"""The public facts of a session that was opened by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcore.plugin.commands import SessionRun

if TYPE_CHECKING:
    from dpcore import Schema
    from dpcore.plugin import Problem
    from dpcore.plugin.parts import Engine, Table

__all__ = ["Opened"]


@dataclass(frozen=True, slots=True)
class Opened:
    """The public facts of a session, and the parts that it was opened with."""

    schema: Schema
    problem: Problem
    engine: type[Engine]
    threads: int | None
    native_budget: tuple[str, float] | None = None

    def engine_of(self, table: Table) -> Engine:
        return SessionRun.engine_at_hand(self.engine, table, self.schema, self.threads)

    def stated(self) -> dict[str, Any]:
        """Return what the statement says of the rows and the budget beside the session's own."""
        n0 = self.problem.n0 if self.problem.n is None else None
        return {"n0": n0, "native_budget": self.native_budget, "units": self.schema.units}

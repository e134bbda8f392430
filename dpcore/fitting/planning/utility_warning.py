"""The warnings before a run: of much memory, and of a model no better than a constant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcore.fitting.planning.memory import MUCH_MEMORY, columns_of
from dpcore.fitting.planning.optimizer_queries import cost_forecast

if TYPE_CHECKING:
    from dpcore.fitting.planning.planned import Plan
    from dpcore.protocols.problem import Problem

__all__ = ["UtilityWarning"]

_WORTH_SAYING = 1000
"""Rows: most tables have as many, so that a smaller number needed is not told without a value."""
_INSTEAD = "dpcore plan says what more rows or a larger epsilon would do: a forecast, no guarantee."


@dataclass
class UtilityWarning:
    """The expected utility of one run, told to whoever started it before anything is charged.

    Every sentence follows from public facts: where no number of rows is public it says what is
    needed, the same for whatever rows there are.

    Parameters
    ----------
    tell : is handed the sentence, if there is one.
    note : is handed what a run for a target is expected to cost, which is no warning.
    failing : whether it said that this run fails, so that the report need not say it again.
    """

    tell: Callable[[str], None]
    note: Callable[[str], None] | None = None
    failing: bool = False

    def look(self, plan: Plan, problem: Problem) -> None:
        """Tell the expected utility of a run that has been checked and not begun."""
        memory = plan.memory_of(problem)
        if memory >= MUCH_MEMORY:
            self.tell(
                f"this run takes about {memory} of memory beside its rows, for "
                f"{columns_of(problem)}."
            )
        if self.note is not None and (
            cost := cost_forecast(plan.optimizer, problem, plan.accountant)
        ):
            self.note(cost)
        utility = plan.utility_of(problem)
        if utility is None:
            return
        needed, n = utility.rows_needed, problem.n_public
        columns = problem.n_features - problem.intercept - sum(hats for _, hats in problem.curves)
        rows = f"about {utility.rounded(needed):,.0f} rows are needed for {columns} features"
        if n is None:
            if needed > _WORTH_SAYING:
                self.tell(f"at this budget {rows} to do better than a constant. {_INSTEAD}")
        elif n < needed:
            self.failing = True
            self.tell(
                f"this run may do no better than a constant: as public tables go, at this budget "
                f"{rows}, and the public number of rows is {n:,}. {_INSTEAD}"
            )

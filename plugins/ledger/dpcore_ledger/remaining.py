"""The runs that would still fit into a ledger, in the words of who plans them."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import TYPE_CHECKING, Any

from dpcore.errors import DpcoreError, InvalidInputError
from dpcore_ledger.cost import Cost, cost_of

if TYPE_CHECKING:
    from dpcore_ledger.cost import Run
    from dpcore_ledger.row_parts import Part
    from dpcore_ledger.state import RunState, State

__all__ = ["budget_that_holds", "epsilon_that_fits", "more_like", "shown_down", "shown_up"]

_LEAST = 1e-6
_CLOSE = 1.0002
_DOWN, _UP = (Context(prec=4, rounding=way) for way in (ROUND_FLOOR, ROUND_CEILING))


def shown_up(number: float) -> str:
    """Return a number of what was spent in four digits, rounded up."""
    return f"{_UP.create_decimal_from_float(number).normalize():f}"


def shown_down(number: float) -> str:
    """Return a number of what is left in four digits, rounded down."""
    return f"{_DOWN.create_decimal_from_float(number).normalize():f}"


def budget_that_holds(state: State, cost: Cost, budget: int, part: Part | None = None) -> bool:
    """Return whether what remains of a budget holds the cost of a run over a part, or all rows."""
    used = state.spent(budget, part)
    reserve = getattr(used, "reserve_ticks", 0) - getattr(used, "reserved_ticks", 0)
    return cost.ticks <= used.budget_ticks - used.spent_ticks and cost.aside_ticks <= reserve


def epsilon_that_fits(state: State, run: Run, budget: int | None = None) -> float | None:
    """Return about the largest epsilon, of four digits, of such a run that a budget of the ledger
    would hold: any budget where none is named. It is ``None`` where none of 1e-6 or more fits."""
    asked = range(len(state.budgets)) if budget is None else (budget,)

    def holds(epsilon: float) -> bool:
        own: Any = run.accountant
        try:
            trial = replace(run, accountant=type(own).from_budget(epsilon, own.delta))
        except DpcoreError:
            return False
        return any(_holds(state, trial, place) for place in asked)

    high = max(float(run.accountant.epsilon), *(terms.filter.epsilon for terms in state.budgets))
    low = _LEAST
    if not holds(low):
        return None
    while high / low > _CLOSE:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    shown = float(_DOWN.create_decimal_from_float(low))
    return shown if holds(shown) else None


def _holds(state: State, run: Run, budget: int) -> bool:
    try:
        cost = cost_of(run, state.budgets[budget])
    except InvalidInputError:
        return False  # Its filter holds no run of such a kind.
    return budget_that_holds(state, cost, budget, run.part)


def more_like(state: State, run: RunState) -> int:
    """Return how many further runs of a run's whole budget its own one in the ledger would hold."""
    used = state.spent(run.budget, run.part)
    reserve = getattr(used, "reserve_ticks", 0) - getattr(used, "reserved_ticks", 0)
    left = used.budget_ticks - used.spent_ticks
    pairs = (left, run.reserved[0]), (reserve, run.reserved[1])
    return min((amount // each for amount, each in pairs if each), default=0)

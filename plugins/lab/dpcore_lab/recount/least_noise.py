"""The least noise with which an accountant lets an event pass, and what it has to be within."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dpcore.errors import BudgetExceededError, UnsupportedEventError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin.parts import DpEvent

__all__ = ["MARGIN", "assert_within", "least_noise"]

MARGIN = 1 + 1e-6
"""The recount is in floats, and takes orders from a grid."""
_LOUDEST, _QUIETEST = 0.1, 1e9


def least_noise(empty: Any, make: Callable[[float], DpEvent], to: float = 1e-6) -> float | None:
    """Return the least noise with which an event passes alone, to a share ``to`` of
    it; ``None`` if with none.

    The search goes by what the accountant says of an event's cost, and by its refusals, which are
    slower, where an event passes or is refused at the end that its cost should not be.
    """
    try:
        if not _passes(empty, make(_QUIETEST)):
            return None
    except UnsupportedEventError:  # not without a part of the budget that nobody has set aside
        return None
    low, high = _least(lambda m: bool(empty.cost(make(m)) <= empty.budget), to)
    if not _passes(empty, make(high)) or (low > _LOUDEST and _passes(empty, make(low))):
        low, high = _least(lambda m: _passes(empty, make(m)), to)
    first, second = empty.cost(make(high)), empty.cost(make(2 * high))
    assert 0 <= second <= first, "More noise costs more."
    return high


def _least(enough: Callable[[float], bool], to: float) -> tuple[float, float]:
    """Return noise that is too little and noise that is enough, a share ``to`` apart."""
    low, high = _LOUDEST, _QUIETEST
    while high > low * (1 + to):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return low, high


def _passes(accountant: Any, event: DpEvent) -> bool:
    try:
        accountant.compose(event)
    except BudgetExceededError:
        return False
    return True


def assert_within(counted: float, epsilon: float, what: str) -> None:
    assert counted <= epsilon * MARGIN, (
        f"It lets pass {what} that come to epsilon={counted:.6g}, of a budget of {epsilon}."
    )

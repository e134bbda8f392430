"""The noise of a release: the least, within a ten-thousandth, that the filter accepts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcore.plugin import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from dpcore.plugin import Accountant
    from dpcore.plugin.parts import DpEvent

__all__ = ["least_noise", "usual_noise"]

_TOLERANCE = 1e-4
_LARGEST = 2.0**200


def usual_noise(epsilon: float, delta: float) -> float:
    """Return about the noise multiplier of one release: where a search begins, nothing more."""
    if delta == 0:
        return 1 / epsilon
    return math.sqrt(2 * math.log(1.25 / delta) + epsilon) / epsilon


def least_noise(
    accountant: Accountant,
    event_of: Callable[[float], DpEvent],
    limit: float | Fraction | None = None,
) -> float:
    """Return about the smallest noise multiplier whose event costs at most ``limit``, or all that
    remains: accepted at the value returned.

    ``event_of`` : the event of a multiplier; costs less the larger that is.

    Raises InvalidInputError where no noise is enough, UnsupportedEventError for an accountant that
    cannot hold the event.
    """
    most = accountant.remaining if limit is None else limit

    def holds(multiplier: float) -> bool:
        return accountant.cost(event_of(multiplier)) <= most

    high = usual_noise(accountant.epsilon, accountant.delta)
    low, factor = high, 1.05
    while high <= _LARGEST and not holds(high):
        low, high, factor = high, high * factor, factor * factor
    if high > _LARGEST:
        raise InvalidInputError(
            f"epsilon={accountant.epsilon:g}, delta={accountant.delta:g} is too small for one "
            f"release under the {accountant.name} accountant."
        )
    factor = 1.05
    while low == high and holds(high / factor):
        low = high = high / factor
        factor = min(2.0, factor * factor)
    low = low if low < high else high / factor
    while high > low * (1 + _TOLERANCE):
        middle = math.sqrt(low) * math.sqrt(high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high

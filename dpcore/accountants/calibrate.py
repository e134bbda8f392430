"""The least noise that keeps a release within a given share of the budget."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcore.errors import InvalidInputError, UnsupportedEventError
from dpcore.privacy.events import DpEvent

if TYPE_CHECKING:
    from dpcore.protocols import Accountant

__all__ = ["noise_multiplier"]

_LARGEST, _SMALLEST = 2.0**1000, 2.0**-1000
_NEAR = 1e-12


def noise_multiplier(
    accountant: Accountant, make_event: Callable[[float], DpEvent], cost: float | Fraction
) -> float:
    """Return the smallest noise multiplier m, to 1e-12, whose event costs at most ``cost``.

    ``accountant.cost(make_event(m)) <= cost`` is verified at the value returned.

    Parameters
    ----------
    accountant : in whose unit ``cost`` is counted.
    make_event : the event of a mechanism with that noise multiplier, e.g. ``GaussianDpEvent``; its
        cost does not increase with m.
    cost : > 0, in the accountant's unit.

    Raises
    ------
    InvalidInputError : ``cost`` is not a finite number > 0, or less than any release costs.
    UnsupportedEventError : the accountant cannot hold the mechanism's events; names what can.

    Examples
    --------
    >>> from dpcore.accountants.zcdp import ZcdpAccountant
    >>> from dpcore.plugin import Gaussian, noise_multiplier
    >>> accountant = ZcdpAccountant.from_budget(1.0, 1e-6)
    >>> m = noise_multiplier(accountant, Gaussian.nominal_event, accountant.budget / 10)
    >>> round(m, 2)
    14.33
    """
    if not (isinstance(cost, float | int | Fraction) and math.isfinite(cost) and cost > 0):
        raise InvalidInputError(f"Expected cost={cost!r} to be finite and > 0.")
    limit = Fraction(cost)
    try:
        first = accountant.cost(make_event(1.0))
    except UnsupportedEventError as error:
        raise UnsupportedEventError(f"{_owner(make_event)}: {error}") from None
    return _least(lambda m: accountant.cost(make_event(m)) <= limit, cost, _about(first, limit))


def _least(holds: Callable[[float], bool], cost: float | Fraction, about: float) -> float:
    """Return the smallest multiplier that ``holds``, which is ``about`` so large."""
    low, high = _bracket(holds, cost, about)
    found = _halved(_Known(holds, low, high, about), low, high)
    # Where a cost does not fall evenly with m, each step is asked for by itself.
    return found if holds(found) else _halved(holds, low, high)


def _halved(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Return the smallest m, to 1e-12, with ``holds``, which is true at ``high`` only."""
    while high - low > 5e-13 * high:
        middle = low + (high - low) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


class _Known:
    """The same answers as ``holds``, asked only between two points close to where they change: the
    cost of normal noise falls with the square of m, so that its own is known at once."""

    def __init__(
        self, holds: Callable[[float], bool], low: float, high: float, about: float
    ) -> None:
        self._holds, self._low, self._high = holds, low, high
        for m in (about * (1 - _NEAR), about * (1 + _NEAR)):
            self(m)

    def __call__(self, m: float) -> bool:
        if self._low < m < self._high:
            if self._holds(m):
                self._high = m
            else:
                self._low = m
        return m >= self._high


def _about(first: Fraction, limit: Fraction) -> float:
    """Return the m at which a cost that falls with its square, ``first`` at 1, is the limit."""
    try:
        return math.sqrt(first / limit)
    except OverflowError:
        return 1.0


def _owner(make_event: Callable[[float], DpEvent]) -> str:
    """Return the name of the mechanism whose class method this is, or of the callable itself."""
    owner = getattr(make_event, "__self__", make_event)
    return getattr(owner, "__name__", type(owner).__name__)


def _bracket(
    holds: Callable[[float], bool], cost: float | Fraction, about: float
) -> tuple[float, float]:
    """Return (low, high), powers of 2 one after the other, where ``holds`` is true at ``high``
    only: ``about`` is a guess."""
    high = 2.0 ** math.ceil(math.log2(about)) if _SMALLEST < about < _LARGEST else 1.0
    while not holds(high):
        if high >= _LARGEST:
            raise InvalidInputError(f"Expected cost={float(cost)!r} to be enough for one release.")
        high *= 2
    while high > _SMALLEST and holds(high / 2):
        high /= 2
    return high / 2, high

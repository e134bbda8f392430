"""The search for the noise at which a condition was seen to hold."""

from collections.abc import Callable

from dpcore.errors import InvalidInputError

__all__ = ["smallest_multiplier"]

_LARGEST, _SMALLEST = 2.0**300, 2.0**-300


def smallest_multiplier(holds: Callable[[float], bool], precision: float = 1e-9) -> float:
    """Return the smallest noise multiplier, to the relative precision, at which ``holds`` is true.

    ``holds`` is expected to be true from some multiplier on.

    Raises InvalidInputError if it holds for none.

    Examples
    --------
    >>> from dpcore.plugin.parts import smallest_multiplier
    >>> round(smallest_multiplier(lambda m: m * m >= 2), 6)
    1.414214
    """
    if not holds(_LARGEST):
        raise InvalidInputError(
            "This accountant finds no noise with which the schedule fits into the budget: its own "
            "bounds end before. Raise epsilon or delta, take fewer steps, or another accountant."
        )
    high = 1.0
    while high < _LARGEST and not holds(high):
        high *= 2
    while high > _SMALLEST and holds(high / 2):
        high /= 2
    low = high / 2
    while high - low > precision * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high

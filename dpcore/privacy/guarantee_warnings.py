"""Warnings about a guarantee of a large epsilon or delta."""

from dpcore.exact.rounding import exact

__all__ = ["guarantee_warnings"]

_LARGE_EPSILON, _LARGE_DELTA = 10.0, 1e-3


def guarantee_warnings(epsilon: float, delta: float) -> list[str]:
    """Return what to be careful of in a guarantee of these numbers."""
    power, chance = exact(epsilon), exact(delta)
    told = {
        f"epsilon = {power} is a factor of e^{power}: next to no protection.": (
            epsilon > _LARGE_EPSILON
        ),
        f"delta = {chance} is large: with that probability a row may be disclosed.": (
            delta > _LARGE_DELTA
        ),
    }
    return [text for text, is_large in told.items() if is_large]

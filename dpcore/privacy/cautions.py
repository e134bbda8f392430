"""Cautions about a guarantee of large figures."""

from dpcore.exact.rounding import exact

__all__ = ["cautions_of"]

_LARGE_EPSILON, _LARGE_DELTA = 10.0, 1e-3


def cautions_of(epsilon: float, delta: float) -> list[str]:
    """Return what to be careful of in a guarantee of these figures."""
    cautions = []
    if epsilon > _LARGE_EPSILON:
        power = exact(epsilon)
        cautions.append(f"epsilon = {power} is a factor of e^{power}: next to no protection.")
    if delta > _LARGE_DELTA:
        cautions.append(
            f"delta = {exact(delta)} is large: with that probability a row may be disclosed."
        )
    return cautions

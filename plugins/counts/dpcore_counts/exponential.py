"""The exponential of a margin as the losses have it: finite at every margin."""

import math

__all__ = ["USUAL", "antiderivative", "mean", "target"]

FAR = 30.0
"""From here on, a mean of 1e13 half widths of the target's bounds, the exponential goes on as its
tangent, so that a slope is finite, convex and steep at every margin."""
_AT_FAR = math.exp(FAR)

USUAL = 0.25
"""A mean in half widths of the target's bounds at which the slopes of all losses are the Poisson
one's, m - t: a factor of each sees to it, so that one clip of gradients suits them all."""


def target(y: float) -> float:
    """Return the target in half widths of its bounds, in [0, 2], of a label y in [-1, 1]."""
    return 1.0 + y


def mean(z: float) -> float:
    """Return exp(z)."""
    return math.exp(z) if z < FAR else _AT_FAR * (1.0 + (z - FAR))


def antiderivative(z: float) -> float:
    """Return the antiderivative of ``mean``, which is exp(z) again."""
    beyond = z - FAR
    return math.exp(z) if z < FAR else _AT_FAR * (1.0 + beyond + 0.5 * beyond * beyond)

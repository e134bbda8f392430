"""The levels that are walked through, from public facts: from noise that drowns everything up to
what the agreed worst case leaves."""

from __future__ import annotations

import math

from dpcore.plugin import InvalidInputError
from dpcore_baselines.geometric_progression import geometric_progression

__all__ = ["geometric_levels", "near_and_far_levels"]

_KNEE = 4.0


def geometric_levels(
    first: float, last: float, count: int, test_epsilon: float
) -> tuple[float, ...]:
    """Return ``count`` levels in geometric progression.

    ``test_epsilon`` : what the tests cost beside them. Raises InvalidInputError, with what would
    do, where the last level would not be above the first.
    """
    if not (math.isfinite(last) and last > first):
        enough = 2 * first + test_epsilon
        raise InvalidInputError(
            f"The worst case leaves epsilon={max(last, 0.0):.4g} for the last level, and the first "
            f"is {first:.4g} (the tests cost {test_epsilon:.4g}). Raise --epsilon-max to "
            f"{enough:.3g} or more, or ask for less."
        )
    if count == 1:
        return (last,)
    return tuple(geometric_progression(first, last, count).tolist())


def near_and_far_levels(
    first: float, last: float, count: int, test_epsilon: float
) -> tuple[float, ...]:
    """Return ``count`` levels, three quarters of them up to four times what the tests cost and the
    others up to the last. In the first part a walk mostly ends, and a step that is too wide would
    cost much.

    One geometric progression where the last level is not far above. Raises as
    ``geometric_levels`` does.
    """
    near = count - count // 4
    knee = max(_KNEE * test_epsilon, 4 * first)
    if near in (1, count) or 4 * knee >= last:
        return geometric_levels(first, last, count, test_epsilon)
    below = geometric_levels(first, knee, near, test_epsilon)
    return below + geometric_levels(knee, last, count - near + 1, test_epsilon)[1:]

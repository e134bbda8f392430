"""The levels that are walked through, from public facts: from noise that drowns everything up to
what the agreed worst case leaves."""

from __future__ import annotations

import math

import numpy as np

from dpcore.plugin import InvalidInputError

__all__ = ["geometric_levels", "near_and_far_levels", "too_dear"]

_KNEE = 4.0
_OF_THE_CAP = 0.5


def too_dear(what: str, epsilon: float, cap: float, n: int) -> InvalidInputError:
    """Return the error of a target whose tests exceed the worst case, with what would do: what a
    test costs falls with the slack, or the excess risk, and with the public number of rows."""
    times = epsilon / (_OF_THE_CAP * cap)
    return InvalidInputError(
        f"{what} epsilon={epsilon:.4g}, and the worst case is to be {cap:.4g}. Raise --epsilon-max "
        f"above that, or ask for less: {times:.3g} times the slack (or the excess risk) is "
        f"realistic for {n:,} rows, or about {math.ceil(n * times):,} rows for this target, where "
        "the tests are to be half of the worst case."
    )


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
    levels = np.geomspace(first, last, count)
    levels[-1] = last
    return tuple(float(level) for level in levels)


def near_and_far_levels(
    first: float, last: float, count: int, test_epsilon: float
) -> tuple[float, ...]:
    """Return ``count`` levels, three quarters of them up to four times what the tests cost, where a
    walk mostly ends and a step that is too wide would cost much, and the others up to the last.

    One geometric progression where the last level is not far above. Raises as
    ``geometric_levels`` does.
    """
    near = count - count // 4
    knee = max(_KNEE * test_epsilon, 4 * first)
    if near in (1, count) or 4 * knee >= last:
        return geometric_levels(first, last, count, test_epsilon)
    below = geometric_levels(first, knee, near, test_epsilon)
    return below + geometric_levels(knee, last, count - near + 1, test_epsilon)[1:]

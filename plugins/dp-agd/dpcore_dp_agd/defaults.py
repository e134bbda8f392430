"""Default parameters as fixed functions of public facts.

The constants were developed on the data sets adult, bank and census-sim and then frozen. The one
fact that drives them is the signal that the budget buys,

    u = n mu / sqrt(d),

the rows times the Gaussian-DP parameter of the whole budget over the root of the width: the length
of a sum of n unit gradients over the length of the noise, were the budget spent on one release.
"""

import math

__all__ = ["FEWEST_STEPS", "clip_for", "max_step_for", "signal", "steps_for"]

FEWEST_STEPS = 10


def signal(n: float, mu: float, n_features: int) -> float:
    """Return u. ``n`` : a public number or noisy count, > 0; ``mu`` : of the whole budget."""
    return n * mu / math.sqrt(n_features)


def steps_for(u: float) -> int:
    """Return the planned number of steps, 10 to 400."""
    return int(min(400, max(FEWEST_STEPS, round(45 * (u / 39) ** 0.64))))


def clip_for(u: float, row_norm: float) -> float:
    """Return the clip of a row's gradient: a share of the row bound that grows with the signal,
    from a fiftieth to all of it. The classification losses' slopes are at most 1 before rows are
    weighted, and ``row_norm`` is times the largest weight."""
    share: float = 0.125 * (u / 39) ** 0.36
    return row_norm * min(1.0, max(0.02, share))


def max_step_for(row_norm: float) -> float:
    """Return the largest first step, in the length of w: it moves a margin by 8 at most."""
    return min(1024.0, 8.0 / row_norm)

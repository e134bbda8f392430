"""Default parameters as fixed functions of public facts.

The constants were developed on the data sets adult, bank and census-sim and then frozen. The one
fact that drives them is the signal that the budget buys,

    u = n mu / sqrt(d),

the rows times the Gaussian-DP parameter of the whole budget over the root of the width: the length
of a sum of n unit gradients over the length of the noise, were the budget spent on one release.
"""

import math

__all__ = ["signal", "steps_for", "clip_for", "max_step_for"]


def signal(n: float, mu: float, n_features: int) -> float:
    """Return u. ``n`` : a public figure or noisy count, > 0; ``mu`` : of the whole budget."""
    return n * mu / math.sqrt(n_features)


def steps_for(u: float) -> int:
    """Return the planned number of steps, 10 to 400."""
    return int(min(400, max(10, round(30 * (u / 30) ** 0.65))))


def clip_for(u: float, row_norm: float) -> float:
    """Return the clip of a row's gradient; no larger than the row bound (the losses' slopes are
    at most 1), no smaller than a fiftieth of it."""
    share = 0.18 * (u / 30) ** 0.3
    return row_norm * min(1.0, max(0.02, share))


def max_step_for(u: float) -> float:
    """Return the largest first step, in the length of ``w`` for rows of norm about 1."""
    return 1.3 * (u / 30) ** -0.2

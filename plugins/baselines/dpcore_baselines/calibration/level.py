"""The level of log odds that a noisy number of positive rows speaks for.

``PositiveRows`` tells, with noise of deviation s each, how many of n rows are positive and how many
the probabilities say. Beforehand the share of positive rows is taken to be normal about what the
probabilities say, with deviation 1 / u, the noise of a mean gradient. The released difference of
both is normal about the true one, with variance 2 s^2; so the share has a normal density, held to 0
to 1. Its mean is what the probabilities are brought to, by one level for all log odds: of all such
levels this has the least expected log loss. Log odds are taken to be normal.

The level of most rows may move the place of even odds to where most rows are of the other class. It
is moved as far as changes the labels of 3 % of the rows. All of it is post-processing.
"""

from __future__ import annotations

import numpy as np

from dpcore.plugin import ordered_dot, ordered_sum
from dpcore_accounting.reproducible.array_functions import array_exp

__all__ = ["level_of"]

_RELABELLED, _RAREST = 0.03, 2.0**-8
_NODES, _BETWEEN = np.linspace(-4.0, 4.0, 65), 2.0**-4
_LEVELS = np.linspace(-6.0, 6.0, 241)
_SHARES = np.linspace(_RAREST, 1.0 - _RAREST, 255)
_LEAST_SPREAD = 2.0**-10


def level_of(sums: np.ndarray, deviation: float, n: float, u: float, spread: float) -> float:
    """Return the level to add to all log odds.

    Parameters
    ----------
    sums : the noisy answer of ``PositiveRows``, float64 of shape (2,), and ``deviation`` : of the
        noise of each. ``n`` : of the rows, > 0. ``u`` : the signal of the gradients, > 0.
    spread : the deviation of log odds, >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore_baselines.calibration.level import level_of
    >>> told, came_true = -300.0, -400.0  # of 1000 rows 200 by the probabilities, and 100
    >>> -1.0 < level_of(np.array([came_true, told]), 10.0, 1000, 5.0, 0.5) < -0.7
    True
    """
    weights = array_exp(-np.square(_NODES) / 2)
    weights /= ordered_sum(weights)
    spread = max(spread, _LEAST_SPREAD)

    def rates(means: np.ndarray) -> np.ndarray:
        odds = means[:, None] + spread * _NODES
        return ordered_dot(1.0 / (1.0 + array_exp(-odds)), weights)

    said = min(max(0.5 + float(sums[1]) / n, _RAREST), 1.0 - _RAREST)
    off = (_SHARES - said - float(sums[0] - sums[1]) / n) / max(2.0**0.5 * deviation / n, _RAREST)
    score = np.square(off) + np.square((_SHARES - said) * u)
    likely = array_exp((score.min() - score) / 2)
    share = float(ordered_dot(likely, _SHARES) / ordered_sum(likely))
    mean = float(np.interp(said, rates(_LEVELS), _LEVELS))
    level = float(np.interp(share, rates(mean + _LEVELS), _LEVELS))
    below = np.cumsum(weights)
    for part in np.linspace(1.0, 0.0, 41):
        even = np.array([-mean, -mean - part * level]) / spread
        negative = np.interp(even, _NODES + _BETWEEN, below)
        if abs(negative[1] - negative[0]) <= _RELABELLED:
            break
    return float(part) * level

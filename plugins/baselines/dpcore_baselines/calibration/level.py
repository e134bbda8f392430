"""The level of log odds that a noisy number of positive rows speaks for.

``PositiveRows`` tells, with noise of deviation s each, how many of n rows are positive and how many
the probabilities say. Let the log odds be normal, of the mean that gives what they say, and p(a)
the mean of their probabilities once a was added to all. Were the model right but for its level, the
difference of the two would be n (p(a) - p(0)), for the level a that is right; it is released with
the variance 2 s^2 + n / 4 at most. Beforehand a is taken to be normal about 0. The a returned is
that whose p(a) is the posterior mean of p: of all probabilities that are the same for every row,
this has the least expected log loss.

The level of most rows may move the place of even odds to where most rows are of the other class. It
is moved as far as changes the labels of a fiftieth of the rows. All of it is post-processing.
"""

from __future__ import annotations

import numpy as np

from dpcore.plugin import ordered_dot, ordered_sum
from dpcore_accounting.reproducible.array_functions import array_exp

__all__ = ["level_of"]

_PRIOR = 0.7
"""Deviation of the level before the release: chosen, as are shares and the limit of labels, on
classifications for development and samples of them (``bench/probabilities.py``)."""
_RELABELLED, _RAREST = 0.02, 2.0**-7
_NODES, _BETWEEN = np.linspace(-4.0, 4.0, 65), 2.0**-4
_LEVELS = np.linspace(-6.0, 6.0, 241)
_LEAST_SPREAD = 2.0**-10


def level_of(sums: np.ndarray, deviation: float, n: float, spread: float) -> float:
    """Return the level to add to all log odds.

    Parameters
    ----------
    sums : the noisy answer of ``PositiveRows``, float64 of shape (2,), and ``deviation`` : of the
        noise of each. ``n`` : of the rows, > 0. ``spread`` : the deviation of log odds, >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore_baselines.calibration.level import level_of
    >>> told, came_true = -300.0, -400.0  # of 1000 rows 200 by the probabilities, and 100
    >>> -1.0 < level_of(np.array([came_true, told]), 10.0, 1000, 0.5) < -0.7
    True
    """
    weights = array_exp(-np.square(_NODES) / 2)
    weights /= ordered_sum(weights)
    spread = max(spread, _LEAST_SPREAD)

    def rates(means: np.ndarray) -> np.ndarray:
        odds = means[:, None] + spread * _NODES
        return ordered_dot(1.0 / (1.0 + array_exp(-odds)), weights)

    told = min(max(0.5 + float(sums[1]) / n, _RAREST), 1.0 - _RAREST)
    mean = float(np.interp(told, rates(_LEVELS), _LEVELS))
    after = rates(mean + _LEVELS)
    off = float(sums[0] - sums[1]) - n * (after - told)
    score = np.square(off) / (2.0 * deviation**2 + n / 4.0) + np.square(_LEVELS / _PRIOR)
    likely = array_exp((score.min() - score) / 2)
    rate = float(ordered_dot(likely, after) / ordered_sum(likely))
    level = float(np.interp(rate, after, _LEVELS))
    below = np.cumsum(weights)
    for part in np.linspace(1.0, 0.0, 41):
        even = np.array([-mean, -mean - part * level]) / spread
        negative = np.interp(even, _NODES + _BETWEEN, below)
        if abs(negative[1] - negative[0]) <= _RELABELLED:
            break
    return float(part) * level

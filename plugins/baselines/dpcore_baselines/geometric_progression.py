"""Numbers with even ratios, whose bits are the same on every processor: NumPy's are not."""

import math

import numpy as np

__all__ = ["geometric_progression"]


def geometric_progression(first: float, last: float, count: int) -> np.ndarray:
    """Return ``count`` >= 1 numbers from ``first`` > 0 on that end with ``last`` > 0.

    Examples
    --------
    >>> from dpcore_baselines.geometric_progression import geometric_progression
    >>> geometric_progression(1.0, 16.0, 3)
    array([ 1.,  4., 16.])
    """
    begin, steps = math.log10(first), max(1, count - 1)
    step = (math.log10(last) - begin) / steps
    between = (10.0 ** (k * step + begin) for k in range(1, count - 1))
    return np.array([first, *between, last][:count])

"""A standardisation of the columns from noisy moments."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin import ordered_sum
from dpcore_baselines.descent import defaults
from dpcore_baselines.descent.averaged import load_step
from dpcore_baselines.queries.standardization import Standardization

if TYPE_CHECKING:
    from dpcore.plugin import Problem
    from dpcore_baselines.descent.sizes import TypicalSizes

__all__ = [
    "MOMENTS_CLIP",
    "from_moments",
    "least_seen",
    "dry_run_map",
    "typical_length",
    "unchanged",
]

MOMENTS_CLIP = 0.8 * math.sqrt(2)
"""Bound of a row's part in the moments over the row norm: few rows of a schema are as long as the
longest that it allows."""
_SURE = 2.0
"""Standard deviations of its noise at which a mean counts for half or more."""
_LEAST_VARIANCE = 1e-4
_MOST_SEEN = 3.0


def unchanged(problem: Problem) -> Standardization:
    """Return the map that leaves every row as it is."""
    width = problem.n_features
    return Standardization.nearest(np.ones(width), np.zeros(width), None)


def dry_run_map(problem: Problem) -> Standardization:
    """Return a map as ``from_moments`` returns one, by whose means the intercept is used; what the
    steps need is loaded."""
    load_step()
    width = problem.n_features
    constant = width - 1 if problem.intercept else None
    return Standardization.nearest(np.ones(width), np.zeros(width), constant)


def _shrunk(means: np.ndarray, problem: Problem, noise: float) -> np.ndarray:
    """Return the means as far as their noise lets them be taken off."""
    if not problem.intercept:
        return np.zeros(problem.n_features)
    means = np.clip(means, -problem.row_norm, problem.row_norm)
    return means * np.minimum(1.0, np.square(means / (_SURE * noise)))


def from_moments(
    problem: Problem,
    moments: np.ndarray,
    n: float,
    deviation: float,
    sizes: TypicalSizes | None = None,
    times: np.ndarray | float = 1.0,
) -> tuple[Standardization, float]:
    """Return the map that takes the means off and divides by the standard deviations, and the
    typical length of a row under it.

    A variance counts with the standard deviation of its noise added to it, so that a column that
    the budget cannot tell from an empty one is not blown up; a mean is shrunk as far as its noise
    makes it doubtful. Without an intercept no mean can be taken off. Of many columns, those that
    do not show above the noise are left out: they would bring the noise of all their gradients.

    Parameters
    ----------
    moments : released sums of the columns and of their squares, of shape (2 n_features,).
    n : the number of rows, public or released, >= 1. ``deviation`` : of the moments' noise.
    sizes : of columns of numbers; a column's mean and variance are those of its typical entries
        where that is less than what the moments show, since few far entries make up a variance.
    times : of each column, a factor of what it is scaled by.
    """
    width = problem.n_features
    constant = width - 1 if problem.intercept else None
    noise = deviation / n
    least = least_seen(width) * deviation
    seen = np.maximum(np.abs(moments[:width]), moments[width:]) >= least
    means, squares = _shrunk(moments[:width] / n, problem, noise), moments[width:] / n
    variances = np.maximum(np.maximum(squares, 0.0) - np.square(means), 0.0)
    divisors = variances + max(noise, _LEAST_VARIANCE)
    if sizes is not None:
        small = sizes.squares < divisors[sizes.columns]
        at = sizes.columns[small]
        means[at], seen[at] = sizes.means[small], True
        variances[at] = divisors[at] = sizes.squares[small]
    scales = times * seen / np.sqrt(divisors)
    if constant is not None:
        scales[constant] = 1.0
    return Standardization.nearest(scales, means, constant), typical_length(
        scales, variances, constant
    )


def least_seen(width: int) -> float:
    """Return how many deviations of its noise a column's moments must be above 0 to count. It is 0
    for up to 128 columns; for more of them, it is so much that about as few are seen by chance."""
    return min(_MOST_SEEN, math.sqrt(2 * max(0.0, math.log(width / defaults.NARROW))))


def typical_length(scales: np.ndarray, variances: np.ndarray, constant: int | None) -> float:
    """Return the root mean square of a standardised row's length, at least 1."""
    parts = np.square(scales) * variances
    if constant is not None:
        parts[constant] = 1.0
    return max(1.0, math.sqrt(ordered_sum(parts)))

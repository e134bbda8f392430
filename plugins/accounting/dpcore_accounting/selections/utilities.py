"""Utilities of candidates, in whole grid steps: the largest is the best."""

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import ScaledNoise

__all__ = ["require_utilities", "shortfalls"]


def shortfalls(utilities: np.ndarray) -> np.ndarray:
    """Return how far each utility is below the largest, exactly: uint64 of the same shape.

    ``utilities`` : int64 array of shape (n_candidates,). Differences of two int64 fit in uint64.

    Raises InvalidInputError for anything else, or if there are no candidates.
    """
    require_utilities(utilities)
    below: np.ndarray = utilities.max(keepdims=True).view(np.uint64) - utilities.astype(np.uint64)
    return below


def require_utilities(utilities: np.ndarray) -> None:
    """Raise InvalidInputError unless this is a vector of int64 with one candidate or more."""
    ScaledNoise.require_steps(utilities)
    if utilities.ndim != 1 or not utilities.size:
        raise InvalidInputError("Expected a vector of utilities of one candidate or more.")

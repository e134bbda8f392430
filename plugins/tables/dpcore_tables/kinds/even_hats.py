"""Hat functions of knots evenly spaced between bounds, by the number's own feature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcore.plugin.columns import Encoding, transforms

__all__ = ["EvenHats", "even_hats", "hats_behind", "neighbours"]


@dataclass(frozen=True, slots=True)
class EvenHats(transforms.Hat):
    """Hats whose knots are evenly spaced, so that they follow from the number's feature x in [0,
    1], on the feature grid. With m stretches between knots and s = min(floor(m x), m - 1) they are
    t = m x - s at knot s + 1, 1 - t at knot s, and 0 elsewhere.

    x is a whole number of grid steps, hence so are t and 1 - t, and nothing is rounded: rows hold
    the number alone, and hats are worked out where they are used, with the same bits.
    """


def neighbours(x: np.ndarray, stretches: int | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the knot at or before each number, int64, and how far the number is on the way to the
    next, float64 in [0, 1]. ``x`` : float64 on the feature grid in [0, 1]."""
    along = x * stretches
    left = np.minimum(along.astype(np.int64), np.asarray(stretches) - 1)
    return left, along - left


def even_hats(x: np.ndarray, n_hats: int) -> np.ndarray:
    """Return the hats at numbers on the feature grid: float64 of shape (n_numbers, n_hats)."""
    left, t = neighbours(x, n_hats - 1)
    rows, out = np.arange(x.size), np.zeros((x.size, n_hats))
    out[rows, left], out[rows, left + 1] = 1.0 - t, t
    return out


def hats_behind(encoding: Encoding) -> int:
    """Return how many hats follow from the feature of an encoding's number, so that rows hold that
    alone. It is 0 where there are none, or where an empty cell would show as a number."""
    last = encoding.chains[-1][-1]
    if not isinstance(last, EvenHats) or encoding.indicator and encoding.fill is None:
        return 0
    return last.width

"""Numbers clamped to public bounds: of a feature, and of a real-valued label."""

from __future__ import annotations

import math

import numpy as np

__all__ = ["LOG_TERMS", "binary_log", "hats", "held_to", "scale_to_unit"]

LOG_TERMS = 12


def scale_to_unit(values: np.ndarray, lower: float, upper: float) -> np.ndarray:
    """Return ``values`` clamped to the public bounds and mapped to [0, 1]."""
    unit = (np.clip(values, lower, upper) - lower) / (upper - lower)
    return np.asarray(np.clip(unit, 0.0, 1.0))


def held_to(values: np.ndarray, lower: float, upper: float) -> np.ndarray:
    """Return ``values`` clamped to public bounds, NaN as it is: by comparisons alone, so that a
    graph of the same ones has the same bits, those of -0.0 at a bound of 0 too."""
    raised = np.where(values < lower, lower, values)
    return np.where(raised > upper, upper, raised)


def binary_log(values: np.ndarray) -> np.ndarray:
    """Return the logarithm to the base of 2 of positive numbers, to 1e-15 of its size or of 1.

    By sums, products and quotients alone, each rounded as IEEE 754 says: a number has the same bits
    wherever it is in an array and whatever is beside it. NumPy's own logarithm need not: it
    takes whole vectors another way than what is left over.
    """
    mantissa, exponent = np.frexp(values)
    small = mantissa < math.sqrt(0.5)
    mantissa = np.where(small, 2.0 * mantissa, mantissa)
    # log(m) = 2 atanh(s) with s = (m - 1) / (m + 1), and |s| < 0.172.
    s = (mantissa - 1.0) / (mantissa + 1.0)
    square, series = s * s, np.zeros_like(s)
    for k in reversed(range(LOG_TERMS)):
        series = series * square + 1.0 / (2 * k + 1)
    return np.asarray((exponent - small) + s * series * (2.0 / math.log(2.0)))


def hats(values: np.ndarray, knots: tuple[float, ...]) -> np.ndarray:
    """Return the hat function of each knot at values clamped to the first and the last one: float64
    of shape (n_values, n_knots), at most two neighbours not 0, t and 1 - t of a t in [0, 1]."""
    edges, rows = np.array(knots), np.arange(len(values))
    clamped = np.clip(values, edges[0], edges[-1])
    left = np.clip(np.searchsorted(edges, clamped, side="right") - 1, 0, len(edges) - 2)
    t = scale_to_unit_each(clamped, edges[left], edges[left + 1])
    out = np.zeros((len(values), len(edges)))
    out[rows, left] = 1.0 - t
    out[rows, left + 1] = t
    return out


def scale_to_unit_each(values: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    return np.asarray(np.clip((values - lower) / (upper - lower), 0.0, 1.0))

"""Numbers between public bounds, as rows hold them."""

import numpy as np

from dpcore.exact.grid import FEATURE_BITS

__all__ = ["held_to", "on_grid", "scale_to_unit"]


def scale_to_unit(values: np.ndarray, lower: float, upper: float) -> np.ndarray:
    """Return ``values`` clamped to the public bounds and mapped to [0, 1]: to nothing beyond, since
    rounding to nearest keeps the order of differences and of quotients, all of float64. Whole
    numbers, or float32, would round the bounds in one of them and not in the other."""
    values, lower, upper = np.asarray(values, dtype=np.float64), float(lower), float(upper)
    return np.asarray((np.clip(values, lower, upper) - lower) / (upper - lower))


def held_to(values: np.ndarray, lower: float, upper: float) -> np.ndarray:
    """Return ``values`` clamped to public bounds, NaN as it is. Comparisons alone do it, so that a
    graph of the same ones has the same bits, those of -0.0 at a bound of 0 too."""
    raised = np.where(values < lower, lower, values)
    return np.where(raised > upper, upper, raised)


def on_grid(unit: np.ndarray) -> np.ndarray:
    """Return numbers in [0, 1], truncated in float64: float32 would round to nearest, and up to 1
    at that."""
    np.ldexp(unit, FEATURE_BITS, out=unit)
    return np.asarray(np.ldexp(np.trunc(unit, out=unit), -FEATURE_BITS, out=unit))

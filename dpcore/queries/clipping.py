"""The clip of what a row contributes: a coefficient of its vector, or a value of its own."""

import numpy as np

from dpcore.exact.compiled import njit

__all__ = ["clip_coefficients", "clipped_total"]


@njit(cache=True, error_model="numpy", nogil=True)
def clip_coefficients(
    c: np.ndarray, factor: np.ndarray, norms: np.ndarray, clip: float, scale: float
) -> None:
    """Scale ``c`` by the row's factor, clip it against ``clip / norms``, truncate it to 1 / scale.

    The quotient rounds to nearest; 2^-52 of it taken off puts the limit below the real one.
    Finite and within: kept; finite and above: the limit; not finite (or a row of zeros): zero.
    """
    for i in range(c.shape[0]):
        t = c[i] * factor[i]
        quotient = clip / (norms[i] if norms[i] > 0.0 else np.inf)
        limit = quotient - quotient * 2.220446049250313e-16
        size = abs(t)
        kept = size if size <= limit else limit
        kept = kept if size < np.inf else 0.0
        steps = np.trunc(kept * scale)
        c[i] = (steps if t > 0.0 else -steps) / scale


@njit(cache=True, error_model="numpy", nogil=True)
def clipped_total(values: np.ndarray, clip: float, scale: float) -> np.int64:
    """Return the sum of the values clipped to [0, clip] and truncated to 1 / scale, in steps.

    Infinity and NaN fall into the clip.
    """
    total = np.int64(0)
    for i in range(values.shape[0]):
        v = values[i] if values[i] < clip else clip
        v = v if v > 0.0 else 0.0
        total += np.int64(v * scale)
    return total

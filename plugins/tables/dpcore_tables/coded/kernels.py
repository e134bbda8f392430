"""Products of coded rows: margins gather one coefficient for each code and those of the two hats
beside a number, a weighted sum scatters into them.

``curves`` : int64 of shape (n_curves, 3), of each number with hats its column, the place of its
first hat among codes, and the stretches between its knots (``CodedLayout.curves``). A hat is
a number of grid steps, so that sums are exact as those of any feature.
"""

from __future__ import annotations

import numpy as np

from dpcore.plugin import njit

__all__ = [
    "add_hats",
    "add_sums_of_hats",
    "coded_margins",
    "coded_margins_of_four",
    "coded_weighted_sum",
    "coded_weighted_sums_of_four",
]


@njit(cache=True, error_model="numpy", nogil=True)
def coded_margins(
    numeric: np.ndarray,
    codes: np.ndarray,
    curves: np.ndarray,
    w: np.ndarray,
    w_codes: np.ndarray,
    out: np.ndarray,
) -> None:
    for i in range(out.shape[0]):
        total = 0.0
        for j in range(numeric.shape[1]):
            total += numeric[i, j] * w[j]
        for j in range(codes.shape[1]):
            total += w_codes[codes[i, j]]
        out[i] = total
    for j in range(curves.shape[0]):
        column, begin, stretches = curves[j, 0], curves[j, 1], curves[j, 2]
        for i in range(out.shape[0]):
            along = np.float64(numeric[i, column]) * stretches
            left = min(np.int64(along), stretches - 1)
            t, at = along - left, begin + left
            out[i] += (1.0 - t) * w_codes[at] + t * w_codes[at + 1]


@njit(cache=True, error_model="numpy", nogil=True)
def coded_margins_of_four(
    numeric: np.ndarray,
    codes: np.ndarray,
    curves: np.ndarray,
    w: np.ndarray,
    w_codes: np.ndarray,
    out: np.ndarray,
) -> None:
    """A row's margins at four points, each summed in the order of coded_margins: the same bits.
    ``w``, ``w_codes`` : of shape (..., 4). ``out`` : of shape (4, n_rows)."""
    first, second, third, fourth = out[0], out[1], out[2], out[3]
    for i in range(out.shape[1]):
        p, q, r, s = 0.0, 0.0, 0.0, 0.0
        for j in range(numeric.shape[1]):
            value, at = np.float64(numeric[i, j]), w[j]
            p, q = p + value * at[0], q + value * at[1]
            r, s = r + value * at[2], s + value * at[3]
        for j in range(codes.shape[1]):
            at = w_codes[codes[i, j]]
            p, q, r, s = p + at[0], q + at[1], r + at[2], s + at[3]
        for j in range(curves.shape[0]):
            along = np.float64(numeric[i, curves[j, 0]]) * curves[j, 2]
            left = min(np.int64(along), curves[j, 2] - 1)
            t, a = along - left, w_codes[curves[j, 1] + left]
            b = w_codes[curves[j, 1] + left + 1]
            p, q = p + ((1.0 - t) * a[0] + t * b[0]), q + ((1.0 - t) * a[1] + t * b[1])
            r, s = r + ((1.0 - t) * a[2] + t * b[2]), s + ((1.0 - t) * a[3] + t * b[3])
        first[i], second[i], third[i], fourth[i] = p, q, r, s


@njit(cache=True, error_model="numpy", nogil=True)
def coded_weighted_sum(
    numeric: np.ndarray,
    codes: np.ndarray,
    curves: np.ndarray,
    c: np.ndarray,
    out: np.ndarray,
    out_codes: np.ndarray,
) -> None:
    for i in range(c.shape[0]):
        weight = c[i]
        for j in range(numeric.shape[1]):
            out[j] += numeric[i, j] * weight
        for j in range(codes.shape[1]):
            out_codes[codes[i, j]] += weight
        for j in range(curves.shape[0]):
            along = np.float64(numeric[i, curves[j, 0]]) * curves[j, 2]
            left = min(np.int64(along), curves[j, 2] - 1)
            t, at = along - left, curves[j, 1] + left
            out_codes[at] += (1.0 - t) * weight
            out_codes[at + 1] += t * weight


@njit(cache=True, error_model="numpy", nogil=True)
def coded_weighted_sums_of_four(
    numeric: np.ndarray,
    codes: np.ndarray,
    curves: np.ndarray,
    c: np.ndarray,
    out: np.ndarray,
    out_codes: np.ndarray,
) -> None:
    """Four sums side by side. ``c`` : of shape (4, n_rows); ``out``, ``out_codes`` : (..., 4)."""
    first, second, third, fourth = c[0], c[1], c[2], c[3]
    for i in range(c.shape[1]):
        p, q, r, s = first[i], second[i], third[i], fourth[i]
        for j in range(numeric.shape[1]):
            value, total = np.float64(numeric[i, j]), out[j]
            total[0], total[1] = total[0] + value * p, total[1] + value * q
            total[2], total[3] = total[2] + value * r, total[3] + value * s
        for j in range(codes.shape[1]):
            total = out_codes[codes[i, j]]
            total[0], total[1] = total[0] + p, total[1] + q
            total[2], total[3] = total[2] + r, total[3] + s
        for j in range(curves.shape[0]):
            along = np.float64(numeric[i, curves[j, 0]]) * curves[j, 2]
            left = min(np.int64(along), curves[j, 2] - 1)
            t, low = along - left, out_codes[curves[j, 1] + left]
            for k in range(4):
                low[k] += (1.0 - t) * c[k, i]
            low = out_codes[curves[j, 1] + left + 1]
            for k in range(4):
                low[k] += t * c[k, i]


@njit(cache=True, error_model="numpy", nogil=True)
def add_hats(
    places: np.ndarray, low: np.ndarray, high: np.ndarray, w_codes: np.ndarray, out: np.ndarray
) -> None:
    """Add to margins what two entries of each number's hats add, at ``places`` and behind."""
    for i in range(out.shape[0]):
        for j in range(places.shape[1]):
            at = places[i, j]
            out[i] += low[i, j] * w_codes[at] + high[i, j] * w_codes[at + 1]


@njit(cache=True, error_model="numpy", nogil=True)
def add_sums_of_hats(
    places: np.ndarray, low: np.ndarray, high: np.ndarray, c: np.ndarray, out_codes: np.ndarray
) -> None:
    """Add to sums what two entries of each number's hats add, at ``places`` and behind."""
    for i in range(c.shape[0]):
        for j in range(places.shape[1]):
            at = places[i, j]
            out_codes[at] += low[i, j] * c[i]
            out_codes[at + 1] += high[i, j] * c[i]

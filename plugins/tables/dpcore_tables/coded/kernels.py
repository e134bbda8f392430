"""Products of coded rows: margins gather one coefficient for each code, a weighted sum scatters
into it."""

from __future__ import annotations

import numpy as np

from dpcore.plugin import njit

__all__ = [
    "coded_margins",
    "coded_margins_of_four",
    "coded_weighted_sum",
    "coded_weighted_sums_of_four",
]


@njit(cache=True, error_model="numpy", nogil=True)
def coded_margins(
    numeric: np.ndarray, codes: np.ndarray, w: np.ndarray, w_codes: np.ndarray, out: np.ndarray
) -> None:
    for i in range(out.shape[0]):
        total = 0.0
        for j in range(numeric.shape[1]):
            total += numeric[i, j] * w[j]
        for j in range(codes.shape[1]):
            total += w_codes[codes[i, j]]
        out[i] = total


@njit(cache=True, error_model="numpy", nogil=True)
def coded_margins_of_four(
    numeric: np.ndarray, codes: np.ndarray, w: np.ndarray, w_codes: np.ndarray, out: np.ndarray
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
        first[i], second[i], third[i], fourth[i] = p, q, r, s


@njit(cache=True, error_model="numpy", nogil=True)
def coded_weighted_sum(
    numeric: np.ndarray, codes: np.ndarray, c: np.ndarray, out: np.ndarray, out_codes: np.ndarray
) -> None:
    for i in range(c.shape[0]):
        weight = c[i]
        for j in range(numeric.shape[1]):
            out[j] += numeric[i, j] * weight
        for j in range(codes.shape[1]):
            out_codes[codes[i, j]] += weight


@njit(cache=True, error_model="numpy", nogil=True)
def coded_weighted_sums_of_four(
    numeric: np.ndarray, codes: np.ndarray, c: np.ndarray, out: np.ndarray, out_codes: np.ndarray
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

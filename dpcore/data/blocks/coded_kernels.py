"""Kernels over coded rows: numbers dense, one gathered or scattered coefficient per category."""

from __future__ import annotations

import numpy as np

from dpcore.exact.compiled import njit

__all__ = [
    "coded_margins",
    "coded_margins_at",
    "coded_square_product",
    "coded_weighted_moments",
    "coded_weighted_sum",
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
def coded_margins_at(
    numeric: np.ndarray, codes: np.ndarray, w: np.ndarray, w_codes: np.ndarray, out: np.ndarray
) -> None:
    # A row's sums for all points side by side, each in the order of coded_margins: the same bits.
    n_points, n_rows = out.shape
    totals = np.empty((64, n_points))
    for first in range(0, n_rows, 64):
        count = min(64, n_rows - first)
        for i in range(count):
            for k in range(n_points):
                totals[i, k] = 0.0
            for j in range(numeric.shape[1]):
                value = np.float64(numeric[first + i, j])
                for k in range(n_points):
                    totals[i, k] += value * w[j, k]
            for j in range(codes.shape[1]):
                code = codes[first + i, j]
                for k in range(n_points):
                    totals[i, k] += w_codes[code, k]
        for k in range(n_points):
            for i in range(count):
                out[k, first + i] = totals[i, k]


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
def coded_square_product(
    numeric: np.ndarray, codes: np.ndarray, v: np.ndarray, v_codes: np.ndarray, out: np.ndarray
) -> None:
    for i in range(out.shape[0]):
        total = 0.0
        for j in range(numeric.shape[1]):
            value = np.float64(numeric[i, j])
            total += value * value * v[j]
        for j in range(codes.shape[1]):
            total += v_codes[codes[i, j]]
        out[i] = total


@njit(cache=True, error_model="numpy", nogil=True)
def coded_weighted_moments(
    numeric: np.ndarray, codes: np.ndarray, c: np.ndarray, out: np.ndarray, out_codes: np.ndarray
) -> None:
    for i in range(c.shape[0]):
        weight = c[i]
        for j in range(numeric.shape[1]):
            value = np.float64(numeric[i, j])
            out[j] += np.trunc(value * value * 65536.0) / 65536.0 * weight
        for j in range(codes.shape[1]):
            out_codes[codes[i, j]] += weight

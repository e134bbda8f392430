"""Products of the rows of many parts, least squares from those of one, and pairs in order."""

import numpy as np

from dpcore.plugin import njit

__all__ = ["add_products", "back_substitute", "eliminate", "pairs_in_order"]


@njit(cache=True, error_model="numpy", nogil=True)
def add_products(rows: np.ndarray, parts: np.ndarray, counts: np.ndarray, out: np.ndarray) -> None:
    """Add the products of every row's entries to the upper triangle of its part's matrix.

    ``rows`` : int64 of shape (n, k). ``parts`` : int64 of shape (n,). ``counts`` : int64, the rows
    of each part. ``out`` : int64 of shape (parts, k (k + 1) / 2), exact modulo 2^64 in any order.
    """
    width = rows.shape[1]
    for i in range(rows.shape[0]):
        part, place = parts[i], 0
        counts[part] += 1
        for j in range(width):
            entry = rows[i, j]
            for k in range(j, width):
                out[part, place] += entry * rows[i, k]
                place += 1


@njit(cache=True, error_model="numpy", nogil=True)
def eliminate(matrix: np.ndarray, least: float, kept: np.ndarray) -> None:
    """Eliminate each column but the last from those behind it, in the upper triangle of a matrix,
    float64 of shape (d + 1, d + 1), in place and in one fixed order.

    A column that is down to less than the share ``least`` by then depends on those before it, up to
    rounding: it is left out, and ``kept``, bool of shape (d,), False.
    """
    size = matrix.shape[0]
    for k in range(size - 1):
        pivot = matrix[k, k]
        kept[k] = pivot > least * abs(matrix[size - 1, k])
        if kept[k]:
            for i in range(k + 1, size - 1):
                factor = matrix[k, i] / pivot
                for j in range(i, size):
                    matrix[i, j] -= factor * matrix[k, j]


@njit(cache=True, error_model="numpy", nogil=True)
def back_substitute(matrix: np.ndarray, kept: np.ndarray, out: np.ndarray) -> None:
    """Write the coefficients of an eliminated matrix to ``out``, float64 of shape (d,), 0 for the
    columns that were left out."""
    d = out.shape[0]
    for k in range(d - 1, -1, -1):
        out[k] = 0.0
        if kept[k]:
            rest = matrix[k, d]
            for j in range(k + 1, d):
                rest -= matrix[k, j] * out[j]
            out[k] = rest / matrix[k, k]


@njit(cache=True, error_model="numpy", nogil=True)
def pairs_in_order(x: np.ndarray, order: np.ndarray, ranks: np.ndarray, tree: np.ndarray) -> int:
    """Return the pairs of rows that two columns have in the same order less those that they have in
    opposite orders; a pair that is equal in one of them is neither.

    ``x`` : one column. ``order`` : int64, places that sort it. ``ranks`` : int64, of the other
    column, from 1, equal ones alike. ``tree`` : int64 zeros, one more than there are ranks: counts
    of ranks below each, in a binary indexed tree (Fenwick 1994).
    """
    total, begin, n = 0, 0, order.size
    for stop in range(1, n + 1):
        total -= begin  # Rows of smaller x: less those of equal or larger rank, twice below.
        for rank in (ranks[order[stop - 1]] - 1, ranks[order[stop - 1]]):
            while rank > 0:
                total += tree[rank]
                rank -= rank & -rank
        if stop == n or x[order[stop]] != x[order[begin]]:
            for place in range(begin, stop):
                rank = ranks[order[place]]
                while rank < tree.size:
                    tree[rank] += 1
                    rank += rank & -rank
            begin = stop
    return total

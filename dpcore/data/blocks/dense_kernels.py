"""Kernels of dense rows: float32 or float64 in C order, sums in float64.

Where both factors are on their grids every product and every partial sum is exact: ``exact_``
kernels leave it to the compiler in which order to add, fused or not, and have the same bits in any.
The others have one order, for factors that may be on no grid. They are ours rather than BLAS, whose
threads would come on top of the engine's.
"""

import numpy as np

from dpcore.exact.compiled import njit

__all__ = [
    "LANES",
    "dense_margins",
    "dense_square_product",
    "dense_weighted_sum",
    "dense_weighted_sums",
    "exact_margins",
    "exact_margins_at",
    "exact_weighted_moments",
    "exact_weighted_sum",
    "exact_weighted_sums_of_two",
    "grid_squares",
    "measure_rows",
    "store_rows",
]

LANES = 8


@njit(cache=True, error_model="numpy", nogil=True, fastmath={"reassoc", "contract"})
def exact_margins(values: np.ndarray, w: np.ndarray, out: np.ndarray) -> None:
    """Write the products to ``out``. ``w`` : on the parameters' grid (``dpcore.exact.grid``), so
    that every partial sum is exact."""
    for i in range(out.shape[0]):
        row, total = values[i], 0.0
        for j in range(w.shape[0]):
            total += row[j] * w[j]
        out[i] = total


@njit(cache=True, error_model="numpy", nogil=True, fastmath={"reassoc", "contract"})
def exact_weighted_sum(values: np.ndarray, c: np.ndarray, out: np.ndarray) -> None:
    """Add the rows four at a time to ``out``. ``c`` : on the coefficients' grid and clipped
    (``coefficient_bits``), so that every partial sum over a block is exact."""
    fours = c.shape[0] - c.shape[0] % 4
    for i in range(0, fours, 4):
        first, second, third, fourth = values[i], values[i + 1], values[i + 2], values[i + 3]
        p, q, r, s = c[i], c[i + 1], c[i + 2], c[i + 3]
        for j in range(out.shape[0]):
            out[j] += (first[j] * p + second[j] * q) + (third[j] * r + fourth[j] * s)
    for i in range(fours, c.shape[0]):
        row, p = values[i], c[i]
        for j in range(out.shape[0]):
            out[j] += row[j] * p


@njit(cache=True, error_model="numpy", nogil=True, fastmath={"reassoc", "contract"})
def exact_margins_at(values: np.ndarray, points: np.ndarray, out: np.ndarray) -> None:
    """Write the products with every point to ``out``, of shape (n_points, n_rows), four at a
    time. ``points`` : each on the parameters' grid, as in ``exact_margins``."""
    fours = out.shape[0] - out.shape[0] % 4
    for k in range(0, fours, 4):
        a, b, c, d = points[k], points[k + 1], points[k + 2], points[k + 3]
        for i in range(out.shape[1]):
            row, p, q, r, s = values[i], 0.0, 0.0, 0.0, 0.0
            for j in range(row.shape[0]):
                x = np.float64(row[j])
                p, q, r, s = p + x * a[j], q + x * b[j], r + x * c[j], s + x * d[j]
            out[k, i], out[k + 1, i], out[k + 2, i], out[k + 3, i] = p, q, r, s
    for k in range(fours, out.shape[0]):
        point = points[k]
        for i in range(out.shape[1]):
            row, p = values[i], 0.0
            for j in range(row.shape[0]):
                p += row[j] * point[j]
            out[k, i] = p


@njit(cache=True, error_model="numpy", nogil=True, fastmath={"reassoc", "contract"})
def exact_weighted_sums_of_two(values: np.ndarray, c: np.ndarray, out: np.ndarray) -> None:
    """Add the rows four at a time to two sums. ``c`` : of shape (2, n_rows), as in
    ``exact_weighted_sum``."""
    fours, first, second, e, f = c.shape[1] - c.shape[1] % 4, out[0], out[1], c[0], c[1]
    for i in range(0, fours, 4):
        a, b, g, d = values[i], values[i + 1], values[i + 2], values[i + 3]
        p, q, r, s = e[i], e[i + 1], e[i + 2], e[i + 3]
        t, u, v, w = f[i], f[i + 1], f[i + 2], f[i + 3]
        for j in range(first.shape[0]):
            x, y, z, o = np.float64(a[j]), np.float64(b[j]), np.float64(g[j]), np.float64(d[j])
            first[j] += (x * p + y * q) + (z * r + o * s)
            second[j] += (x * t + y * u) + (z * v + o * w)
    for i in range(fours, e.shape[0]):
        row, p, q = values[i], e[i], f[i]
        for j in range(first.shape[0]):
            first[j], second[j] = first[j] + row[j] * p, second[j] + row[j] * q


@njit(cache=True, error_model="numpy", nogil=True)
def dense_margins(values: np.ndarray, w: np.ndarray, lanes: np.ndarray, out: np.ndarray) -> None:
    """Write the products to ``out``, from partial sums in ``lanes``: one order for all processors,
    since ``w`` may be on no grid."""
    width = values.shape[1]
    in_lanes = width - width % LANES
    for i in range(out.shape[0]):
        for lane in range(LANES):
            lanes[lane] = 0.0
        for j in range(0, in_lanes, LANES):
            for lane in range(LANES):
                lanes[lane] += values[i, j + lane] * w[j + lane]
        total = 0.0
        for j in range(in_lanes, width):
            total += values[i, j] * w[j]
        for lane in range(LANES):
            total += lanes[lane]
        out[i] = total


@njit(cache=True, error_model="numpy", nogil=True)
def dense_weighted_sum(values: np.ndarray, c: np.ndarray, out: np.ndarray) -> None:
    for i in range(c.shape[0]):
        weight = c[i]
        for j in range(values.shape[1]):
            out[j] += values[i, j] * weight


@njit(cache=True, error_model="numpy", nogil=True)
def dense_weighted_sums(values: np.ndarray, c: np.ndarray, out: np.ndarray) -> None:
    """Add the rows four at a time to each sum. ``c`` : of shape (n_sums, n_rows)."""
    width, fours = values.shape[1], c.shape[1] - c.shape[1] % 4
    for i in range(0, fours, 4):
        first, second, third, fourth = values[i], values[i + 1], values[i + 2], values[i + 3]
        for k in range(c.shape[0]):
            p, q, r, s = c[k, i], c[k, i + 1], c[k, i + 2], c[k, i + 3]
            total = out[k]
            for j in range(width):
                total[j] += (first[j] * p + second[j] * q) + (third[j] * r + fourth[j] * s)
    for i in range(fours, c.shape[1]):
        for k in range(c.shape[0]):
            for j in range(width):
                out[k, j] += values[i, j] * c[k, i]


@njit(cache=True, error_model="numpy", nogil=True)
def exact_weighted_moments(
    values: np.ndarray, per_one: float, c: np.ndarray, out: np.ndarray
) -> None:
    """Add each row's held squares (``Block.weighted_moments``) times its weight to ``out``; sums
    are exact as those of the rows are, since q(x) is at most the size of x. ``per_one`` : steps of
    the feature grid in 1, which a cached kernel would have as they were when it was compiled."""
    for i in range(c.shape[0]):
        row, weight = values[i], c[i]
        for j in range(out.shape[0]):
            size = abs(np.float64(row[j]))
            held = size * size if size < 1.0 else size
            out[j] += np.trunc(held * per_one) / per_one * weight


@njit(cache=True, error_model="numpy", nogil=True)
def dense_square_product(values: np.ndarray, v: np.ndarray, out: np.ndarray) -> None:
    """Write each row's sum of ``v_j x_j^2`` to ``out``: column after column, as in the other
    layouts."""
    for i in range(out.shape[0]):
        row, total = values[i], 0.0
        for j in range(v.shape[0]):
            x = np.float64(row[j])
            total += x * x * v[j]
        out[i] = total


@njit(cache=True, error_model="numpy", nogil=True)
def grid_squares(values: np.ndarray, per_one: float, bound: float, squares: np.ndarray) -> bool:
    """Write each row's sum of squared grid steps to ``squares``, int64, and return whether all
    entries are on the feature grid and of size ``bound`` at most. The square of ``bound`` in steps,
    times the width, is below 2^63."""
    most, fits = bound * per_one, True
    for i in range(values.shape[0]):
        row, total = values[i], np.int64(0)
        for j in range(row.shape[0]):
            steps = np.float64(row[j]) * per_one
            fits &= (abs(steps) <= most) & (np.trunc(steps) == steps)
            whole = np.int64(steps if abs(steps) <= most else 0.0)
            total += whole * whole
        squares[i] = total
    return fits


@njit(cache=True, error_model="numpy", nogil=True)
def measure_rows(X: np.ndarray, more: float, largest: np.ndarray, roots: np.ndarray) -> None:
    """Write each row's largest size, and the root of the sum of squares over it, one after the
    other, as in the other layouts. ``more`` : the size of one more entry, the last, or 0."""
    for i in range(X.shape[0]):
        row, most, total = X[i], more, 0.0
        for j in range(X.shape[1]):
            most = max(most, abs(row[j]))
        unit = most if most > 0.0 else 1.0
        for j in range(X.shape[1]):
            share = row[j] / unit
            total += share * share
        share = more / unit
        largest[i], roots[i] = most, np.sqrt(total + share * share)


@njit(cache=True, error_model="numpy", nogil=True)
def store_rows(
    X: np.ndarray, per_one: float, units: np.ndarray, factors: np.ndarray, out: np.ndarray
) -> None:
    """Write each row over its unit, times its factor, truncated to the feature grid of ``per_one``
    steps in 1, to the first columns of ``out``."""
    for i in range(X.shape[0]):
        row, at, unit, factor = X[i], out[i], units[i], factors[i]
        for j in range(X.shape[1]):
            steps = np.trunc(row[j] / unit * factor * per_one)
            at[j] = steps / per_one + 0.0  # a zero without a sign

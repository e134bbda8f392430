"""The clip of what a row contributes: a coefficient of its vector, or a value of its own."""

import numpy as np

from dpcore.exact.compiled import njit

__all__ = [
    "add_clipped",
    "clip_class_coefficients",
    "clip_coefficients",
    "clip_rows",
    "clipped_total",
]


def clip_rows(
    c: np.ndarray, factor: np.ndarray, norms: np.ndarray, clip: float, scale: float, norm: str
) -> None:
    """Scale each row's coefficients by its factor, clip them against ``clip / norms`` in the norm,
    ``"l1"``, ``"l2"`` or ``"linf"``, and truncate them to 1 / scale, in place.

    A row x with a coefficient c_k for each class contributes the matrix of all c_k x, whose norm,
    over all its entries, is that of c times that of x: one clip for all classes. The largest entry
    of a matrix is that of a class: in l-infinity, each class has a clip of its own.
    ``c`` : float64 of shape (n_rows,), or (n_classes, n_rows).
    """
    if c.ndim == 1:
        clip_coefficients(c, factor, norms, clip, scale)
    elif norm == "linf":
        for each in c:
            clip_coefficients(each, factor, norms, clip, scale)
    else:
        clip_class_coefficients(c, factor, norms, clip, scale, norm == "l1", np.zeros(c.shape[1]))


@njit(cache=True, error_model="numpy", nogil=True)
def clip_coefficients(
    c: np.ndarray, factor: np.ndarray, norms: np.ndarray, clip: float, scale: float
) -> None:
    """Scale ``c`` by the row's factor, clip it to ``clip / norms``, and truncate it to 1 / scale.

    The quotient rounds to nearest; 2^-52 of it taken off puts the limit below the real one.
    Finite and within: kept; finite and above: the limit; not finite (or a row of zeros): zero.
    """
    step = 1.0 / scale
    for i in range(c.shape[0]):
        t = c[i] * factor[i]
        quotient = clip / (norms[i] if norms[i] > 0.0 else np.inf)
        limit = quotient - quotient * 2.220446049250313e-16
        size = abs(t)
        kept = (size if size <= limit else limit) if size < np.inf else 0.0
        steps = np.trunc(kept * scale)
        c[i] = (steps if t > 0.0 else -steps) * step


@njit(cache=True, error_model="numpy", nogil=True)
def clip_class_coefficients(
    c: np.ndarray,
    factor: np.ndarray,
    norms: np.ndarray,
    clip: float,
    scale: float,
    is_l1: bool,
    shares: np.ndarray,
) -> None:
    """Do what ``clip_coefficients`` does to the norm of a row's coefficients of all classes.

    A sum of K sizes or squares and a root round by less than (K + 8) 2^-52 of it: ``size`` is an
    upper bound, and 2^-50 taken off the share leaves every product below the real one; truncation
    towards zero lowers it further. A square that underflows is of a coefficient far below 1 /
    scale, which truncation takes away. Not finite, or above 2^900: the row is left out.
    ``shares`` : float64 zeros of shape (n_rows,), written on.
    """
    slack, step = 1.0 + (c.shape[0] + 8.0) * 2.220446049250313e-16, 1.0 / scale
    for k in range(c.shape[0]):
        for i in range(c.shape[1]):
            t = c[k, i] * factor[i]
            c[k, i] = t
            shares[i] += abs(t) if is_l1 else t * t
    for i in range(c.shape[1]):
        quotient = clip / (norms[i] if norms[i] > 0.0 else np.inf)
        limit = quotient - quotient * 2.220446049250313e-16
        size = (shares[i] if is_l1 else np.sqrt(shares[i])) * slack
        share = 1.0 if size <= limit else limit / size * (1.0 - 8.881784197001252e-16)
        # Beyond, a quotient could have too few digits left for its margin.
        shares[i] = share if size < 2.0**900 else 0.0
    for k in range(c.shape[0]):
        for i in range(c.shape[1]):
            t = c[k, i] * shares[i]
            steps = np.trunc((abs(t) if abs(t) < np.inf else 0.0) * scale)
            c[k, i] = (steps if t > 0.0 else -steps) * step


@njit(cache=True, error_model="numpy", nogil=True)
def add_clipped(
    values: np.ndarray,
    each: float,
    clip: float,
    scale: float,
    is_l1: bool,
    shares: np.ndarray,
    total: np.ndarray,
) -> None:
    """Add the clipped rows of ``values`` to ``total``, int64, in whole steps. Each number is
    clipped to the size ``each`` by itself, each row to the norm ``clip``, and truncated to 1 /
    scale, a power of two; what is not finite counts as 0. Of one of these bounds, infinity is none.

    A number within ``each`` stays within: a product with a power of two is exact. Some rows at a
    time, which a cache holds. ``shares`` : float64 of shape (n_rows,), written on.
    """
    for begin in range(0, values.shape[0], 32):
        rows, of_rows = values[begin : begin + 32], shares[begin : begin + 32]
        numbers = rows.reshape(-1)
        for k in range(numbers.shape[0]):
            t = numbers[k] if abs(numbers[k]) < np.inf else 0.0
            numbers[k] = min(max(t, -each), each)
        _fill_sizes(rows, is_l1, of_rows)
        _sizes_to_shares(of_rows, rows.shape[1], clip, is_l1)
        for i in range(rows.shape[0]):
            row, is_whole = rows[i], of_rows[i] < 0.0
            for k in range(row.shape[0] if is_whole else 0):
                is_whole = is_whole and row[k] == np.floor(row[k])
            share = 1.0 if is_whole else abs(of_rows[i])
            for k in range(row.shape[0]):
                total[k] += np.int64(np.trunc(row[k] * share * scale))


@njit(error_model="numpy", fastmath=False)
def _fill_sizes(rows: np.ndarray, is_l1: bool, sizes: np.ndarray) -> None:
    """Fill ``sizes`` with each row's sum of sizes or squares, in the order of its numbers: of eight
    rows side by side, for one alone waits for each sum."""
    for i in range(0, rows.shape[0], 8):
        m = min(7, rows.shape[0] - 1 - i)
        p = q = r = s = t = u = v = w = 0.0
        for k in range(rows.shape[1]):
            # Conditions, and no function: the compiler makes a loop for each norm of them.
            p, q, r, s, t, u, v, w = (
                p + (abs(rows[i, k]) if is_l1 else rows[i, k] ** 2),
                q + (abs(rows[i + min(1, m), k]) if is_l1 else rows[i + min(1, m), k] ** 2),
                r + (abs(rows[i + min(2, m), k]) if is_l1 else rows[i + min(2, m), k] ** 2),
                s + (abs(rows[i + min(3, m), k]) if is_l1 else rows[i + min(3, m), k] ** 2),
                t + (abs(rows[i + min(4, m), k]) if is_l1 else rows[i + min(4, m), k] ** 2),
                u + (abs(rows[i + min(5, m), k]) if is_l1 else rows[i + min(5, m), k] ** 2),
                v + (abs(rows[i + min(6, m), k]) if is_l1 else rows[i + min(6, m), k] ** 2),
                w + (abs(rows[i + m, k]) if is_l1 else rows[i + m, k] ** 2),
            )
        for j in range(m + 1):
            sizes[i + j] = (p, q, r, s, t, u, v, w)[j]


@njit(error_model="numpy", fastmath=False)
def _sizes_to_shares(sizes: np.ndarray, width: int, clip: float, is_l1: bool) -> None:
    """Put into the place of each row's sum of sizes or squares what to multiply its ``width``
    numbers with, so that their norm is ``clip`` at most: below 0 what is 1 for whole numbers.

    The bound is that of ``clip_class_coefficients``: ``size`` is above the real norm, and 2^-50
    taken off the share leaves every product below the real one. Of whole numbers and a whole clip
    the sum is exact below 2^52, and compared as it is: a row at the clip, as a count of 1, stays.
    """
    slack, most = 1.0 + (width + 8.0) * 2.0**-52, clip if is_l1 else clip * clip
    for i in range(sizes.shape[0]):
        is_within = clip == np.floor(clip) and sizes[i] <= most and sizes[i] < 2.0**52
        size = (sizes[i] if is_l1 else np.sqrt(sizes[i])) * slack
        share = clip / size * (1.0 - 8.881784197001252e-16) if size > clip else 1.0
        # Beyond, a quotient could have too few digits left for its margin.
        share = share if size < 2.0**900 else 0.0
        sizes[i] = -share if is_within and size > clip else share


@njit(cache=True, error_model="numpy", nogil=True)
def clipped_total(values: np.ndarray, clip: float, scale: float) -> np.int64:
    """Return the sum of the values clipped to [0, clip] and truncated to 1 / scale, in steps.

    Infinity and NaN fall into the clip.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.plugin.parts import clipped_total
    >>> int(clipped_total(np.array([-1.0, 0.5, np.inf]), 1.0, 4.0))  # in quarters
    6
    """
    total = np.int64(0)
    for i in range(values.shape[0]):
        v = values[i] if values[i] < clip else clip
        total += np.int64((v if v > 0.0 else 0.0) * scale)
    return total

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
    values: np.ndarray, each: float, clip: float, scale: float, is_l1: bool, total: np.ndarray
) -> None:
    """Add the clipped rows of ``values`` to ``total``, int64, in whole steps. Each number is
    clipped to the size ``each`` by itself, each row to the norm ``clip``, and truncated to 1 /
    scale, a power of two; what is not finite counts as 0. Of one of these bounds, infinity is none.

    A number within ``each`` stays within: a product with a power of two is exact. Sizes of four
    rows are added up side by side, each in the order of its numbers: one alone waits for each sum.
    """
    n = values.shape[0]
    for i in range(0, n, 4):
        for j in range(min(4, n - i)):
            for k in range(values.shape[1]):
                t = values[i + j, k] if abs(values[i + j, k]) < np.inf else 0.0
                values[i + j, k] = min(max(t, -each), each)
        b, c, d = values[min(i + 1, n - 1)], values[min(i + 2, n - 1)], values[min(i + 3, n - 1)]
        sizes = _sizes_of_four(values[i], b, c, d, is_l1)
        for j in range(min(4, n - i)):
            row = values[i + j]
            share = _share_of_row(row, sizes[j], clip, is_l1)
            for k in range(row.shape[0]):
                total[k] += np.int64(np.trunc(row[k] * share * scale))


@njit(error_model="numpy", fastmath=False)
def _sizes_of_four(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray, is_l1: bool
) -> tuple[float, float, float, float]:
    """Return the sums of sizes of four rows, or of squares."""
    p = q = r = s = 0.0
    for k in range(a.shape[0]):
        t, u, v, w = abs(a[k]), abs(b[k]), abs(c[k]), abs(d[k])
        p, q = p + (t if is_l1 else t * t), q + (u if is_l1 else u * u)
        r, s = r + (v if is_l1 else v * v), s + (w if is_l1 else w * w)
    return p, q, r, s


@njit(error_model="numpy", fastmath=False)
def _share_of_row(row: np.ndarray, size: float, clip: float, is_l1: bool) -> float:
    """Return what to multiply finite numbers with, so that their norm is ``clip`` at most; ``size``
    is their sum of sizes or squares.

    The bound is that of ``clip_class_coefficients``: ``size`` is above the real norm, and 2^-50
    taken off the share leaves every product below the real one. Of whole numbers and a whole clip
    the sum is exact below 2^52, and compared as it is: a row at the clip, as a count of 1, stays.
    """
    is_within = (
        clip == np.floor(clip) and size <= (clip if is_l1 else clip * clip) and size < 2.0**52
    )
    size = (size if is_l1 else np.sqrt(size)) * (1.0 + (row.shape[0] + 8.0) * 2.0**-52)
    for k in range(row.shape[0] if is_within and size > clip else 0):
        is_within = is_within and row[k] == np.floor(row[k])
    is_over = size > clip and not is_within
    share = clip / size * (1.0 - 8.881784197001252e-16) if is_over else 1.0
    return share if size < 2.0**900 else 0.0


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

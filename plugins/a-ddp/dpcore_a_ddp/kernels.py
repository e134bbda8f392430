"""The loops over the rows that users drew, of all users at once, and the first stage of the Skellam
distribution."""

import numpy as np

from dpcore.plugin import njit

__all__ = ["add_drawn", "drawn_margins", "integer_first"]

_ONE = np.uint64(1)
_SIX = np.uint64(6)
_63 = np.uint64(63)
_NEXT = np.int64(1)


@njit(cache=True, error_model="numpy", nogil=True)
def drawn_margins(
    indptr: np.ndarray,
    indices: np.ndarray,
    values: np.ndarray,
    rows: np.ndarray,
    w: np.ndarray,
    out: np.ndarray,
) -> None:
    """Fill ``out`` with the products of drawn rows and ``w``, before the rows' factors. They are
    exact in any order: ``w`` and the values are on their grids."""
    for i in range(rows.shape[0]):
        total = 0.0
        for j in range(indptr[rows[i]], indptr[rows[i] + 1]):
            total += values[j] * w[indices[j]]
        out[i] = total


@njit(cache=True, error_model="numpy", nogil=True)
def add_drawn(
    indptr: np.ndarray,
    indices: np.ndarray,
    values: np.ndarray,
    rows: np.ndarray,
    places: np.ndarray,
    c: np.ndarray,
    scale: float,
    out: np.ndarray,
) -> None:
    """Add each drawn record, truncated by itself to steps of 1 / scale, to its user's sum."""
    for i in range(rows.shape[0]):
        weight = c[i] * scale
        for j in range(indptr[rows[i]], indptr[rows[i] + 1]):
            out[places[i], indices[j]] += np.int64(np.trunc(weight * values[j]))


@njit(cache=True, error_model="numpy", nogil=True)
def integer_first(
    words: np.ndarray,
    bits: np.uint64,
    guide: np.ndarray,
    guide_shift: np.uint64,
    low: np.ndarray,
    high: np.ndarray,
    out: np.ndarray,
    pending: np.ndarray,
) -> int:
    """Fill ``out`` with integers of a symmetric distribution, each decided by ``bits`` bits, cut
    from ``words`` in turn: the sign first, then v. Return how many are undecided: ``pending``
    (int64) lists them, and ``out`` holds their bits.

    ``low``, ``high`` (uint32, falling) : around ``2**bits`` P(X >= k); the last is open at both
    sides. ``guide`` (uint32) : by the leading bits of v, how many of ``low`` from k = 1 on are
    larger for certain.
    """
    count = 0
    sign = _ONE << (bits - _ONE)
    for i in range(out.size):
        place = np.uint64(i) * bits
        at, offset = place >> _SIX, place & _63
        digits = (words[at] >> offset) | ((words[at + _ONE] << _ONE) << (_63 - offset))
        v = digits & (sign - _ONE)
        size = np.int64(guide[v >> guide_shift])
        while v < low[size + _NEXT]:
            size += _NEXT
        if v <= high[size + _NEXT]:
            pending[count] = i
            count += 1
            out[i] = np.int64(digits & ((sign << _ONE) - _ONE))
        else:
            out[i] = -size if digits & sign else size
    return count

"""Kernels of ``dpcore.noise.normal``: from digits of a uniform number to integers.

The first bit of the row of digits is the sign, the others are those of 2v. A row of the table is
found by the exponent and the leading bits of v as a float64. IEEE operations alone, none of them
fused or reordered, so the compiled and the interpreted kernels agree to the bit.
"""

import numpy as np

from dpcore.exact.compiled import njit

__all__ = ["normal_first", "normal_second", "normal_wide"]

_ONE = np.uint64(1)
_SIX = np.uint64(6)
_63 = np.uint64(63)
_11 = np.uint64(11)
_ROW_SHIFT = np.int64(46)
_ROW_REST = np.int64((1 << 46) - 1)
_NO_ROW = np.int64(0)
_TO_UNIT = 2.0**-45
_SIZE = np.int64((1 << 63) - 1)
_DROPPED = np.int64(11)
_MANTISSA = np.int64(52)
_REST_BITS = np.int64(1023 + 6 - 11)
_LEAST_WIDE = np.int64(1 << 39)
_WORD = 2.0**-53


@njit(cache=True, error_model="numpy", nogil=True)
def normal_first(
    words: np.ndarray,
    bits: np.uint64,
    least: np.int64,
    table: np.ndarray,
    radius: np.ndarray,
    scale: float,
    base: np.int64,
    out: np.ndarray,
    pending: np.ndarray,
) -> int:
    """Fill ``out`` (int64) with floors decided by ``bits`` bits each, cut from ``words`` in turn.

    Returns how many are undecided: ``pending`` (int64) lists them, and ``out`` holds their bits.
    Digits of v below ``least`` are among them. ``words`` has one word more than the bits take.
    """
    count = 0
    sign = _ONE << (bits - _ONE)
    for i in range(out.size):
        place = np.uint64(i) * bits
        at, offset = place >> _SIX, place & _63
        digits = (words[at] >> offset) | ((words[at + _ONE] << _ONE) << (_63 - offset))
        k = np.int64(digits & (sign - _ONE))
        f = np.float64(k) + 0.5
        pattern = np.float64(f).view(np.int64)
        row = max((pattern >> _ROW_SHIFT) - base, _NO_ROW)
        s = np.float64(pattern & _ROW_REST) * _TO_UNIT - 1.0
        c = table[row]
        y = scale * (c[0] + s * (c[1] + s * (c[2] + s * c[3])))
        low = np.floor(y - radius[row])
        value = np.int64(low)
        if low != np.floor(y + radius[row]) or k < least:
            pending[count] = i
            count += 1
            out[i] = np.int64(digits & ((sign << _ONE) - _ONE))
        else:
            out[i] = ~value if digits & sign else value
    return count


@njit(cache=True, error_model="numpy", nogil=True)
def normal_second(
    digits: np.ndarray,
    words: np.ndarray,
    bits: np.uint64,
    table: np.ndarray,
    radius: np.ndarray,
    scale: float,
    base: np.int64,
    out: np.ndarray,
    undecided: np.ndarray,
) -> None:
    """Fill ``out`` with floors decided by ``digits`` (int64, ``bits`` bits each) and 64 bits more.

    ``undecided`` (bool) marks the deviates that ``out`` says nothing of.
    """
    sign = np.int64(_ONE << (bits - _ONE))
    last = np.int64(radius.size - 1)
    for i in range(out.size):
        k = digits[i] & (sign - 1)
        f = np.float64(k) + (np.float64(words[i] >> _11) + 0.5) * _WORD
        pattern = np.float64(f).view(np.int64)
        row = (pattern >> _ROW_SHIFT) - base
        undecided[i] = row < 0 or row >= radius.size
        row = max(_NO_ROW, min(row, last))
        s = np.float64(pattern & _ROW_REST) * _TO_UNIT - 1.0
        x = table[row, 7]
        for n in range(6, -1, -1):
            x = x * s + table[row, n]
        y = scale * x
        low = np.floor(y - radius[row])
        value = np.int64(low)
        undecided[i] |= low != np.floor(y + radius[row])
        out[i] = ~value if digits[i] & sign else value


@njit(cache=True, error_model="numpy", nogil=True)
def normal_wide(
    words: np.ndarray,
    table: np.ndarray,
    whole: np.ndarray,
    part: np.ndarray,
    radius: np.ndarray,
    scale: float,
    base: np.int64,
    out: np.ndarray,
    pending: np.ndarray,
) -> int:
    """Fill ``out`` (int64) with floors decided by one of ``words`` (int64) each, in turn.

    A row's constant term times the scale is ``whole`` and ``part``. Returns how many are undecided:
    ``pending`` (int64) lists them, and ``out`` holds their words.
    """
    count = 0
    for i in range(out.size):
        k = words[i] & _SIZE
        pattern = np.float64(k >> _DROPPED).view(np.int64)
        row = max((pattern >> _ROW_SHIFT) - base, _NO_ROW)
        one = np.int64(1) << max((pattern >> _MANTISSA) - _REST_BITS, _NO_ROW)
        s = np.float64(2 * (k & (one - 1)) + 1 - one) / np.float64(one)
        x = table[row, 7]
        for n in range(6, 0, -1):
            x = x * s + table[row, n]
        y = part[row] + scale * (s * x)
        low = np.floor(y - radius[row])
        if low != np.floor(y + radius[row]) or k < _LEAST_WIDE:
            pending[count] = i
            count += 1
            out[i] = words[i]
        else:
            value = whole[row] + np.int64(low)
            out[i] = ~value if words[i] < 0 else value
    return count

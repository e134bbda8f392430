"""The loops over the rows: of one candidate step, and of logistic losses at evenly spaced ones."""

import numpy as np

from dpcore.plugin import njit

__all__ = ["logistic_line_totals", "line_margins"]

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_ROUND = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to an integer held in the low bits
_LARGEST = 700.0  # exp(700) and exp(-700) are normal float64; exponents are held between them
_LN2 = 0.6931471805599453
_TWO_23 = 8388608.0


@njit(cache=True, error_model="numpy", nogil=True)
def line_margins(
    z: np.ndarray, z_direction: np.ndarray, step: float, factor: np.ndarray, out: np.ndarray
) -> None:
    """Fill ``out`` with the margins of ``w - step * direction``, from the raw ones of both."""
    for i in range(out.shape[0]):
        out[i] = (z[i] - step * z_direction[i]) * factor[i]


@njit(cache=True, error_model="numpy", nogil=True)
def logistic_line_totals(
    z: np.ndarray,
    z_direction: np.ndarray,
    factor: np.ndarray,
    y: np.ndarray,
    step: float,
    clip: float,
    cap: float,
    scale: float,
    buffer: np.ndarray,
    narrow: np.ndarray,
    totals: np.ndarray,
) -> None:
    """Add each candidate's losses to ``totals``, in steps of 1 / scale: each rounded to a whole
    step and at most ``clip``, a multiple of it, fewer than 2^22 of them. Exponents are held to
    [-700, 700]: beyond, a row's loss may be another value from 0 to the clip, of that row alone.

    Exponentials are float64, their logarithms float32, as fine as the steps. ``scale`` is a power
    of two: adding ``2^23 / scale``, above the clip, rounds to whole steps, which then are the low
    bits. ``narrow`` : float32, as long as the rows of ``buffer``.
    """
    e, r = buffer[0], buffer[1]
    most, to_steps = np.float32(clip), np.float32(_TWO_23 / scale)
    offset = to_steps.view(np.uint32)
    for start in range(0, z.shape[0], e.shape[0]):
        # Slices, so that the loops index from 0: an offset costs the compiler its vectors.
        rows = slice(start, min(start + e.shape[0], z.shape[0]))
        at, along, scaled, sign = z[rows], z_direction[rows], factor[rows], y[rows]
        n = at.shape[0]
        for i in range(n):
            signed = sign[i] * scaled[i]
            e[i] = _exp(-(signed * at[i]))
            r[i] = _exp(signed * along[i] * step)
        for k in range(totals.shape[0]):
            for i in range(n):
                t = e[i]
                e[i] = t * r[i]
                narrow[i] = t if t < cap else cap
            total = np.uint32(0)
            for i in range(n):
                v = _log_above_one(narrow[i])
                held = np.float32((v if v < most else most) + to_steps).view(np.uint32)
                total = np.uint32(total + np.uint32(held - offset))
            totals[k] += np.int64(total)


# A copy of the core's, whose file a cached kernel of another file does not follow.
# fastmath=False in so many words: otherwise numba hands a caller's fastmath down to this function.
@njit(error_model="numpy", fastmath=False)
def _exp(t: float) -> float:
    """Return exp(t), t held to [-700, 700]: 2^k exp(r), |r| <= ln(2)/2, Taylor to r^9."""
    t = t if t > -_LARGEST else -_LARGEST
    t = t if t < _LARGEST else _LARGEST
    shifted = t * _LOG2_E + _ROUND
    k = shifted - _ROUND
    r = (t - k * _LN2_HIGH) - k * _LN2_LOW
    p = 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    # The low bits of ``shifted`` are k: moved to the exponent and added, they scale p by 2^k.
    exponent = np.int64(np.float64(shifted).view(np.int64)) << np.int64(52)
    return np.int64(np.float64(p).view(np.int64) + exponent).view(np.float64)


@njit(error_model="numpy", fastmath=False)
def _log_above_one(t: np.float32) -> np.float32:
    """Return log(1 + t) for t from 0 to 2^100, both float32: exponent k and mantissa m of 1 + t, m
    in [sqrt(1/2), sqrt(2)), and f P(f) for log m, f = m - 1, P fitted for the smallest largest
    error, 4e-8. Not negative: k = 0 has f >= 0. A wider type anywhere would halve the speed."""
    half, one, two_23 = np.uint32(0x3F3504F3), np.float32(1.0), np.float32(_TWO_23)
    above = np.uint32(np.float32(one + t).view(np.uint32) - half)  # the bits of sqrt(1/2)
    exponent = np.uint32(np.uint32(above >> np.uint32(23)) | np.uint32(0x4B000000))
    mantissa = np.uint32(np.uint32(above & np.uint32(0x007FFFFF)) + half)
    f = np.float32(mantissa.view(np.float32) - one)
    p = np.float32(-0.10102213837831804) * f + np.float32(0.16419982395876)
    p = p * f - np.float32(0.17333469827248263)
    p = p * f + np.float32(0.19873047630781576)
    p = p * f - np.float32(0.24959343528768052)
    p = p * f + np.float32(0.33336181970464546)
    p = p * f - np.float32(0.5000066740201076)
    p = p * f + np.float32(0.9999998139200694)
    return f * p + (exponent.view(np.float32) - two_23) * np.float32(_LN2)

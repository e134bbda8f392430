"""Logistic loss ``log(1 + exp(-y z))``, and that of several classes, by polynomials: plain IEEE
operations, no libm.

The same expression for every row, without reassociation or contraction, gives the same bits
whatever the row's place and the compiler's vector width. Absolute error below 1e-11, |z| up to 700.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcore.exact.compiled import njit
from dpcore.privacy.immutable import sealed

__all__ = ["Logistic", "Softmax"]

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_ROUND = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to an integer held in the low bits
_LARGEST = 700.0  # exp(700) and exp(-700) are normal float64; exponents are held between them
_LN2 = 0.6931471805599453
_SQRT_HALF = 0x3FE6A09E667F3BCD  # its bits: mantissas are taken in [sqrt(1/2), sqrt(2))
_MANTISSA = 0x000FFFFFFFFFFFFF
_TWO_52 = 4503599627370496.0
_TWO_52_BITS = 0x4330000000000000
_CHUNK = 1024
_LINE_CLIP, _LINE_STEPS = 64.0, 2**22  # e^64 is a normal float32; a chunk has below 2^32 steps
_TWO_23 = 8388608.0


@sealed
@dataclass(frozen=True, slots=True)
class Logistic:
    """Logistic loss: ``|l'| <= 1``, ``l'' <= 1/4`` in the margin."""

    name: ClassVar[str] = "logistic"
    classification: ClassVar[bool] = True
    convex: ClassVar[bool] = True
    nonincreasing: ClassVar[bool] = True
    radial_slope: ClassVar[float] = 0.27846454276107396 * (1.0 + 2.0**-40)  # W(1/e), rounded up
    # The second derivative is p (1 - p), the third (1 - 2 p) times it (Bach 2010, section 2).
    self_concordance: ClassVar[float] = 1.0
    thread_safe: ClassVar[bool] = True
    lipschitz = 1.0
    smoothness = 0.25

    def value(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        logistic_value(z, y, out)

    def dvalue(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        logistic_dvalue(z, y, out)

    def precise_dvalue(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        # The platform's exp: within 2^-46 if that is within 32 units of the last place (those of
        # NumPy and C libraries claim 4).
        out[:] = -y / (1.0 + np.exp(np.clip(y * z, -_LARGEST, _LARGEST)))

    def line_totals(
        self,
        line: tuple[np.ndarray, np.ndarray, np.ndarray],
        y: np.ndarray,
        step: float,
        count: int,
        clip: float,
        scale: float,
    ) -> np.ndarray | None:
        # exp(-y (z - k step d)) = E R^k: two exponentials a row for all candidates.
        steps = math.floor(clip * scale)
        if clip > _LINE_CLIP or steps >= _LINE_STEPS:
            return None
        totals = np.zeros(count, dtype=np.int64)
        # A power of two above e^clip: what is beyond it would be clipped anyway.
        cap = math.ldexp(1.0, math.ceil(clip * _LOG2_E) + 1)
        buffer, narrow = np.empty((2, _CHUNK)), np.empty(_CHUNK, np.float32)
        logistic_line_totals(*line, y, step, steps / scale, cap, scale, buffer, narrow, totals)
        return totals


@sealed
@dataclass(frozen=True, slots=True)
class Softmax:
    """Logistic loss of several classes, ``log(sum_k exp(z_k)) - z_y``.

    Slopes are p - e_y, p the softmax of z: ||p - e_y||^2 = (1 - p_y)^2 + sum of the other p_k^2, at
    most 2 (1 - p_y)^2, so that their l2 norm is at most sqrt(2). Their derivative in z is
    diag(p) - p p': v' times it times v is the variance of the entries of v under p, from 0 to
    (max v - min v)^2 / 4 (Popoviciu 1935), at most ||v||^2 / 2: a Lipschitz constant of 1/2, and
    convex. The arrays are of shape (n_classes, n_rows), so that exponentials run along the rows.
    """

    name: ClassVar[str] = "softmax"
    classification: ClassVar[bool] = True
    multiclass: ClassVar[bool] = True
    convex: ClassVar[bool] = True
    thread_safe: ClassVar[bool] = True
    lipschitz = 1.4142135623730951  # above sqrt(2)
    smoothness = 0.5

    def value(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        softmax_value(z, y, np.empty((2, _CHUNK)), out)

    def dvalue(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        softmax_dvalue(z, y, np.empty((2, _CHUNK)), out)


@njit(cache=True, error_model="numpy", nogil=True)
def logistic_value(z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    """Fill ``out`` with the rows' losses."""
    for i in range(z.shape[0]):
        m = y[i] * z[i]
        e = _exp(-abs(m))
        # log1p(e) = 2 atanh(u), u = e / (2 + e) <= 1/3.
        u = e / (2.0 + e)
        out[i] = 2.0 * u * _atanh_over_u(u) + (-m if m < 0.0 else 0.0)


@njit(cache=True, error_model="numpy", nogil=True)
def logistic_dvalue(z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    """Fill ``out`` with the rows' slopes."""
    for i in range(z.shape[0]):
        m = y[i] * z[i]
        e = _exp(-abs(m))
        out[i] = -y[i] * ((e if m > 0.0 else 1.0) / (1.0 + e))


@njit(cache=True, error_model="numpy", nogil=True)
def softmax_dvalue(z: np.ndarray, y: np.ndarray, buffer: np.ndarray, out: np.ndarray) -> None:
    """Fill ``out`` with the rows' slopes, of the shape of ``z``."""
    highest, total = buffer[0], buffer[1]
    for start in range(0, z.shape[1], buffer.shape[1]):
        # One class after the other, in slices that index from 0, as in logistic_line_totals.
        rows = slice(start, min(start + buffer.shape[1], z.shape[1]))
        place = y[rows]
        n = place.shape[0]
        for i in range(n):
            highest[i], total[i] = -np.inf, 0.0
        for k in range(z.shape[0]):
            at = z[k][rows]
            for i in range(n):
                highest[i] = at[i] if at[i] > highest[i] else highest[i]
        for k in range(z.shape[0]):
            at, slopes = z[k][rows], out[k][rows]
            for i in range(n):
                e = _exp(at[i] - highest[i])
                slopes[i] = e
                total[i] += e
        for k in range(z.shape[0]):
            slopes = out[k][rows]
            for i in range(n):
                slopes[i] = slopes[i] / total[i] - (1.0 if place[i] == k else 0.0)


@njit(cache=True, error_model="numpy", nogil=True)
def softmax_value(z: np.ndarray, y: np.ndarray, buffer: np.ndarray, out: np.ndarray) -> None:
    """Fill ``out`` with the rows' losses: log(total), total >= 1, by log(m) = 2 atanh(u) with
    u = (m - 1) / (m + 1), |u| < .172 for a mantissa m in [sqrt(1/2), sqrt(2))."""
    highest, total = buffer[0], buffer[1]
    for start in range(0, z.shape[1], buffer.shape[1]):
        rows = slice(start, min(start + buffer.shape[1], z.shape[1]))
        place, values = y[rows], out[rows]
        n = place.shape[0]
        for i in range(n):
            highest[i], total[i], values[i] = -np.inf, 0.0, 0.0
        for k in range(z.shape[0]):
            at = z[k][rows]
            for i in range(n):
                highest[i] = at[i] if at[i] > highest[i] else highest[i]
        for k in range(z.shape[0]):
            at = z[k][rows]
            for i in range(n):
                below = at[i] - highest[i]
                total[i] += _exp(below)
                values[i] = -below if place[i] == k else values[i]
        for i in range(n):
            m, whole = _mantissa_and_log(total[i])
            u = (m - 1.0) / (m + 1.0)
            values[i] = values[i] + (2.0 * u * _atanh_over_u(u) + whole)


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
def _atanh_over_u(u: float) -> float:
    """Return atanh(u) / u, |u| <= 1/3: the odd series to u^21."""
    q = u * u
    s = 1.0 / 21.0
    s = s * q + 1.0 / 19.0
    s = s * q + 1.0 / 17.0
    s = s * q + 1.0 / 15.0
    s = s * q + 1.0 / 13.0
    s = s * q + 1.0 / 11.0
    s = s * q + 1.0 / 9.0
    s = s * q + 1.0 / 7.0
    s = s * q + 1.0 / 5.0
    s = s * q + 1.0 / 3.0
    s = s * q + 1.0
    return s


@njit(error_model="numpy", fastmath=False)
def _mantissa_and_log(x: float) -> tuple[float, float]:
    """Return m in [sqrt(1/2), sqrt(2)) and k log(2) of x = 2^k m, x >= 1."""
    above = np.uint64(np.float64(x).view(np.uint64)) - np.uint64(_SQRT_HALF)
    exponent = (above >> np.uint64(52)) | np.uint64(_TWO_52_BITS)
    mantissa = (above & np.uint64(_MANTISSA)) + np.uint64(_SQRT_HALF)
    whole = (np.uint64(exponent).view(np.float64) - _TWO_52) * _LN2
    return np.uint64(mantissa).view(np.float64), whole


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

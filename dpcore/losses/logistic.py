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
_EXP = (*(1.0 / math.factorial(k) for k in range(8, 1, -1)), 1.0, 1.0)
_ATANH = tuple(1.0 / k for k in range(19, 0, -2))
_CHUNK = 1024


@sealed
@dataclass(frozen=True, slots=True)
class Logistic:
    """Logistic loss: ``|l'| <= 1``, ``l'' <= 1/4`` in the margin.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.plugin.parts import Logistic
    >>> losses = np.empty(1)
    >>> Logistic().value(np.array([0.0]), np.array([1.0]), losses)
    >>> round(float(losses[0]), 6)  # log(2)
    0.693147
    """

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
        # One class after the other, in slices, so that the loops index from 0: an offset costs the
        # compiler its vectors.
        rows = slice(start, min(start + buffer.shape[1], z.shape[1]))
        place, n = y[rows], y[rows].shape[0]
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
    """Fill ``out`` with the rows' losses, log(total) with total >= 1. The logarithm is log(m) = 2
    atanh(u) with u = (m - 1) / (m + 1), |u| < .172 for a mantissa m in [sqrt(1/2), sqrt(2))."""
    highest, total = buffer[0], buffer[1]
    for start in range(0, z.shape[1], buffer.shape[1]):
        rows = slice(start, min(start + buffer.shape[1], z.shape[1]))
        place, values, n = y[rows], out[rows], y[rows].shape[0]
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


# fastmath=False in so many words: otherwise numba hands a caller's fastmath down to this function.
@njit(error_model="numpy", fastmath=False)
def _exp(t: float) -> float:
    """Return exp(t), t held to [-700, 700]: 2^k exp(r), |r| <= ln(2)/2, Taylor to r^9."""
    t = (t if t < _LARGEST else _LARGEST) if t > -_LARGEST else -_LARGEST
    shifted = t * _LOG2_E + _ROUND
    k = shifted - _ROUND
    r = (t - k * _LN2_HIGH) - k * _LN2_LOW
    p = 1.0 / 362880.0
    for factor in _EXP:
        p = p * r + factor
    # The low bits of ``shifted`` are k: moved to the exponent and added, they scale p by 2^k.
    exponent = np.int64(np.float64(shifted).view(np.int64)) << np.int64(52)
    return np.int64(np.float64(p).view(np.int64) + exponent).view(np.float64)


@njit(error_model="numpy", fastmath=False)
def _atanh_over_u(u: float) -> float:
    """Return atanh(u) / u, |u| <= 1/3: the odd series to u^21."""
    q, s = u * u, 1.0 / 21.0
    for factor in _ATANH:
        s = s * q + factor
    return s


@njit(error_model="numpy", fastmath=False)
def _mantissa_and_log(x: float) -> tuple[float, float]:
    """Return m in [sqrt(1/2), sqrt(2)) and k log(2) of x = 2^k m, x >= 1."""
    above = np.uint64(np.float64(x).view(np.uint64)) - np.uint64(_SQRT_HALF)
    exponent = (above >> np.uint64(52)) | np.uint64(_TWO_52_BITS)
    mantissa = (above & np.uint64(_MANTISSA)) + np.uint64(_SQRT_HALF)
    whole = (np.uint64(exponent).view(np.float64) - _TWO_52) * _LN2
    return np.uint64(mantissa).view(np.float64), whole

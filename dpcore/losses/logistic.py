"""Logistic loss ``log(1 + exp(-y z))`` by polynomials: plain IEEE operations, no libm.

The same expression for every row, without reassociation or contraction, gives the same bits
wherever the row stands and whatever vector width the compiler chose. Absolute error below 1e-11
(tests/losses/test_losses.py, |z| up to 700).
"""

import math
from typing import ClassVar

import numpy as np
from numba import njit

__all__ = ["Logistic"]

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_ROUND = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to an integer held in the low bits
_LARGEST = 700.0  # exp(700) and exp(-700) are normal float64; exponents are held between them
_LN2 = 0.6931471805599453
_SQRT_HALF = (
    0x3FE6A09E667F3BCD  # the bits of sqrt(1/2): mantissas are taken in [sqrt(1/2), sqrt(2))
)
_MANTISSA = 0x000FFFFFFFFFFFFF
_LINE_CLIP = 500.0
_TWO_52 = 4503599627370496.0
_TWO_52_BITS = 0x4330000000000000
_CHUNK = 1024


class Logistic:
    """Logistic loss: ``|l'| <= 1``, ``l'' <= 1/4`` in the margin."""

    name: ClassVar[str] = "logistic"
    summary: ClassVar[str] = "logistic regression: log(1 + exp(-y z))"
    classification: ClassVar[bool] = True
    lipschitz = 1.0
    smoothness = 0.25

    def value(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        logistic_value(z, y, out)

    def dvalue(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        logistic_dvalue(z, y, out)

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
        if clip > _LINE_CLIP:
            return None
        totals = np.zeros(count, dtype=np.int64)
        cap = math.expm1(clip) * (1 + 2.0**-40)
        clip_steps = float(math.floor(clip * scale))
        buffer = np.empty((2, _CHUNK))
        logistic_line_totals(*line, y, step, clip_steps, cap, scale, buffer, totals)
        return totals


@njit(cache=True, error_model="numpy")
def logistic_value(z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    for i in range(z.shape[0]):
        m = y[i] * z[i]
        e = _exp(-abs(m))
        # log1p(e) = 2 atanh(u), u = e / (2 + e) <= 1/3: the odd series to u^21.
        u = e / (2.0 + e)
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
        out[i] = 2.0 * u * s + (-m if m < 0.0 else 0.0)


@njit(cache=True, error_model="numpy")
def logistic_dvalue(z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    for i in range(z.shape[0]):
        m = y[i] * z[i]
        e = _exp(-abs(m))
        out[i] = -y[i] * ((e if m > 0.0 else 1.0) / (1.0 + e))


@njit(cache=True, error_model="numpy")
def logistic_line_totals(
    z: np.ndarray,
    z_direction: np.ndarray,
    factor: np.ndarray,
    y: np.ndarray,
    step: float,
    clip_steps: float,
    cap: float,
    scale: float,
    buffer: np.ndarray,
    totals: np.ndarray,
) -> None:
    """Add each candidate's losses to ``totals``, in steps of 1 / scale: each rounded to a whole
    step and at most ``clip_steps``. Exponents are held to [-700, 700]: for margins beyond, a row's
    loss may be another value from 0 to the clip, a function of that row all the same.

    ``log(1 + t)`` for ``t`` held below ``cap``: exponent and mantissa m of 1 + t, and
    log m = 2 atanh(u), u = (m - 1) / (m + 1), |u| <= 0.1716: the odd series to u^9, error 4e-10.
    """
    e, r = buffer[0], buffer[1]
    for start in range(0, z.shape[0], e.shape[0]):
        n = min(e.shape[0], z.shape[0] - start)
        for i in range(n):
            signed = y[start + i] * factor[start + i]
            e[i] = _exp(-(signed * z[start + i]))
            r[i] = _exp(signed * z_direction[start + i] * step)
        for k in range(totals.shape[0]):
            total = np.int64(0)
            for i in range(n):
                t = e[i]
                e[i] = t * r[i]
                one_plus = np.float64(1.0 + (t if t < cap else cap)).view(np.int64)
                shifted = one_plus - np.int64(_SQRT_HALF)
                exponent = shifted >> np.int64(52)
                m = np.int64((shifted & np.int64(_MANTISSA)) + np.int64(_SQRT_HALF)).view(
                    np.float64
                )
                u = (m - 1.0) / (m + 1.0)
                q = u * u
                s = q * (1.0 / 9.0) + 1.0 / 7.0
                s = s * q + 1.0 / 5.0
                s = s * q + 1.0 / 3.0
                s = s * q + 1.0
                whole = (np.float64(exponent) * _LN2 + 2.0 * u * s) * scale
                steps = whole if whole < clip_steps else clip_steps
                # Adding 2^52 rounds to an integer, which then is the low bits: 1 + t >= 1, so
                # its logarithm is no less than a rounding error below 0, and rounds to 0.
                total += np.float64(steps + _TWO_52).view(np.int64) - np.int64(_TWO_52_BITS)
            totals[k] += total


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

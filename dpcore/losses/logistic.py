"""Logistic loss ``log(1 + exp(-y z))`` by polynomials: plain IEEE operations, no libm.

The same expression for every row, without reassociation or contraction, gives the same bits
wherever the row stands and whatever vector width the compiler chose. Absolute error below 1e-11
(tests/losses/test_losses.py, |z| up to 700).
"""

from typing import ClassVar

import numpy as np
from numba import njit

__all__ = ["Logistic"]

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_ROUND = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to an integer held in the low bits
_LOWEST = -700.0  # exp(-700) is a normal float64; below it the result is exp(-700), absolutely tiny


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


@njit(cache=True, error_model="numpy")
def logistic_value(z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    for i in range(z.shape[0]):
        m = y[i] * z[i]
        e = _exp_of_minus(abs(m))
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
        e = _exp_of_minus(abs(m))
        out[i] = -y[i] * ((e if m > 0.0 else 1.0) / (1.0 + e))


@njit(error_model="numpy")
def _exp_of_minus(t: float) -> float:
    """Return exp(-t) for t >= 0: 2^k exp(r), |r| <= ln(2)/2, Taylor to r^9 (error 1e-11)."""
    t = -t if t < -_LOWEST else _LOWEST
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

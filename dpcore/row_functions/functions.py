"""The functions of numbers that a function of a row may call: plain IEEE operations, no libm.

The same bits on every processor. Relative errors are below 2^-48 where the result is a normal
float64; below e^-708 an exponential is 0, and above float64's range infinity, without an error.
"""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from dpcore.exact.compiled import njit

__all__ = ["NAMES", "OPTIONS"]

OPTIONS: Mapping[str, Any] = MappingProxyType(
    {"error_model": "numpy", "fastmath": False, "_nrt": False, "forceinline": True}
)
"""Options of all that a function of a row is made of. Without numba's memory manager, code that
would allocate an array is not compiled. Inlined, for a function that stays by itself has a name,
and the linker takes the first one of that name in the process, whoever made it."""
_njit = njit(**OPTIONS)
_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_ROUND = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to an integer held in the low bits
_SQRT_HALF = 0x3FE6A09E667F3BCD  # its bits: mantissas are taken in [sqrt(1/2), sqrt(2))
_MANTISSA = 0x000FFFFFFFFFFFFF
_SMALLEST, _LARGEST = -708.0, 709.78  # their exponentials are normal float64
_EXP = (*(1.0 / math.factorial(k) for k in range(12, 1, -1)), 1.0, 1.0)
_EXPM1 = tuple(1.0 / math.factorial(k) for k in range(14, 1, -1))
_ATANH = tuple(1.0 / k for k in range(19, 1, -2))
_MOST_WHOLE, _MOST_PLACE = 2147483648.0, 2147483648


@_njit
def at(values: np.ndarray, place: int) -> float:
    """Return a value of an array, NaN from outside it."""
    return values[place] if 0 <= place < values.shape[0] else np.nan


@_njit
def put(values: np.ndarray, place: int, value: float) -> None:
    """Write a value to its place in an array, and nothing outside it."""
    if 0 <= place < values.shape[0]:
        values[place] = value


@_njit
def whole(value: float) -> np.int64:
    """Return a number without its fraction; -1 for NaN and what is 2^31 or more in size."""
    return np.int64(value if abs(value) < _MOST_WHOLE else -1.0)


@_njit
def over(a: float, b: float) -> float:
    """Return a / b, as float64 has it: Python's own numbers raise where b is 0."""
    return np.float64(a) / np.float64(b)


@_njit
def held(place: int) -> int:
    """Return a whole number of size below 2^31, and the least of these for a larger one. So no sum
    and no product of two of them leaves int64."""
    return place if -_MOST_PLACE < place < _MOST_PLACE else 1 - _MOST_PLACE


@_njit
def power(base: float, n: int) -> float:
    result = 1.0
    for _ in range(n):
        result *= base
    return result


@_njit
def min_of(a: float, b: float) -> float:
    return b if b < a else a


@_njit
def max_of(a: float, b: float) -> float:
    return b if b > a else a


@_njit
def m_abs(t: float) -> float:
    return abs(t)


@_njit
def m_sqrt(t: float) -> float:
    return np.sqrt(t) if t >= 0.0 else np.nan


@_njit
def _exp(t: float) -> float:
    """Return exp(t), t in [-708, 709.78]: 2^k exp(r), |r| <= ln(2)/2, Taylor to r^13."""
    shifted = t * _LOG2_E + _ROUND
    k = shifted - _ROUND
    r = (t - k * _LN2_HIGH) - k * _LN2_LOW
    p = 1.0 / 6227020800.0
    for factor in _EXP:
        p = p * r + factor
    # The low bits of ``shifted`` are k: moved to the exponent and added, they scale p by 2^k.
    exponent = np.int64(np.float64(shifted).view(np.int64)) << np.int64(52)
    return np.int64(np.float64(p).view(np.int64) + exponent).view(np.float64)


@_njit
def m_exp(t: float) -> float:
    e = _exp((t if t < _LARGEST else _LARGEST) if t > _SMALLEST else _SMALLEST)
    within = e if t >= _SMALLEST else 0.0
    return within if t <= _LARGEST else (np.inf if t == t else t)


@_njit
def _log_near_one(f: float) -> float:
    """Return log(1 + f), 1 + f in [sqrt(1/2), sqrt(2)]: 2 atanh(u), u = f / (2 + f), |u| < .172,
    the odd series to u^21."""
    u = f / (2.0 + f)
    q, s = u * u, 1.0 / 21.0
    for factor in _ATANH:
        s = s * q + factor
    return 2.0 * (u + u * q * s)


@_njit
def m_log(t: float) -> float:
    if not t > 0.0:
        return -np.inf if t == 0.0 else np.nan
    if t == np.inf:
        return t
    small = t < 2.2250738585072014e-308  # a number with fewer digits: 2^54 times it has all
    x = t * 18014398509481984.0 if small else t
    above = np.int64(np.float64(x).view(np.int64)) - np.int64(_SQRT_HALF)
    k = np.float64(above >> np.int64(52)) - (54.0 if small else 0.0)
    m = np.int64((above & np.int64(_MANTISSA)) + np.int64(_SQRT_HALF)).view(np.float64)
    log: float = k * _LN2_HIGH + (k * _LN2_LOW + _log_near_one(m - 1.0))
    return log


@_njit
def m_log1p(t: float) -> float:
    log: float = _log_near_one(t) if -0.25 < t < 0.4 else m_log(1.0 + t)
    return log


@_njit
def m_expm1(t: float) -> float:
    p = 1.0 / 1307674368000.0
    for factor in _EXPM1:
        p = p * t + factor
    above: float = t + t * t * p if abs(t) < 0.5 else m_exp(t) - 1.0
    return above


@_njit
def m_tanh(t: float) -> float:
    e = m_expm1(-2.0 * abs(t))
    size: float = -e / (2.0 + e)
    return size if t > 0.0 else -size


NAMES = MappingProxyType(
    {
        "at": at,
        "held": held,
        "max_of": max_of,
        "min_of": min_of,
        "power": power,
        "put": put,
        "whole": whole,
        "m_abs": m_abs,
        "m_exp": m_exp,
        "m_expm1": m_expm1,
        "m_log": m_log,
        "m_log1p": m_log1p,
        "m_sqrt": m_sqrt,
        "m_tanh": m_tanh,
        "over": over,
    }
)
"""All that the code of a function of a row calls, by the names that ``grammar.code_of`` writes."""

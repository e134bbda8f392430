"""The logarithm of numbers, with the same bits wherever a number is in an array."""

import math

import numpy as np

__all__ = ["LOG_TERMS", "binary_log"]

LOG_TERMS = 12


def binary_log(values: np.ndarray) -> np.ndarray:
    """Return the logarithm to the base of 2 of positive numbers, to 1e-15 of its size or of 1.

    By sums, products and quotients alone, each rounded as IEEE 754 says: a number has the same bits
    wherever it is in an array and whatever is beside it. NumPy's own logarithm need not: it
    takes whole vectors another way than what is left over.
    """
    mantissa, exponent = np.frexp(values)
    small = mantissa < math.sqrt(0.5)
    mantissa = np.where(small, 2.0 * mantissa, mantissa)
    # log(m) = 2 atanh(s) with s = (m - 1) / (m + 1), and |s| < 0.172.
    s = (mantissa - 1.0) / (mantissa + 1.0)
    square, series = s * s, np.zeros_like(s)
    for k in reversed(range(LOG_TERMS)):
        series = series * square + 1.0 / (2 * k + 1)
    return np.asarray((exponent - small) + s * series * (2.0 / math.log(2.0)))

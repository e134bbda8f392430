"""Slow, obviously right twins of the kernels, written from the formulas."""

import math
from fractions import Fraction

import mpmath
import numpy as np


def fractions_of(row):
    return [Fraction(float(x)) for x in row]


def margin(row, factor, w):
    """The exact product, times the factor, rounded once."""
    product = sum(a * b for a, b in zip(fractions_of(row), fractions_of(w), strict=True))
    return float(product) * factor


def norm_squared(row):
    return sum(x * x for x in fractions_of(row))


def clipped_coefficient(dvalue, factor, row, clip, bits):
    """trunc(clip(dvalue * factor)) to 2^-bits, the clip decided in rational numbers."""
    t = dvalue * factor
    square = norm_squared(row)
    if not math.isfinite(t) or square == 0:
        return Fraction(0)
    steps = abs(Fraction(t)) * 2**bits
    limit_squared = Fraction(clip) ** 2 / square * 4**bits
    if steps * steps <= limit_squared:
        kept = steps.numerator // steps.denominator
    else:
        kept = math.isqrt(limit_squared.numerator // limit_squared.denominator)
    return Fraction(kept if t > 0 else -kept, 2**bits)


def weighted_sum(rows, coefficients):
    columns = zip(*[fractions_of(row) for row in rows], strict=True)
    return [sum(c * x for c, x in zip(coefficients, column, strict=True)) for column in columns]


def logistic(z, y):
    with mpmath.workdps(40):
        return float(mpmath.log1p(mpmath.exp(-mpmath.mpf(y) * mpmath.mpf(z))))


def logistic_slope(z, y):
    with mpmath.workdps(40):
        return float(-mpmath.mpf(y) / (1 + mpmath.exp(mpmath.mpf(y) * mpmath.mpf(z))))


def hinge(z, y):
    return max(0.0, 1.0 - y * z)


def huber(z, y, h=0.5):
    m = y * z
    if m > 1 + h:
        return 0.0
    return 1 - m if m < 1 - h else (1 + h - m) ** 2 / (4 * h)


def quantile(z, y, tau, h=None):
    """The pinball loss, or the mean of those of residuals within h of it."""
    r = y - z
    if h is None or abs(r) >= h:
        return max(tau * r, (tau - 1) * r)
    return (tau * (r + h) ** 2 + (1 - tau) * (r - h) ** 2) / (4 * h)


def clipped_total(values, clip, bits):
    total = 0
    for v in values:
        v = clip if math.isnan(v) else min(max(v, 0.0), clip)
        total += int(Fraction(v) * 2**bits)
    return total


def rows_added_to_units(rows, c, units, scale, sums):
    """Return the sums with each row's steps, cut towards zero, added to its unit's."""
    out = sums.copy()
    for row, weight, unit in zip(rows, c, units, strict=True):
        out[unit] += np.trunc(weight * row * scale).astype(np.int64)
    return out


def clipped_units(sums, limit):
    """Return the total of vectors, each scaled down to a norm of ``limit``, in exact fractions but
    for the root."""
    total = [0] * sums.shape[1]
    for unit in sums.tolist():
        norm = math.sqrt(sum(step * step for step in unit))
        factor = Fraction(1) if norm <= limit else Fraction(limit) / Fraction(norm)
        total = [t + math.trunc(step * factor) for t, step in zip(total, unit, strict=True)]
    return np.array(total, dtype=object)


def ordered_sum(values):
    """Halves added to each other, then one term after the other, in Python's floats."""
    values = [float(x) for x in values]
    while len(values) > 2**12:
        half = len(values) // 2
        pairs = zip(values[:half], values[half : 2 * half], strict=True)
        values = [a + b for a, b in pairs] + values[2 * half :]
    total = 0.0
    for x in values:
        total += x
    return total

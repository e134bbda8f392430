"""Public bins of the number line, the same for every column: sub-steps of signed powers of two.

A number's leaf is its sign, its exponent from -24 to 39 and the first five bits of its mantissa: 32
sub-steps of equal width in each power of two, so that a leaf is as wide as 1/32 of its numbers or
less, whatever their unit, and no logarithm is rounded. Numbers smaller than 2^-24 (6e-8) are in the
two leaves beside 0, and those of 2^40 (1e12) and above in the last one of their sign.

Sixteen leaves, half a power of two, are a bin of the coarser level, which tells where rows are, and
the leaves where in there. A third level, of 8 powers of two, would tell no more: bins side by side
are added up as they are needed, and each level adds to the noise of all (normal noise by a square
root, geometric noise in proportion).
"""

from __future__ import annotations

import math

import numpy as np

__all__ = ["BINS", "BRANCHES", "LARGEST", "LEAVES", "edge", "leaves_of"]

BRANCHES = 16
"""The number of leaves in a bin of the coarser level."""
BINS = 256
LEAVES = BINS * BRANCHES

_LEAST_EXPONENT = -24
_SUB_BITS = 5
_MANTISSA_BITS = 52
_EXPONENT_BIAS = 1023
_OF_A_SIGN = LEAVES // 2
_FIRST = (_EXPONENT_BIAS + _LEAST_EXPONENT) << _SUB_BITS

LARGEST = 2.0 ** (_LEAST_EXPONENT + (_OF_A_SIGN >> _SUB_BITS))
"""The end of the range, 2^40."""


def leaves_of(values: np.ndarray) -> np.ndarray:
    """Return the leaf of each float64, int64, ascending with the number: of its bits alone, by
    whole numbers. NaN has a leaf like any other: leave it out before."""
    magnitudes = np.abs(values).view(np.int64) >> (_MANTISSA_BITS - _SUB_BITS)
    steps = np.clip(magnitudes - _FIRST, 0, _OF_A_SIGN - 1)
    leaves: np.ndarray = np.where(values < 0, _OF_A_SIGN - 1 - steps, _OF_A_SIGN + steps)
    return leaves


def edge(place: int) -> float:
    """Return the edge below the leaf of that number, above the leaf before it: 0 in the middle,
    ascending from -2^40 at 0 to 2^40 at ``LEAVES``."""
    steps = abs(place - _OF_A_SIGN)
    exponent, sub_step = divmod(steps, 1 << _SUB_BITS)
    magnitude = math.ldexp(1 + sub_step / (1 << _SUB_BITS), _LEAST_EXPONENT + exponent)
    return math.copysign(magnitude, place - _OF_A_SIGN) if steps else 0.0

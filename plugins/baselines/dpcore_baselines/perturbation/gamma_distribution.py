"""Exact noise of density exp(-||z||_2) on R^d, scaled and floored coordinate by coordinate.

Z = R N / ||N||: R the sum of d exponential deviates, which has density r^(d-1) e^-r / (d-1)!, and N
a vector of normal deviates, whose direction is uniform and independent of R. R and N are known to
as many digits as are asked for; lower and upper bounds of every coordinate in whole numbers decide
its floor, or more digits are drawn. Two bounds that never meet are an event of probability 0.
"""

from __future__ import annotations

from itertools import count
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin.parts import DigitStream

if TYPE_CHECKING:
    from dpcore.plugin.parts import GridScale, NoiseSource

__all__ = ["gamma_deviates", "modulo_2_64"]

_WORDS = 256
_FIRST_DIGITS = 2


def gamma_deviates(noise: NoiseSource, scale: GridScale, size: int) -> np.ndarray:
    """Return the floors of ``scale`` times the coordinates of one Z in R^size, as Python integers
    (dtype object), never reduced: a length of gamma distribution in a uniform direction."""
    values = np.empty(size, dtype=object)
    values[:] = _scaled_floors(noise, scale, size)
    return values


def modulo_2_64(values: np.ndarray) -> np.ndarray:
    """Return Python integers (dtype object) modulo 2^64 as int64."""
    return np.array([int(v) % 2**64 for v in values], dtype=np.uint64).view(np.int64)


def _scaled_floors(noise: NoiseSource, scale: GridScale, size: int) -> list[int]:
    held: list[int] = []

    def word(i: int) -> int:
        if i >= len(held):
            held.extend(noise.words(_WORDS).tolist())
        return held[i]

    stream = DigitStream(word)
    radius = [stream.exponential() for _ in range(size)]
    signs, sizes = zip(*(stream.normal() for _ in range(size)), strict=True)
    for digits in count(_FIRST_DIGITS):
        low, high = _bounds(radius, sizes, digits, stream.bits, scale)
        if low == high:
            # The floor of minus a number that is not whole.
            return [~v if negative else v for negative, v in zip(signs, low, strict=True)]
    raise AssertionError("unreachable")


def _bounds(
    radius: list[Any], sizes: tuple[Any, ...], digits: int, bits: int, scale: GridScale
) -> tuple[list[int], list[int]]:
    """Return floors of bounds of ``scale |Z_i|`` from below and from above, by the first digits.

    In units u = 2^-(bits * digits): r <= R / u < r + d and a <= |N_i| / u < a + 1.
    """
    r, d = sum(e.floor(digits) for e in radius), len(radius)
    parts = [n.floor(digits) for n in sizes]
    shortest = isqrt(sum(a * a for a in parts))
    longest = isqrt(sum((a + 1) ** 2 for a in parts)) + 1
    shift = scale.shift + bits * digits
    m = scale.significand
    low = [m * r * a // (longest << shift) for a in parts]
    if not shortest:
        return low, [v + 1 for v in low]
    return low, [m * (r + d) * (a + 1) // (shortest << shift) for a in parts]

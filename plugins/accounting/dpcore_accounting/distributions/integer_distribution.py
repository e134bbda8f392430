"""Distributions of integers by a finite table of weights, drawn by exact inversion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import sealed
from dpcore_accounting.distributions.old_names import class_named_before

if TYPE_CHECKING:
    from dpcore.plugin.parts import NoiseSource

__all__ = ["MOST_BITS", "IntegerDistribution"]

MOST_BITS = 62
"""Sums of weights, and uniform numbers below them, are int64."""
_SUMS = frozenset(1 << bits for bits in range(1, MOST_BITS + 1))
_MOST_VALUES = 1 << 16
_FARTHEST = 1 << 40


@sealed
@dataclass(frozen=True, slots=True)
class IntegerDistribution:
    """The distribution of one integer: ``first + i`` with probability ``weights[i] / 2^k``, 2^k
    their sum.

    A deviate is in whole steps of the answer's grid as it is: nothing multiplies it. (A multiple of
    an integer deviate leaves residues that are the answer's own.) Drawn by exact inversion: k
    uniform bits are a number below 2^k, and the value is the first whose weights up to and with it
    sum to more (Devroye 1986, chapter III.2). Values of weight 0 are never drawn, every other is.

    Parameters
    ----------
    first : the least value, within 2^40 of 0.
    weights : plain ints >= 0, at most 2^16 of them, of value after value; their sum is exactly 2^k,
        k from 1 to 62. ``IntegerDistribution.of`` makes them from masses.

    Raises InvalidInputError for anything else.

    Examples
    --------
    >>> from dpcore.plugin.parts import SeededNoise
    >>> from dpcore_accounting.distributions import IntegerDistribution
    >>> distribution = IntegerDistribution(-1, (1, 2, 1))  # -1, 0 and 1
    >>> distribution.bits
    2
    >>> distribution.draw(SeededNoise(0), 8)
    array([ 1, -1,  1,  1, -1, -1,  1,  1])
    """

    first: int
    weights: tuple[int, ...]

    def __post_init__(self) -> None:
        if type(self.first) is not int or abs(self.first) > _FARTHEST:
            raise InvalidInputError(f"Expected first={self.first!r} to be an int within 2^40 of 0.")
        if type(self.weights) is not tuple or not 2 <= len(self.weights) <= _MOST_VALUES:
            raise InvalidInputError("Expected weights to be a tuple of 2 to 2^16 of them.")
        if not all(type(weight) is int and weight >= 0 for weight in self.weights):
            raise InvalidInputError("Expected weights to be plain ints >= 0.")
        total = sum(self.weights)
        if total not in _SUMS:
            raise InvalidInputError(
                f"Expected weights to sum to 2^k, k from 1 to {MOST_BITS}, and not to {total}: "
                "IntegerDistribution.of(masses, first) rounds masses to such weights."
            )

    @classmethod
    def of(
        cls, masses: Sequence[float | Fraction], first: int, bits: int = 52
    ) -> IntegerDistribution:
        """Return the distribution whose weights are masses over their sum, in units of ``2^-bits``:
        rounded down, but to 1 where that is 0, and the largest takes what is left.

        No cost rests on the masses: it is that of the weights, however they came about. A mass of 0
        is a weight of 0.

        Raises InvalidInputError for masses that are not finite, negative or too many for the bits.

        Examples
        --------
        >>> from dpcore_accounting.distributions import IntegerDistribution
        >>> IntegerDistribution.of([0.2, 0.5, 0.3], first=-1, bits=8)
        IntegerDistribution(first=-1, weights=(51, 129, 76))
        """
        values = [Fraction(mass) for mass in masses if math.isfinite(mass) and mass >= 0]
        if len(values) != len(masses) or not any(values):
            raise InvalidInputError("Expected masses to be finite and >= 0, and one of them > 0.")
        if type(bits) is not int or not 1 <= bits <= MOST_BITS:
            raise InvalidInputError(f"Expected bits={bits!r} to be an int from 1 to {MOST_BITS}.")
        total = sum(values)
        weights = [max(1, int(v * 2**bits / total)) if v else 0 for v in values]
        largest = weights.index(max(weights))
        weights[largest] += 2**bits - sum(weights)
        if weights[largest] < 1:
            raise InvalidInputError(f"Expected fewer masses than weights of {bits} bits can tell.")
        return cls(first, tuple(weights))

    @property
    def bits(self) -> int:
        """k: the weights sum to 2^k."""
        return sum(self.weights).bit_length() - 1

    def draw(self, noise: NoiseSource, size: int) -> np.ndarray:
        """Return independent deviates, int64 of shape (size,)."""
        # Each of them is below 2^62, and so is every sum.
        reached = np.cumsum(np.array(self.weights, dtype=np.int64))
        uniform = noise.integers_below(1 << self.bits, size)
        drawn: np.ndarray = np.searchsorted(reached, uniform, side="right") + self.first
        uniform[:] = 0
        return drawn


def __getattr__(name: str) -> Any:
    return class_named_before(__name__, name, {"IntegerLaw": IntegerDistribution})

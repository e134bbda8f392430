"""A path of normal noise on the integer grid: floors of the partial sums of exact normal deviates.

For x on the grid x + floor(S) is floor(x + S), so that the whole path, level by level, is
post-processing of one Brownian motion that starts at x; a floor of every increment by itself would
not be. Increments are drawn on a finer grid, where each is known but for less than a step. Where
that leaves a floor of a sum open, the increments get more digits: the part behind the point of a
deviate whose floor is known has a distribution of its own, and is drawn by rejection.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import GridScale, NoiseSource

if TYPE_CHECKING:
    from dpcore.plugin.parts import NoiseSource

__all__ = ["normal_path"]

_MOST_SPARE, _WORD = 30, 64


def normal_path(
    noise: NoiseSource, scales: Sequence[GridScale], size: int, spare: int = _MOST_SPARE
) -> np.ndarray:
    """Return floor(S_t), S_t = scales[t] N_t + ... + scales[-1] N_last: Python integers of shape
    (levels, size), dtype object, the noisiest level first.

    ``spare`` : bits of the finer grid at most; few of them cost time and no exactness.
    """
    if not scales or size < 1:
        raise InvalidInputError("Expected one scale or more, and a size of 1 or more.")
    largest = max(scale.steps for scale in scales)
    bits = max(0, min(spare, GridScale.NOISE_BITS - 2 - int(largest).bit_length()))
    fine = [_finer(scale, bits) for scale in scales]
    drawn = np.stack([noise.unwrapped_gaussian(scale, size) for scale in fine])
    sums = np.cumsum(drawn[::-1], axis=0)[::-1]
    # A sum is less than one step above its parts for each of them.
    parts = np.arange(len(scales), 0, -1, dtype=object)[:, np.newaxis]
    floors: np.ndarray = sums >> bits
    undecided = (sums + parts - 1) >> bits != floors
    for i in np.flatnonzero(undecided.any(axis=0)):
        column = _Column(drawn[:, i].tolist(), fine, lambda: int(noise.words(1)[0]))
        for t in np.flatnonzero(undecided[:, i]):
            floors[t, i] = column.floor(int(t), bits)
    return floors


def _finer(scale: GridScale, bits: int) -> GridScale:
    less = min(bits, scale.shift)
    return GridScale(scale.significand << (bits - less), scale.shift - less)


class _Column:
    """The deviates of one coordinate, whose floors are known, with the digits behind them."""

    def __init__(
        self, floors: list[int], scales: Sequence[GridScale], word: Callable[[], int]
    ) -> None:
        self._floors, self._scales, self._word = floors, scales, word
        self._rests: dict[int, _Rest] = {}

    def floor(self, first: int, bits: int) -> int:
        """Return floor(2^-bits times the sum of the deviates from ``first`` on)."""
        for digits in count(_WORD, _WORD):
            low = high = 0
            for i in range(first, len(self._floors)):
                if i not in self._rests:
                    self._rests[i] = _rest(self._floors[i], self._scales[i].steps, self._word)
                here, there = self._rests[i].bounds(digits)
                whole = self._floors[i] << digits
                low, high = low + whole + here, high + whole + there
            # The sum is above ``low`` and below ``high``.
            if low >> (bits + digits) == (high - 1) >> (bits + digits):
                return low >> (bits + digits)
        raise AssertionError("unreachable")


class _Rest:
    """A number in (0, 1), uniform digits that are drawn as they are needed, or 1 less it."""

    def __init__(self, from_above: bool, word: Callable[[], int]) -> None:
        self._from_above, self._word = from_above, word
        self._known, self._digits = 0, 0

    def distance(self, digits: int) -> int:
        """Return the first ``digits`` binary digits of the uniform number, a multiple of 64."""
        while self._digits < digits:
            self._known, self._digits = self._known << _WORD | self._word(), self._digits + _WORD
        return self._known >> (self._digits - digits)

    def bounds(self, digits: int) -> tuple[int, int]:
        """Return whole numbers between which 2^digits times the number lies."""
        away = self.distance(digits)
        if self._from_above:
            return (1 << digits) - away - 1, (1 << digits) - away
        return away, away + 1


def _rest(floor: int, scale: Fraction, word: Callable[[], int]) -> _Rest:
    """Return scale N - floor, N a normal deviate such that scale N has that floor.

    Its density at a distance u from the end of the step that is nearer to 0, at a, is proportional
    to exp(-(a + u)^2 / (2 scale^2)): u is uniform and kept with the probability
    exp(-u (2 a + u) / (2 scale^2)), decided by as many digits of u as it takes.
    """
    from_above = floor < 0
    near = -floor - 1 if from_above else floor
    while True:
        rest = _Rest(from_above, word)

        def kept(bits: int, rest: _Rest = rest) -> tuple[int, int]:
            digits = -(-bits // _WORD) * _WORD
            away = rest.distance(digits)
            ends = (Fraction(u, 1 << digits) for u in (away, away + 1))
            low, high = (u * (2 * near + u) / (2 * scale * scale) for u in ends)
            return _exp(high, bits, ROUND_FLOOR), _exp(low, bits, ROUND_CEILING)

        if not NoiseSource.lazy_uniform(word(), _WORD, word).exceeds(kept):
            return rest


def _exp(x: Fraction, bits: int, rounding: str) -> int:
    """Return 2^bits exp(-x), x >= 0, rounded down or up by less than 2."""
    opposite = ROUND_FLOOR if rounding == ROUND_CEILING else ROUND_CEILING
    digits = bits // 3 + 20
    inner = Context(prec=digits, rounding=opposite)
    power = inner.divide(Decimal(x.numerator), Decimal(x.denominator))
    outer = Context(prec=digits, rounding=rounding)
    # exp is rounded to the nearest whatever the context says: its neighbour is a bound.
    value = outer.exp(power.copy_negate())
    value = outer.next_plus(value) if rounding == ROUND_CEILING else outer.next_minus(value)
    found = Fraction(value) * (1 << bits)
    return -(-found.numerator // found.denominator) if rounding == ROUND_CEILING else int(found)

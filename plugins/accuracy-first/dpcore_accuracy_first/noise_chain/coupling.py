"""The levels of a chain of noise down which a value is kept: exact coins of transcendental odds.

Two-sided geometric noise of scale s at the accurate level becomes noise of scale S > s when the
value is kept with probability

    q(s, S) = (a / b) ((1 - b) / (1 - a))^2 = (sinh(1 / 2S) / sinh(1 / 2s))^2,

a = e^(-1/s), b = e^(-1/S), and else gets two-sided geometric noise of scale S on top. (The
characteristic function of scale s is (1-a)^2 / (1 - 2a cos w + a^2); multiply out. This is the
integer form of Koufogiannis, Han & Pappas 2017, whose continuous one has q = (s / S)^2.) The
products of such odds telescope, so the level at which a value changes next is one draw: the first
one, going down from level i, with U >= q(s_i, s_t), U uniform.

``Coupling`` decides that from the first 64 digits of U by float64 bounds that are certified; where
they do not decide, by ``decimal`` with as many digits, and U with as many bits, as it takes.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcore.plugin.parts import GridScale

__all__ = ["Coupling"]

_GUARD = 2.0**-44
"""Relative; far above what rounding does to a float64 sinh, a root and a product."""
_DIGITS = 60
_SMALLEST_SCALE = Fraction(1, 64)


class Coupling:
    """The odds of a chain of levels, the noisiest first.

    Parameters
    ----------
    scales : one noise scale for each level, in grid steps, decreasing, none below 1/64.
    """

    def __init__(self, scales: Sequence[GridScale]) -> None:
        self._scales = tuple(scales)
        steps = [scale.steps for scale in self._scales]
        if any(a <= b for a, b in zip(steps, steps[1:], strict=False)):
            raise InvalidInputError("Expected noise scales that decrease from level to level.")
        if steps[-1] < _SMALLEST_SCALE:
            raise InvalidInputError("The least noise of the chain is below 1/64 of a grid step.")
        context = Context(prec=_DIGITS, rounding=ROUND_HALF_EVEN)
        self._sinh = np.array([_sinh(step, context) for step in steps])

    def next_changes(
        self, levels: np.ndarray, words: np.ndarray, more: Callable[[], int]
    ) -> np.ndarray:
        """Return for each value, kept so far down to its level, the next lower level at which it
        changes, -1 for none: int64.

        ``levels`` : int64. ``words`` : uint64 of the same shape, the first digits of U.
        ``more()`` : a further 64-bit digit.
        """
        digits = words.astype(np.float64)
        at = self._sinh[levels]
        low = at * np.sqrt(np.ldexp(digits * (1 - 2.0**-52), -64)) * (1 - _GUARD)
        high = at * np.sqrt(np.ldexp(digits * (1 + 2.0**-52) + 1.0, -64)) * (1 + _GUARD)
        found: np.ndarray = np.searchsorted(self._sinh, low, side="right") - 1
        for i in np.flatnonzero(found != np.searchsorted(self._sinh, high, side="right") - 1):
            found[i] = self.decide(int(levels[i]), int(words[i]), more)
        return found

    def decide(self, level: int, word: int, more: Callable[[], int]) -> int:
        """Return the next lower level at which a value changes, with all digits it takes."""
        uniform = _Uniform(word, more)
        # Odds fall from level to level, so the levels at which U >= q are the lowest ones.
        low, high = -1, level - 1
        while low < high:
            middle = (low + high + 1) // 2
            kept = uniform.is_below(self._odds(level, middle))
            low, high = (low, middle - 1) if kept else (middle, high)
        return low

    def _odds(self, level: int, lower: int) -> Callable[[int], tuple[Fraction, Fraction]]:
        """Return bounds of q between two levels as a function of the number of digits."""
        accurate, noisy = self._scales[level].steps, self._scales[lower].steps

        def bounds(digits: int) -> tuple[Fraction, Fraction]:
            (below, above), (least, most) = _squares(noisy, digits), _squares(accurate, digits)
            return below / most, above / least

        return bounds


class _Uniform:
    """A number uniform on [0, 1) whose further digits are drawn when they are needed."""

    def __init__(self, word: int, more: Callable[[], int]) -> None:
        self._known, self._bits, self._more = word, 64, more

    def is_below(self, bounds: Callable[[int], tuple[Fraction, Fraction]]) -> bool:
        """Return whether the number is below what ``bounds(digits)`` encloses."""
        digits = _DIGITS
        while True:
            low, high = bounds(digits)
            if Fraction(self._known + 1, 1 << self._bits) <= low:
                return True
            if Fraction(self._known, 1 << self._bits) >= high:
                return False
            self._known = self._known << 64 | self._more()
            self._bits += 64
            digits += _DIGITS


def _squares(steps: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Return bounds of 4 sinh(1 / (2 steps))^2 = e - 2 + 1/e, e = exp(1 / steps).

    ``decimal`` rounds a quotient and exp to nearest, so the neighbours enclose them; e - 2 + 1/e
    increases with e > 1.
    """
    context = Context(prec=digits, rounding=ROUND_HALF_EVEN)
    inverse = context.divide(Decimal(steps.denominator), Decimal(steps.numerator))
    below = context.next_minus(context.exp(context.next_minus(inverse)))
    above = context.next_plus(context.exp(context.next_plus(inverse)))
    low, high = (Fraction(e) - 2 + 1 / Fraction(e) for e in (max(below, Decimal(1)), above))
    return low, high


def _sinh(steps: Fraction, context: Context) -> float:
    """Return 2 sinh(1 / (2 steps)), within 2^-50 of it relative to its size."""
    e = context.exp(context.divide(Decimal(steps.denominator), Decimal(steps.numerator)))
    square = context.add(context.subtract(e, Decimal(2)), context.divide(Decimal(1), e))
    return float(context.sqrt(square))

"""The scale of a noise on the integer grid: one dyadic rational, never a rounded float."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dpcore.errors import InvalidInputError
from dpcore.exact.grid import FLOAT_BITS, NOISE_BITS
from dpcore.exact.plain import cached_by_number

__all__ = ["GridScale"]


@dataclass(frozen=True, slots=True)
class GridScale:
    """``significand / 2**shift`` steps of the answer's grid: below 2^58, at most 53 bits if not
    whole.

    ``NOISE_BITS`` : the power of 2 that it is below, 58.
    Raises InvalidInputError for a scale outside these limits.
    """

    significand: int
    shift: int = 0

    NOISE_BITS: ClassVar[int] = NOISE_BITS

    def __post_init__(self) -> None:
        if (
            not (type(self.significand) is type(self.shift) is int)
            or self.significand < 1
            or self.shift < 0
        ):
            raise InvalidInputError("Expected a noise scale with significand >= 1 and shift >= 0.")
        if self.shift and self.significand >> FLOAT_BITS:
            raise InvalidInputError("Expected a noise scale of 53 significant bits.")
        if self.significand >> NOISE_BITS:
            raise InvalidInputError(
                "The noise does not fit the 64-bit grid: its scale is 2^58 grid steps or more. "
                "The budget is too small for this release, or the grid too fine; raise epsilon."
            )

    @classmethod
    def at_least(cls, noise_multiplier: float, bound: float, grid_bits: int) -> "GridScale":
        """Return the smallest scale that is at least ``noise_multiplier * bound``.

        ``bound`` : a sensitivity in the answer's unit. The answer is in steps of
        ``2**-grid_bits``. The product is formed exactly and rounded up, so the noise is never too
        small.

        Raises InvalidInputError if the scale is 2^58 grid steps or more.
        """
        return GridScale(*_at_least(noise_multiplier, bound, grid_bits))

    @property
    def steps(self) -> Fraction:
        """The scale in grid steps."""
        return Fraction(self.significand, 2**self.shift)

    def over(self, bound: float, grid_bits: int) -> Fraction:
        """Return the scale over a sensitivity in the answer's unit: the noise multiplier."""
        return Fraction(_over(self.significand, self.shift, bound, grid_bits))


@cached_by_number(maxsize=256)
def _at_least(noise_multiplier: float, bound: float, grid_bits: int) -> tuple[int, int]:
    steps = Fraction(noise_multiplier) * _in_steps(bound, grid_bits)
    # steps >= 2^(length - 1) or so; the bits behind the point that 53 significant ones allow.
    length = steps.numerator.bit_length() - steps.denominator.bit_length()
    shift = max(0, FLOAT_BITS - length)
    significand = math.ceil(steps * 2**shift)
    while shift and significand.bit_length() > FLOAT_BITS:
        shift -= 1
        significand = math.ceil(steps * 2**shift)
    common = min(shift, (significand & -significand).bit_length() - 1)
    return significand >> common, shift - common


@cached_by_number(maxsize=256)
def _over(significand: int, shift: int, bound: float, grid_bits: int) -> Fraction:
    return Fraction(significand, 2**shift) / _in_steps(bound, grid_bits)


def _in_steps(bound: float, grid_bits: int) -> Fraction:
    return Fraction(bound) * Fraction(2) ** grid_bits

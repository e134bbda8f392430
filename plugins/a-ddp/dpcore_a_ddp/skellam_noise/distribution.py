"""Skellam noise: the difference of two Poisson numbers, drawn exactly by inversion.

P(k) is e^-mu I_k(mu), I the modified Bessel function and mu the variance (Skellam 1946). Sums of
independent Skellam numbers are Skellam, their variances added: so shares drawn by many users make
one noise of a known distribution. With the ratios r_k = I_(k+1)(mu) / I_k(mu),

    r_(k-1) = 1 / (2k / mu + r_k)          (Abramowitz & Stegun 1964, 9.6.26)

and P(0) + 2 sum of P(k) = 1, the distribution needs no Bessel function and no exponential: running
down from any 0 <= r_M <= 1 the bounds of r close in on each other, and everything is a quotient of
sums of their products. All is done in integers, rounded down and rounded up. Beyond the last k the
ratios fall (the distribution is log-concave), so the rest of the sum is below P(k) r_k / (1 - r_k).
"""

from collections.abc import Callable
from fractions import Fraction
from math import isqrt
from typing import NamedTuple

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import NoiseSource, cached_by_value
from dpcore_a_ddp.kernels import integer_first

__all__ = [
    "SkellamDistribution",
    "draw_skellam",
    "holds_variance",
    "require_variance",
    "skellam_distribution",
    "tail_sums",
]

_LARGEST_DEVIATION = 1 << 15
"""A table of all values is kept, so the standard deviation is bounded."""

_GUARD_BITS = 48
_WORD_BITS = 64
_LEAST_BITS, _SPARE_BITS = 16, 9
_GUIDE_BITS = 2
"""The guide has so many times the standard deviation of entries, as a power of two."""


def tail_sums(variance: Fraction, bits: int) -> tuple[list[int], list[int]]:
    """Return integers around ``2**bits * P(X >= k)`` for k = 0, 1, ... as far as it is 2 or more,
    and one further.
    """
    precision = bits + _GUARD_BITS + int(variance).bit_length()
    while (bounds := _sums(variance, precision, bits)) is None:
        precision += _GUARD_BITS
    return bounds


def _sums(variance: Fraction, precision: int, bits: int) -> tuple[list[int], list[int]] | None:
    """Return the bounds by integers of ``precision`` bits, or None if they are not tight enough."""
    # A normal tail of so many bits, and a Poisson tail, which is longer at small variances.
    last = isqrt(int(2 * precision * variance)) + precision
    # The ratios near the last are loose, and so of no use.
    ratios = _ratios(variance, precision, last)[: 3 * last // 4]
    masses = [(1 << precision, 1 << precision)]
    for low, high in ratios:
        below, above = masses[-1]
        masses.append((below * low >> precision, (above * high >> precision) + 1))
    one = 1 << precision
    # The last ratio kept bounds all further ones.
    beyond = masses[-1][1] * one // (one - ratios[-1][1]) + 1 if ratios[-1][1] < one else one
    sum_low, sum_high = 0, beyond
    lows, highs = [], []
    for below, above in reversed(masses):
        sum_low, sum_high = sum_low + below, sum_high + above
        lows.append(sum_low)
        highs.append(sum_high)
    total_low, total_high = (2 * sums[-1] - one for sums in (lows, highs))
    if total_high - total_low > total_low >> (bits + _GUARD_BITS // 4):
        return None
    lows.reverse()
    highs.reverse()
    kept = next((k + 1 for k, high in enumerate(highs) if high << bits < 2 * total_low), len(highs))
    return (
        [(low << bits) // total_high for low in lows[:kept]],
        [-(-(high << bits) // total_low) for high in highs[:kept]],
    )


def _ratios(variance: Fraction, precision: int, last: int) -> list[tuple[int, int]]:
    """Return integers around ``2**precision`` r_k, for k = 0 to last - 1."""
    # 2k / mu lies between k step and k (step + 1).
    step = (2 * variance.denominator << precision) // variance.numerator
    square = 1 << (2 * precision)
    low, high, ratios = 0, 1 << precision, []
    for k in range(last, 0, -1):
        low, high = square // (k * (step + 1) + high), square // (k * step + low) + 1
        ratios.append((low, high))
    ratios.reverse()
    return ratios


class _Table(NamedTuple):
    """P(X >= k) between 64-bit fractions, k = 0, 1, ...: uint64, rising in the reversed order."""

    low: np.ndarray
    high: np.ndarray


def _table(variance: Fraction) -> _Table:
    low, high = tail_sums(variance, _WORD_BITS)
    high[0] = min(high[0], (1 << _WORD_BITS) - 1)  # P(X >= 0) may round up to 1, and is not used.
    return _Table(np.array(low, dtype=np.uint64), np.array(high, dtype=np.uint64))


class SkellamDistribution:
    """The symmetric Skellam distribution: one sign bit, and |X| >= k where the rest v < P(X >= k).

    Parameters
    ----------
    variance : in squared grid steps, exact, > 0; the standard deviation is below 2^15 steps.
    """

    def __init__(self, variance: Fraction) -> None:
        require_variance(variance)
        deviation = isqrt(int(variance))
        self.bits = max(_LEAST_BITS, deviation.bit_length() + _SPARE_BITS)
        self._variance, self._table = variance, _table(variance)
        shift = np.uint64(_WORD_BITS - self.bits)
        # Nothing is decided beyond the table: its last entry encloses every v.
        self._low = np.append(self._table.low >> shift, 0).astype(np.uint32)
        self._high = np.append(self._table.high >> shift, 2**32 - 1).astype(np.uint32)
        self._guide_shift = np.uint64(max(0, self.bits - 1 - deviation.bit_length() - _GUIDE_BITS))
        cells = np.arange(1, (1 << (self.bits - 1 - int(self._guide_shift))) + 1, dtype=np.int64)
        ends = (cells << np.int64(self._guide_shift)) - 1
        self._guide = _above(self._low[1:].astype(np.int64), ends).astype(np.uint32)

    def first(self, words: np.ndarray, out: np.ndarray) -> np.ndarray:
        pending = np.empty(out.size, dtype=np.int64)
        count = integer_first(
            words,
            np.uint64(self.bits),
            self._guide,
            self._guide_shift,
            self._low,
            self._high,
            out,
            pending,
        )
        return pending[:count].copy()

    def second(self, digits: np.ndarray, words: np.ndarray, out: np.ndarray) -> np.ndarray:
        sign = np.int64(1 << (self.bits - 1))
        rest = (digits & (sign - 1)).astype(np.uint64)
        bits = np.uint64(self.bits)
        known = rest << np.uint64(_WORD_BITS - self.bits) | words >> bits
        least, most = (_above(bound[1:], known) for bound in self._table)
        out[:] = np.where(digits & sign, -least, least)
        # What lies beyond the table's end is not decided either.
        return np.flatnonzero((least != most) | (most == self._table.low.size - 1))

    def exact(self, digits: int, bits: int, more: Callable[[], int]) -> int:
        v = NoiseSource.lazy_uniform(digits & ((1 << (bits - 1)) - 1), bits, more)
        low, high = 0, 1
        while not v.exceeds(self._tail(high)):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if v.exceeds(self._tail(middle)) else (middle, high)
        return -low if digits >> (bits - 1) else low

    def _tail(self, k: int) -> Callable[[int], tuple[int, int]]:
        def bounds(bits: int) -> tuple[int, int]:
            low, high = _exact_sums(self._variance, bits)
            return (low[k], high[k]) if k < len(low) else (0, high[-1])

        return bounds


_exact_sums = cached_by_value(maxsize=2)(tail_sums)


@cached_by_value(maxsize=8)
def skellam_distribution(variance: Fraction) -> SkellamDistribution:
    """Return the distribution, whose table is made once in a process as long as few others are
    drawn."""
    return SkellamDistribution(variance)


def draw_skellam(
    noise: NoiseSource, variance: Fraction, size: int | tuple[int, ...], threads: int = 1
) -> np.ndarray:
    """Return symmetric Skellam integers: int64 of shape ``size``.

    ``variance`` : in squared grid steps. Noise of n users, each of variance mu / n, adds up to
    noise of variance mu. A variance not drawn before costs up to a second. At most ``threads``
    threads share the work.

    Raises InvalidInputError for a standard deviation of 2^15 grid steps or more.
    """
    return noise.bulk(skellam_distribution(variance), size, threads)


def holds_variance(variance: Fraction) -> bool:
    """Return whether the distribution can be drawn at this variance."""
    return 0 < variance < _LARGEST_DEVIATION**2


def require_variance(variance: Fraction) -> None:
    """Raise InvalidInputError unless the distribution can be drawn at this variance."""
    if not holds_variance(variance):
        raise InvalidInputError(
            "Expected Skellam noise of a standard deviation above 0 and below 2^15 grid steps; put "
            "the answer on a coarser grid."
        )


def _above(falling: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return how many of ``falling`` are larger than each value: int64."""
    return falling.size - np.searchsorted(falling[::-1], values, side="right")

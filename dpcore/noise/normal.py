"""Normal noise in bulk: the distributions of floor(scale * N), by inversion (Devroye 1986, chapter
II.2).

Of a uniform number with digits U = 0.s d1 d2..., s is a sign, v = 0.0 d1 d2... is uniform on
(0, 1/2), and -Phi^-1(v) is the size of a normal deviate. ``dpcore.noise.normal_quantile`` bounds
it; beyond its table, and where it leaves open which integer it is, Q((k + 1) / scale) < v <=
Q(k / scale) is decided in integers.

Below a scale of 2^22 some 30 bits decide, and float64 holds the deviate. From there to 2^42 a whole
word of 64 does; the constant term of the table's row is added in integers, so that float64 holds
the rest of it.
"""

from collections.abc import Callable
from math import floor
from statistics import NormalDist

import numpy as np

from dpcore.exact.plain import cached_by_number
from dpcore.noise import inversion
from dpcore.noise.bulk import BulkDistribution, LazyUniform
from dpcore.noise.normal_quantile import OCTAVES, ROW_BITS, SLACK, WIDE_SLACK, quantile_table
from dpcore.noise.scale import GridScale
from dpcore.noise.tail import tail_bounds

__all__ = ["NormalDistribution", "WideNormalDistribution", "normal_distribution"]

_LEAST_BITS, _SPARE_BITS = 16, 9
_WIDE, _LARGEST_SCALE = 1 << 22, 1 << 42
_EXPONENT_BIAS = 1023
_WORD_BITS, _DROPPED = 64, 11
"""Of a word's 63 bits of v the first 52 are a float64 exactly."""
_SPLITTER = 2.0**27 + 1


class _Inversion:
    """The decision in integers, which is the same at every scale that is an exact float."""

    def __init__(self, scale: GridScale) -> None:
        self._steps, self._scale = scale.steps, float(scale.steps)

    def exact(self, digits: int, bits: int, more: Callable[[], int]) -> int:
        negative = digits >> (bits - 1) & 1
        v = LazyUniform(digits & ((1 << (bits - 1)) - 1), bits, more)
        size = floor(self._scale * max(0.0, -NormalDist().inv_cdf(v.approximate())))
        while size and v.exceeds(self._tail(size)):
            size -= 1
        while not v.exceeds(self._tail(size + 1)):
            size += 1
        return ~size if negative else size

    def _tail(self, size: int) -> Callable[[int], tuple[int, int]]:
        return lambda bits: tail_bounds(size / self._steps, bits)


class NormalDistribution(_Inversion):
    """floor(scale * N), N standard normal; ``scale`` from 1 to below 2^22."""

    def __init__(self, scale: GridScale) -> None:
        super().__init__(scale)
        self.bits = min(32, max(_LEAST_BITS, floor(scale.steps).bit_length() + _SPARE_BITS))
        table = quantile_table()
        self._table = table.coefficients
        # Half of an interval of so many bits in v. With 53 bits more, the last of them rounded
        # away at times, twice the half of the narrower one.
        reach = table.slopes * 2.0 ** -(self.bits + 1)
        self._first = self._scale * (reach + table.short + SLACK)
        self._second = self._scale * (reach * 2.0**-52 + table.full + SLACK)
        self._base = np.int64((_EXPONENT_BIAS + self.bits - OCTAVES - 1) << ROW_BITS)
        self._least = np.int64(max(1 << ROW_BITS, 1 << max(0, self.bits - OCTAVES - 1)))

    @staticmethod
    def holds(scale: GridScale) -> bool:
        return 1 <= scale.steps < _WIDE

    def first(self, words: np.ndarray, out: np.ndarray) -> np.ndarray:
        pending = np.empty(out.size, dtype=np.int64)
        count = inversion.normal_first(
            words,
            np.uint64(self.bits),
            self._least,
            self._table,
            self._first,
            self._scale,
            self._base,
            out,
            pending,
        )
        return pending[:count].copy()

    def second(self, digits: np.ndarray, words: np.ndarray, out: np.ndarray) -> np.ndarray:
        undecided = np.empty(out.size, dtype=np.bool_)
        inversion.normal_second(
            digits,
            words,
            np.uint64(self.bits),
            self._table,
            self._second,
            self._scale,
            self._base,
            out,
            undecided,
        )
        return np.flatnonzero(undecided)


class WideNormalDistribution(_Inversion):
    """floor(scale * N), N standard normal; ``scale`` from 2^22 to below 2^42.

    There is no second stage: at 2^42 one word in 2^13 leaves its integer open.
    """

    bits = _WORD_BITS

    def __init__(self, scale: GridScale) -> None:
        super().__init__(scale)
        table = quantile_table()
        self._table = table.coefficients
        self._whole, self._part = _product(self._scale, table.coefficients[:, 0])
        self._part += self._scale * table.rest
        # Half of an interval of a word, in v.
        reach = table.slopes * 2.0 ** -(_WORD_BITS + 1)
        self._radius = self._scale * (reach + table.full + WIDE_SLACK)
        lowest = _EXPONENT_BIAS + _WORD_BITS - 1 - OCTAVES - _DROPPED
        self._base = np.int64(lowest << ROW_BITS)

    @staticmethod
    def holds(scale: GridScale) -> bool:
        return _WIDE <= scale.steps < _LARGEST_SCALE

    def first(self, words: np.ndarray, out: np.ndarray) -> np.ndarray:
        pending = np.empty(out.size, dtype=np.int64)
        count = inversion.normal_wide(
            words.view(np.int64),
            self._table,
            self._whole,
            self._part,
            self._radius,
            self._scale,
            self._base,
            out,
            pending,
        )
        return pending[:count].copy()

    def second(self, digits: np.ndarray, words: np.ndarray, out: np.ndarray) -> np.ndarray:
        return np.arange(digits.size)


def _product(scale: float, constants: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return int64 and, from 0 to 4, float64, whose sum is ``scale * constants`` up to 2^-50: the
    products of halves of 26 bits are exact (Dekker 1971)."""
    whole, part = np.zeros(constants.size, dtype=np.int64), np.zeros(constants.size)
    for a in _halves(np.float64(scale)):
        for b in _halves(constants):
            low = np.floor(a * b)
            whole += low.astype(np.int64)
            part += a * b - low
    return whole, part


def _halves(x: np.ndarray | np.float64) -> tuple[np.ndarray | np.float64, ...]:
    high = x * _SPLITTER - (x * _SPLITTER - x)
    return high, x - high


_DISTRIBUTIONS = (NormalDistribution, WideNormalDistribution)


def normal_distribution(scale: GridScale) -> BulkDistribution | None:
    """Return the distribution, whose bounds are worked out once for a scale that is drawn often;
    ``None`` for a scale that is not drawn in bulk."""
    return _distribution(scale.significand, scale.shift)


@cached_by_number(maxsize=8)
def _distribution(significand: int, shift: int) -> BulkDistribution | None:
    scale = GridScale(significand, shift)
    return next((kind(scale) for kind in _DISTRIBUTIONS if kind.holds(scale)), None)

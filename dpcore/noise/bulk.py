"""Exact integer noise in bulk: one uniform number a deviate, drawn to as few bits as decide it.

A law says which integer a row of random bits means, in three stages: from ``bits`` bits, certified
where the rest cannot change the answer; from 64 more likewise; and from as many as it takes. All
three are the same function of the infinite row of bits, so a deviate has exactly its law; a row
that decides nothing at all has probability zero.

``NormalLaw`` is inversion (Devroye 1986, chapter II.2): of a uniform number with digits
U = 0.s d1 d2..., s is a sign, v = 0.0 d1 d2... is uniform on (0, 1/2), and -Phi^-1(v) is the size
of a normal deviate. ``dpcore.noise.quantile`` bounds it; beyond its table, and where it leaves open
which integer it is, Q((k + 1) / scale) < v <= Q(k / scale) is decided in integers.
"""

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import lru_cache
from math import floor
from statistics import NormalDist
from typing import Protocol

import numpy as np

from dpcore.noise import inversion
from dpcore.noise.entropy import Entropy
from dpcore.noise.quantile import OCTAVES, ROW_BITS, SLACK, quantile_table
from dpcore.noise.scale import GridScale
from dpcore.noise.tail import tail_bounds

__all__ = ["BulkLaw", "LazyUniform", "NormalLaw", "draw_bulk", "normal_law"]

_CHUNK, _LARGE_CHUNK = 1 << 14, 1 << 16
"""Deviates of a chunk: multiples of 64, so that their bits fill whole words. Few, so that the words
come from memory that is at hand (new pages took a third of a draw); more where the draw is large,
so that threads seldom meet at the interpreter's lock."""
_LEAST_PART = 1 << 13
"""Deviates of a thread: for fewer, to wake one takes longer than it saves."""
_LEAST_BITS, _SPARE_BITS = 16, 9
_LARGEST_SCALE = 1 << 22
_FIRST_PRECISION = 192
_EXPONENT_BIAS = 1023


class LazyUniform:
    """A number uniform on (0, 1): its first digits, and more when a comparison needs them."""

    def __init__(self, known: int, bits: int, more: Callable[[], int]) -> None:
        self._known, self._bits, self._more = known, bits, more

    def approximate(self) -> float:
        return float(Fraction(2 * self._known + 1, 2 << self._bits))

    def exceeds(self, bounds: Callable[[int], tuple[int, int]]) -> bool:
        """Return whether it is above the number that ``bounds(b)`` encloses, times ``2**b``."""
        precision = max(_FIRST_PRECISION, self._bits + 64)
        while True:
            low, high = bounds(precision)
            rest = precision - self._bits
            if self._known << rest >= high:
                return True
            if (self._known + 1) << rest <= low:
                return False
            if high - low < 1 << rest:
                self._known, self._bits = self._known << 64 | self._more(), self._bits + 64
            precision = max(2 * precision, self._bits + 64)


class BulkLaw(Protocol):
    """``bits`` : of the first stage, 1 to 32."""

    bits: int

    def first(self, words: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Fill ``out`` from ``bits`` bits each; return where it holds the bits, undecided."""
        ...

    def second(self, digits: np.ndarray, words: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Fill ``out`` from ``digits`` and 64 bits more; return where it is undecided."""
        ...

    def exact(self, digits: int, bits: int, more: Callable[[], int]) -> int:
        """Return the value, whatever it takes; ``more()`` : 64 further bits."""
        ...


class NormalLaw:
    """floor(scale * N), N standard normal; ``scale`` from 1 to below 2^22."""

    def __init__(self, scale: GridScale) -> None:
        self.bits = min(32, max(_LEAST_BITS, floor(scale.steps).bit_length() + _SPARE_BITS))
        self._steps, self._scale = scale.steps, float(scale.steps)
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
        """Whether the law can be drawn in bulk at this scale, which then is an exact float."""
        return 1 <= scale.steps < _LARGEST_SCALE

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

    def exact(self, digits: int, bits: int, more: Callable[[], int]) -> int:
        negative = digits >> (bits - 1)
        v = LazyUniform(digits & ((1 << (bits - 1)) - 1), bits, more)
        size = floor(self._scale * max(0.0, -NormalDist().inv_cdf(v.approximate())))
        while size and v.exceeds(self._tail(size)):
            size -= 1
        while not v.exceeds(self._tail(size + 1)):
            size += 1
        return ~size if negative else size

    def _tail(self, size: int) -> Callable[[int], tuple[int, int]]:
        return lambda bits: tail_bounds(size / self._steps, bits)


@lru_cache(maxsize=8)
def normal_law(scale: GridScale) -> NormalLaw:
    """Return the law, whose bounds are worked out once for a scale that is drawn often."""
    return NormalLaw(scale)


def draw_bulk(entropy: Entropy, law: BulkLaw, size: int, threads: int) -> np.ndarray:
    """Return ``size`` values of the law, int64.

    At most ``threads`` threads share the first stage, where words come from the system. Words that
    follow from a seed are taken in one order whatever the number of threads.
    """
    out = np.empty(size, dtype=np.int64)
    helpers = 0 if entropy.seeded else max(0, min(threads, size // _LEAST_PART) - 1)
    length = _CHUNK if size < 8 * _CHUNK else _LARGE_CHUNK
    if helpers:
        length = min(length, 64 * -(-size // (64 * (helpers + 1))))
    left = deque((start, out[start : start + length]) for start in range(0, size, length))
    found: list[np.ndarray] = []

    def work() -> None:
        while left:
            try:
                start, part = left.popleft()
            except IndexError:  # Another thread took the last one.
                return
            # One word more: the kernel reads the word behind a row of bits, and uses none of it.
            words = entropy.words(-(-part.size * law.bits // 64) + 1)
            found.append(law.first(words, part) + start)
            words[:] = 0

    others = [_executor(os.getpid(), helpers).submit(work) for _ in range(helpers)]
    try:
        work()
    finally:
        left.clear()
    for other in others:
        other.result()
    pending = [at for at in found if at.size]
    if pending:
        _decide(entropy, law, out, np.concatenate(pending))
    return out


@lru_cache(maxsize=4)
def _executor(process: int, threads: int) -> ThreadPoolExecutor:
    """Return threads that stay, since to start them for each draw takes as long as a short draw.

    ``process`` : its number; a forked child has none of its parent's threads.
    """
    return ThreadPoolExecutor(threads, "dpcore-noise")


def _decide(entropy: Entropy, law: BulkLaw, out: np.ndarray, pending: np.ndarray) -> None:
    """Replace the digits that ``out`` holds at ``pending`` by the values that they begin."""
    digits, values = out[pending], np.empty(pending.size, dtype=np.int64)
    words = entropy.words(pending.size)
    for i in law.second(digits, words, values):
        known = int(digits[i]) << 64 | int(words[i])
        values[i] = law.exact(known, law.bits + 64, lambda: int(entropy.words(1)[0]))
    words[:] = 0
    out[pending] = values

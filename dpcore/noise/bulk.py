"""Exact integer noise in bulk: one uniform number a deviate, drawn to as few bits as decide it.

A distribution says which integer a row of random bits means, in three stages: from ``bits`` bits,
certified where the rest cannot change the answer; from 64 more likewise; and from as many as it
takes. All three are the same function of the infinite row of bits, so a deviate has exactly its
distribution; a row that decides nothing at all has probability zero.
"""

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

import numpy as np

from dpcore.noise.entropy import Entropy

__all__ = ["BulkDistribution", "LazyUniform", "draw_bulk"]

_CHUNK, _LARGE_CHUNK = 1 << 14, 1 << 16
"""Deviates of a chunk: multiples of 64, so that their bits fill whole words. Few, so that the words
come from memory that is at hand (new pages took a third of a draw); more where the draw is large,
so that threads seldom meet at the interpreter's lock."""
# Deviates of a thread: for fewer, to wake one takes longer than it saves.
_LEAST_PART, _FIRST_PRECISION = 1 << 13, 192


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


class BulkDistribution(Protocol):
    """``bits`` : of the first stage, 1 to 32, or 64; of ``digits`` so many low bits count."""

    bits: int

    def first(self, words: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Fill ``out`` from ``bits`` bits each; return where it holds the bits, undecided."""

    def second(self, digits: np.ndarray, words: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Fill ``out`` from ``digits`` and 64 bits more; return where it is undecided."""

    def exact(self, digits: int, bits: int, more: Callable[[], int]) -> int:
        """Return the value, whatever it takes; ``more()`` : 64 further bits."""


def draw_bulk(
    entropy: Entropy, distribution: BulkDistribution, size: int, threads: int
) -> np.ndarray:
    """Return ``size`` values of the distribution, int64.

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
            words = entropy.words(-(-part.size * distribution.bits // 64) + 1)
            found.append(distribution.first(words, part) + start)
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
        _decide(entropy, distribution, out, np.concatenate(pending))
    return out


@lru_cache(maxsize=4)
def _executor(process: int, threads: int) -> ThreadPoolExecutor:
    """Return threads that stay, since to start them for each draw takes as long as a short draw.

    ``process`` : its number; a forked child has none of its parent's threads.
    """
    return ThreadPoolExecutor(threads, "dpcore-noise")


def _decide(
    entropy: Entropy, distribution: BulkDistribution, out: np.ndarray, pending: np.ndarray
) -> None:
    """Replace the digits that ``out`` holds at ``pending`` by the values that they begin."""
    digits, values = out[pending], np.empty(pending.size, dtype=np.int64)
    words = entropy.words(pending.size)
    for i in distribution.second(digits, words, values):
        known = int(digits[i]) << 64 | int(words[i])
        values[i] = distribution.exact(
            known, distribution.bits + 64, lambda: int(entropy.words(1)[0])
        )
    words[:] = 0
    out[pending] = values

"""Noise by exact integer distributions, from a stream of random words that nothing else hands
out."""

from collections.abc import Callable
from functools import cache
from math import prod
from typing import NamedTuple, overload

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.noise import deviates, incremental_digits
from dpcore.noise.bulk import BulkDistribution, LazyUniform, draw_bulk
from dpcore.noise.entropy import Entropy, SeededEntropy, SystemEntropy, Unshareable
from dpcore.noise.normal import normal_distribution
from dpcore.noise.scale import GridScale

__all__ = ["BULK_SIZE", "NoiseSource", "SeededNoise", "SystemNoise", "load_noise"]

_Shape = int | tuple[int, ...]


class _Distribution(NamedTuple):
    """A distribution twice, and the words to ask for per deviate: the mean that it uses, and a
    little."""

    kernel: Callable[..., tuple[int, int, int]]
    exact: Callable[[incremental_digits.DigitStream, GridScale], int]
    words: int


_NORMAL = _Distribution(deviates.normal_kernel, incremental_digits.normal, 19)
_EXPONENTIAL = _Distribution(deviates.exponential_kernel, incremental_digits.exponential, 5)
_LAPLACE = _Distribution(deviates.laplace_kernel, incremental_digits.laplace, 6)

_WORD_VALUES, _LARGEST_RANGE = 1 << 64, 1 << 63
_COIN_REST = 1 << 56
BULK_SIZE = 1 << 12
"""From so many on, deviates are drawn in bulk."""


class NoiseSource(Unshareable):
    """Draws noise of exact integer distributions. The scales are in grid steps.

    ``gaussian`` and ``laplace`` are floors of continuous deviates: for x on the grid x + floor(Z)
    equals floor(x + Z), post-processing of the continuous mechanism, so every bound proved for that
    one holds. ``lazy_uniform`` is a number whose digits are drawn when they are asked for. (The
    discrete Gaussian of Canonne, Kamath & Steinke 2020 has the zCDP bound too, but
    exceeds the Gaussian trade-off curve at small scales.) Values are reduced modulo 2^64.
    """

    lazy_uniform = staticmethod(LazyUniform)

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy

    @staticmethod
    def of_seed(seed: int | None = None) -> "NoiseSource":
        """Return noise from the system's entropy, or, for tests and figures, from a seed."""
        return SystemNoise() if seed is None else SeededNoise(seed)

    @staticmethod
    def load_kernels(count: int) -> None:
        """Load the kernels that draw noise, also those for thousands of deviates at a time where
        there are so many, before any is drawn."""
        load_noise(in_bulk=count >= BULK_SIZE)

    @property
    def seeded(self) -> bool:
        """Whether the noise follows from a seed: then nothing that it covers is private."""
        return self._entropy.seeded

    def gaussian(self, scale: GridScale, size: _Shape, threads: int = 1) -> np.ndarray:
        """Return floor(scale * N), N standard normal: int64 of shape ``size``.

        Thousands of deviates of a scale from 1 to below 2^42 are drawn in bulk
        (``dpcore.noise.normal``), which costs a tenth or less; then up to ``threads`` threads share
        the work.
        """
        count = size if isinstance(size, int) else prod(size)
        distribution = normal_distribution(scale) if count >= BULK_SIZE else None
        if distribution is not None:
            return self.bulk(distribution, size, threads)
        return self._draw(_NORMAL, scale, size)[0]

    def laplace(self, scale: GridScale, size: _Shape) -> np.ndarray:
        """Return floor(scale * L), L of density exp(-|x|)/2: int64 of shape ``size``."""
        return self._draw(_LAPLACE, scale, size)[0]

    def unwrapped_laplace(self, scale: GridScale, size: _Shape) -> np.ndarray:
        """Return the distribution of ``laplace`` as Python integers (dtype object), never
        reduced."""
        return self._unwrapped(_LAPLACE, scale, size)

    def unwrapped_gaussian(self, scale: GridScale, size: _Shape) -> np.ndarray:
        """Return the distribution of ``gaussian`` as Python integers (dtype object), never
        reduced."""
        return self._unwrapped(_NORMAL, scale, size)

    def geometric(self, scale: GridScale, size: _Shape) -> np.ndarray:
        """Return integers with P(z) proportional to exp(-|z| / scale): int64 of shape ``size``.

        The difference of two floored exponential deviates, which are geometric.
        """
        first, second = (self._draw(_EXPONENTIAL, scale, size)[0] for _ in range(2))
        return np.asarray(first - second)

    def bulk(self, distribution: BulkDistribution, size: _Shape, threads: int = 1) -> np.ndarray:
        """Return integers of a distribution that is decided by the digits of a uniform number:
        int64 of shape ``size``. ``threads`` : as for ``gaussian``."""
        count = size if isinstance(size, int) else prod(size)
        return draw_bulk(self._entropy, distribution, count, threads).reshape(size)

    def exponential(self, scale: GridScale, size: _Shape) -> np.ndarray:
        """Return floor(scale * E), E of density exp(-x): uint64 of shape ``size``.

        A value of 2^64 or more becomes 2^64 - 1, which is at least every uint64 it is compared to.
        """
        drawn, wide = self._draw(_EXPONENTIAL, scale, size)
        values = drawn.view(np.uint64)
        for i, value in wide.items():
            values.flat[i] = min(value, _WORD_VALUES - 1)
        return values

    def words(self, n: int) -> np.ndarray:
        """Return ``n`` uniform 64-bit words, uint64: the digits of uniform numbers, for a
        distribution that is not here (``dpcore.noise.incremental_digits``)."""
        return self._entropy.words(n)

    def coins(self, n: int, weight: int) -> np.ndarray:
        """Return ``n`` independent coins, each True with probability ``weight / 2^64``: bool.

        Bytes of random words, one for each coin: below the weight's first byte it is True, above it
        False, and where they agree 56 bits more decide. 0 <= weight <= 2^64.
        """
        if not 0 <= weight <= _WORD_VALUES:
            raise InvalidInputError(f"Expected weight={weight!r} between 0 and 2^64.")
        if weight == _WORD_VALUES:
            return np.ones(n, dtype=bool)
        first, rest = divmod(weight, _COIN_REST)
        drawn = self._entropy.words(-(-n // 8)).astype("<u8", copy=False).view(np.uint8)
        heads = drawn[:n] < first
        tied = np.flatnonzero(drawn[:n] == first)
        heads[tied] = (self._entropy.words(tied.size) >> np.uint64(8)) < np.uint64(rest)
        drawn[:] = 0
        return heads

    @overload
    def integers_below(self, n: int) -> int: ...
    @overload
    def integers_below(self, n: int, size: int) -> np.ndarray: ...

    def integers_below(self, n: int, size: int | None = None) -> int | np.ndarray:
        """Return uniform integers in [0, n): an int, or int64 of shape (size,). n <= 2^63.

        The lowest bits of a word, drawn again where they make n or more.
        """
        if not 1 <= n <= _LARGEST_RANGE:
            raise InvalidInputError(f"Expected n={n!r} between 1 and 2^63.")
        mask = np.uint64((1 << (n - 1).bit_length()) - 1)
        drawn = self._entropy.words(1 if size is None else size) & mask
        again = np.flatnonzero(drawn >= np.uint64(n))
        while again.size:
            fresh = self._entropy.words(again.size) & mask
            drawn[again] = fresh
            again = again[fresh >= np.uint64(n)]
        return int(drawn[0]) if size is None else drawn.view(np.int64)

    def subset(self, n: int, size: int) -> np.ndarray:
        """Return ``size`` of the numbers 0..n-1, every choice equally likely: sorted int64.

        The first ``size`` different ones of a row of uniform numbers. 1 <= size <= n.
        """
        if not 1 <= size <= n:
            raise InvalidInputError(f"Expected 1 <= size={size!r} <= n={n!r}.")
        if 2 * size > n:
            return np.sort(self.permutation(n)[:size])
        drawn = self.integers_below(n, size)
        while (first := np.unique(drawn, return_index=True)[1]).size < size:
            more = self.integers_below(n, size - first.size)
            drawn = np.concatenate((drawn[np.sort(first)], more))
        return np.sort(drawn)

    def permutation(self, n: int) -> np.ndarray:
        """Return a uniform permutation of 0..n-1, int64: the order of n distinct random words.

        Words that are not all distinct are drawn again, all of them; so all orders are alike.
        """
        while True:
            keys = self._entropy.words(n)
            order = np.argsort(keys)
            keys = keys[order]
            if not np.any(keys[1:] == keys[:-1]):
                return order

    def _unwrapped(self, distribution: _Distribution, scale: GridScale, size: _Shape) -> np.ndarray:
        drawn, wide = self._draw(distribution, scale, size)
        values = drawn.astype(object)
        for i, value in wide.items():
            values.flat[i] = value
        return values

    def _draw(
        self, distribution: _Distribution, scale: GridScale, size: _Shape
    ) -> tuple[np.ndarray, dict[int, int]]:
        """Return values modulo 2^64 as int64, and by flat index those that int64 cannot hold."""
        m, r = np.uint64(scale.significand), np.uint64(min(scale.shift, 63))
        out = np.empty(size if isinstance(size, int) else prod(size), dtype=np.uint64)
        wide: dict[int, int] = {}
        words = self._entropy.words(distribution.words * out.size)
        done = 0
        while done < out.size:
            filled, used, stopped = distribution.kernel(words, m, r, out[done:])
            done += filled
            words = self._discard(words, used)
            if stopped == deviates.RAN_OUT:
                words = self._extend(words, distribution.words * (out.size - done))
            elif stopped == deviates.UNDECIDED:
                value, words = self._decide(distribution, scale, words)
                out[done] = value % _WORD_VALUES
                if not -_LARGEST_RANGE <= value < _LARGEST_RANGE:
                    wide[done] = value
                done += 1
        self._discard(words, words.size)
        return out.view(np.int64).reshape(size), wide

    def _decide(
        self, distribution: _Distribution, scale: GridScale, words: np.ndarray
    ) -> tuple[int, np.ndarray]:
        """Return the deviate that begins at the first of ``words``, and the words behind it."""
        held = words

        def word(i: int) -> int:
            nonlocal held
            if i >= held.size:
                held = self._extend(held, distribution.words)
            return int(held[i])

        stream = incremental_digits.DigitStream(word)
        return distribution.exact(stream, scale), self._discard(held, stream.used)

    def _extend(self, words: np.ndarray, n: int) -> np.ndarray:
        """Return ``words`` followed by ``n`` new ones."""
        extended = np.concatenate((words, self._entropy.words(n)))
        words[:] = 0
        return extended

    @staticmethod
    def _discard(words: np.ndarray, used: int) -> np.ndarray:
        """Return the words behind the first ``used``, which are zeroed."""
        words[:used] = 0
        return words[used:]


class SystemNoise(NoiseSource):
    """Noise from the operating system's entropy."""

    def __init__(self) -> None:
        super().__init__(SystemEntropy())


class SeededNoise(NoiseSource):
    """Noise that follows from a seed, for tests and figures: nothing it covers is private.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.plugin.parts import GridScale, SeededNoise
    >>> SeededNoise(0).gaussian(GridScale(100), (3,))
    array([-48, 142,   2])
    """

    def __init__(self, seed: int) -> None:
        super().__init__(SeededEntropy(seed))


@cache
def load_noise(in_bulk: bool) -> None:
    noise, scale = SeededNoise(0), GridScale.at_least(1.0, 2.0, 0)
    for draw in (noise.gaussian, noise.laplace, noise.exponential):
        draw(scale, 1)
    if in_bulk:
        for wide in (scale, GridScale.at_least(1.0, 2.0, 30)):
            noise.gaussian(wide, BULK_SIZE)

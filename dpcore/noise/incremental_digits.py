"""The deviates of ``dpcore.noise.deviates`` in Python integers, with as many digits as it takes.

Each function is the same function of the stream of words as its kernel, and also decides what the
kernel leaves open: a uniform number takes its further digits from the stream when a comparison or a
floor first needs them. Slow, and called for about one deviate in 2^(64 - log2 scale).
"""

from collections.abc import Callable
from itertools import count

from dpcore.noise.scale import GridScale

__all__ = [
    "DigitStream",
    "Digits",
    "exponential",
    "laplace",
    "normal",
]


class DigitStream:
    """Random digits of base ``2**bits``, drawn one by one; ``used`` counts them."""

    def __init__(self, draw: Callable[[int], int], bits: int = 64) -> None:
        self._draw = draw
        self.bits = bits
        self.used = 0

    def digit(self) -> int:
        """Return the next digit: ``draw(how many were used before)``."""
        self.used += 1
        return self._draw(self.used - 1)

    def coin(self) -> bool:
        return self.digit() >> (self.bits - 1) == 1

    def normal(self) -> "tuple[bool, Digits]":
        """Return the sign (True: negative) and the size of an exact normal deviate."""
        k, x = _half_normal(self)
        return self.coin(), Digits(k, x, self)

    def exponential(self) -> "Digits":
        """Return an exact exponential deviate."""
        return Digits(*_exponential(self), self)


class _Uniform:
    """A number uniform on (0, 1): a row of digits, drawn when they are needed."""

    def __init__(self, stream: DigitStream) -> None:
        self._stream = stream
        self.digits = [stream.digit()]

    def digit(self, i: int) -> int:
        while i >= len(self.digits):
            self.digits.append(self._stream.digit())
        return self.digits[i]

    def __lt__(self, other: "_Uniform") -> bool:
        i = 0
        if self.digits[0] == other.digits[0]:
            i = next(i for i in count(1) if self.digit(i) != other.digit(i))
        return self.digits[i] < other.digits[i]


class Digits:
    """A number k + X >= 0, X uniform digits: as many of them as are asked for."""

    def __init__(self, k: int, x: _Uniform, stream: DigitStream) -> None:
        self._k, self._x, self._bits = k, x, stream.bits

    def floor(self, digits: int) -> int:
        """Return floor(2^(bits * digits) (k + X)): the number is less than 1 above it."""
        value = self._k
        for i in range(digits):
            value = value << self._bits | self._x.digit(i)
        return value


def normal(stream: DigitStream, scale: GridScale) -> int:
    """Return floor(scale * N) for an exact normal deviate N (Karney 2016, Algorithm N)."""
    return _signed_floor(stream, scale, *_half_normal(stream))


def _half_normal(stream: DigitStream) -> tuple[int, _Uniform]:
    while True:
        k = 0
        while _half_step(stream):
            k += 1
        if not all(_half_step(stream) for _ in range(k * (k - 1))):
            continue
        x = _Uniform(stream)
        if all(_keep_fraction(stream, k, x) for _ in range(k + 1)):
            return k, x


def exponential(stream: DigitStream, scale: GridScale) -> int:
    """Return floor(scale * E) for an exact exponential deviate E (von Neumann 1951)."""
    k, x = _exponential(stream)
    return _floor(scale, k, x, stream.bits)


def laplace(stream: DigitStream, scale: GridScale) -> int:
    """Return floor(scale * L) for an exact Laplace deviate L: an exponential one with a sign."""
    k, x = _exponential(stream)
    return _signed_floor(stream, scale, k, x)


def _exponential(stream: DigitStream) -> tuple[int, _Uniform]:
    k = 0
    while True:
        x = _Uniform(stream)
        if _run_is_even(stream, x, even=True):
            return k, x
        k += 1


def _run_is_even(stream: DigitStream, last: _Uniform, even: bool) -> bool:
    while (u := _Uniform(stream)) < last:
        last, even = u, not even
    return even


def _half_step(stream: DigitStream) -> bool:
    """Return True with probability exp(-1/2)."""
    u = _Uniform(stream)
    return u.digits[0] >> (stream.bits - 1) == 1 or _run_is_even(stream, u, even=False)


def _keep_fraction(stream: DigitStream, k: int, x: _Uniform) -> bool:
    """Return True with probability exp(-x (2k + x) / (2k + 2))."""
    y, even = x, True
    while (z := _Uniform(stream)) < y and _coin(stream, k, x):
        y, even = z, not even
    return even


def _coin(stream: DigitStream, k: int, x: _Uniform) -> bool:
    """Return True with probability (2k + x) / (2k + 2)."""
    j = _below(stream, 2 * k + 2)
    return j < 2 * k or (j == 2 * k and _Uniform(stream) < x)


def _below(stream: DigitStream, n: int) -> int:
    """Return a uniform integer below ``n``, from the lowest bits of each digit."""
    width = (n - 1).bit_length()
    while True:
        j = 0
        for _ in range(0, width, stream.bits):
            j = j << stream.bits | stream.digit()
        j &= (1 << width) - 1
        if j < n:
            return j


def _signed_floor(stream: DigitStream, scale: GridScale, k: int, x: _Uniform) -> int:
    negative = stream.coin()
    floor = _floor(scale, k, x, stream.bits)
    return ~floor if negative else floor


def _floor(scale: GridScale, k: int, x: _Uniform, bits: int) -> int:
    """Return floor(scale (k + x)): the first floor on which all further digits agree."""
    known = k
    for i in count():
        known = known << bits | x.digit(i)
        shift = scale.shift + bits * (i + 1)
        least = scale.significand * known
        if least >> shift == (least + scale.significand - 1) >> shift:
            return least >> shift
    raise AssertionError("unreachable")

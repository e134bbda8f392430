"""Exact normal and exponential deviates, scaled and floored, from an array of random words.

Kernels of Algorithm N of Karney (2016), "Sampling exactly from the normal distribution", ACM TOMS
42(1), and of von Neumann (1951), "Various techniques used in connection with random digits". A
uniform number is an infinite row of 64-bit digits, and a kernel draws the first. Where the
first does not decide (two uniforms whose first digits agree, a floor that hangs on the next digit,
a result that leaves 64 bits), it stops, and ``dpcore.noise.incremental_digits`` computes that
deviate, from its own first word on, with as many digits as it takes. Both are one function of the
stream of words.

Integers stay uint64 throughout and no operation but a shift overflows, so the compiled and the
interpreted kernels agree to the bit.
"""

import numpy as np

from dpcore.exact.compiled import njit

__all__ = ["RAN_OUT", "UNDECIDED", "exponential_kernel", "laplace_kernel", "normal_kernel"]

RAN_OUT = -1
UNDECIDED = -2

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_HALF = np.uint64(1 << 63)
_WORD_MAX = np.uint64((1 << 64) - 1)
_LOW = np.uint64((1 << 32) - 1)
_32 = np.uint64(32)


@njit(cache=True, error_model="numpy")
def _scaled(k: int, x: np.uint64, m: np.uint64, r: np.uint64) -> tuple[np.uint64, bool | np.bool]:
    """Return floor(m (k + X) / 2^r), and whether it is certain; X begins with the digit ``x``."""
    if k >= 64:
        return _ZERO, False
    p0 = (m & _LOW) * (x & _LOW)
    p1 = (m & _LOW) * (x >> _32)
    p2 = (m >> _32) * (x & _LOW)
    middle = (p0 >> _32) + (p1 & _LOW) + (p2 & _LOW)
    high = (m >> _32) * (x >> _32) + (p1 >> _32) + (p2 >> _32) + (middle >> _32)
    low = (middle << _32) | (p0 & _LOW)
    # m < 2^58 and k < 64, so this is below 2^64; the digits to come add less than m to ``low``.
    whole = m * np.uint64(k) + high
    value = whole >> r
    carry = low > _WORD_MAX - (m - _ONE)
    if carry and ((whole + _ONE) >> r) != value:
        return _ZERO, False
    return value, value < _HALF


@njit(cache=True, error_model="numpy")
def _run_is_even(words: np.ndarray, pos: int, last: np.uint64, even: bool) -> tuple[bool, int]:
    """Return whether the decreasing run below ``last`` ends evenly, and the next position."""
    while pos < words.size:
        u = words[pos]
        pos += 1
        if u == last:
            return False, UNDECIDED
        if u > last:
            return even, pos
        last = u
        even = not even
    return False, RAN_OUT


@njit(cache=True, error_model="numpy")
def _coin(words: np.ndarray, pos: int, k: int, x: np.uint64) -> tuple[bool, int]:
    """Return True with probability (2k + X) / (2k + 2) (Algorithm C), and the next position."""
    mask = _ONE
    while mask < np.uint64(2 * k + 1):
        mask = (mask << _ONE) | _ONE
    while pos < words.size:
        j = words[pos] & mask
        pos += 1
        if j < np.uint64(2 * k):
            return True, pos
        if j == np.uint64(2 * k + 1):
            return False, pos
        if j == np.uint64(2 * k):
            if pos >= words.size:
                return False, RAN_OUT
            u = words[pos]
            return u < x, UNDECIDED if u == x else pos + 1
    return False, RAN_OUT


@njit(cache=True, error_model="numpy")
def _keep_fraction(words: np.ndarray, pos: int, k: int, x: np.uint64) -> tuple[bool, int]:
    """Return True with probability exp(-X (2k + X) / (2k + 2)) (Algorithm B), and the position."""
    y = x
    even = True
    while pos < words.size:
        z = words[pos]
        pos += 1
        if z == y:
            return False, UNDECIDED
        if z > y:
            return even, pos
        coin, pos = _coin(words, pos, k, x)
        if pos < 0 or not coin:
            return even, pos
        y = z
        even = not even
    return False, RAN_OUT


@njit(cache=True, error_model="numpy")
def _half_step(words: np.ndarray, pos: int) -> tuple[bool, int]:
    """Return True with probability exp(-1/2) (Algorithm H), and the next position."""
    if pos >= words.size:
        return False, RAN_OUT
    if words[pos] >= _HALF:
        return True, pos + 1
    even, pos = _run_is_even(words, pos + 1, words[pos], False)
    return even, pos


@njit(cache=True, error_model="numpy")
def _integer_part(words: np.ndarray, pos: int) -> tuple[int, int]:
    """Return k of probability proportional to exp(-k^2 / 2) (steps N1, N2), and the position."""
    while True:
        k = 0
        more, pos = _half_step(words, pos)
        while more and pos >= 0:
            k += 1
            more, pos = _half_step(words, pos)
        keep = True
        trials = k * (k - 1)
        while keep and trials > 0 and pos >= 0:
            keep, pos = _half_step(words, pos)
            trials -= 1
        if keep or pos < 0:
            return k, pos


@njit(cache=True, error_model="numpy")
def _normal(words: np.ndarray, pos: int) -> tuple[int, np.uint64, int]:
    """Return k, the first digit of X and the next position: k + X is half-normal (N1 to N4)."""
    while True:
        k, pos = _integer_part(words, pos)
        if pos < 0:
            return k, _ZERO, pos
        if pos >= words.size:
            return k, _ZERO, RAN_OUT
        x = words[pos]
        pos += 1
        keep = True
        trials = k + 1
        while keep and trials > 0 and pos >= 0:
            keep, pos = _keep_fraction(words, pos, k, x)
            trials -= 1
        if keep or pos < 0:
            return k, x, pos


@njit(cache=True, error_model="numpy")
def _exponential(words: np.ndarray, pos: int) -> tuple[int, np.uint64, int]:
    """Return k, the first digit of X and the next position: k + X is exponential."""
    k = 0
    while pos < words.size:
        x = words[pos]
        keep, pos = _run_is_even(words, pos + 1, x, True)
        if keep or pos < 0:
            return k, x, pos
        k += 1
    return k, _ZERO, RAN_OUT


@njit(cache=True, error_model="numpy")
def _finish(
    words: np.ndarray, pos: int, k: int, x: np.uint64, m: np.uint64, r: np.uint64, signed: bool
) -> tuple[np.uint64, int]:
    """Return floor(m (k + X) / 2^r), with a random sign if ``signed``, and the next position.

    The floor of a negative number that is no integer is minus its size's floor minus one: ``~``.
    """
    if pos < 0:
        return _ZERO, pos
    negative = False
    if signed:
        if pos >= words.size:
            return _ZERO, RAN_OUT
        negative = words[pos] >= _HALF
        pos += 1
    value, certain = _scaled(k, x, m, r)
    if not certain:
        return _ZERO, UNDECIDED
    return (~value if negative else value), pos


@njit(cache=True, error_model="numpy")
def normal_kernel(
    words: np.ndarray, m: np.uint64, r: np.uint64, out: np.ndarray
) -> tuple[int, int, int]:
    """Fill ``out`` (uint64, two's complement) with floor(m N / 2^r), N exact normal deviates.

    Returns how many are done, the position of the first word of the next one, and RAN_OUT or
    UNDECIDED if it stopped early (else 0). The next deviate has to be computed from that very word:
    to drop the words of an unfinished one would favour the deviates that need few.
    """
    start = int(np.int64(0))  # no literal, of which another version would be compiled
    for i in range(out.size):
        k, x, pos = _normal(words, start)
        value, pos = _finish(words, pos, k, x, m, r, True)
        if pos < 0:
            return i, start, pos
        out[i] = value
        start = pos
    return out.size, start, 0


@njit(cache=True, error_model="numpy")
def exponential_kernel(
    words: np.ndarray, m: np.uint64, r: np.uint64, out: np.ndarray
) -> tuple[int, int, int]:
    """Fill ``out`` with floor(m E / 2^r), E exact exponential deviates; as ``normal_kernel``."""
    start = int(np.int64(0))  # no literal, of which another version would be compiled
    for i in range(out.size):
        k, x, pos = _exponential(words, start)
        value, pos = _finish(words, pos, k, x, m, r, False)
        if pos < 0:
            return i, start, pos
        out[i] = value
        start = pos
    return out.size, start, 0


@njit(cache=True, error_model="numpy")
def laplace_kernel(
    words: np.ndarray, m: np.uint64, r: np.uint64, out: np.ndarray
) -> tuple[int, int, int]:
    """Fill ``out`` with floor(m L / 2^r), L exact Laplace deviates; as ``normal_kernel``."""
    start = int(np.int64(0))  # no literal, of which another version would be compiled
    for i in range(out.size):
        k, x, pos = _exponential(words, start)
        value, pos = _finish(words, pos, k, x, m, r, True)
        if pos < 0:
            return i, start, pos
        out[i] = value
        start = pos
    return out.size, start, 0

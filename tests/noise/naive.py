"""The exact deviates once more, one random bit at a time, straight from the densities.

Slow and obviously right: every coin of probability p compares a lazy uniform number with an
interval that holds p, and both are refined until they no longer overlap.
"""

from fractions import Fraction
from math import factorial, floor


class LazyBits:
    """A uniform number known to ``bits`` binary places, between two fractions."""

    def __init__(self, rng):
        self.rng, self.value, self.bits = rng, 0, 0

    def refine(self):
        self.value = 2 * self.value + self.rng.getrandbits(1)
        self.bits += 1

    @property
    def interval(self):
        return Fraction(self.value, 2**self.bits), Fraction(self.value + 1, 2**self.bits)


def exp_minus(t, terms):
    """Fractions around exp(-t), 0 <= t: Taylor's series of exp(t) and its remainder, inverted."""
    whole = floor(t) + 1
    part = t / whole
    series = sum((part**i / factorial(i) for i in range(terms)), Fraction(0))
    remainder = 3 * part**terms / factorial(terms)
    return 1 / (series + remainder) ** whole, 1 / series**whole


def coin(rng, low_exponent, high_exponent, refine):
    """True with probability exp(-t), where t lies between the two callables' values."""
    u, terms = LazyBits(rng), 4
    while True:
        low, high = u.interval
        if high <= exp_minus(high_exponent(), terms)[0]:
            return True
        if low >= exp_minus(low_exponent(), terms)[1]:
            return False
        u.refine()
        refine()
        terms += 1


def coin_at(rng, t):
    t = Fraction(t)
    return coin(rng, lambda: t, lambda: t, lambda: None)


def floor_of(scale, k, x, negative):
    """The floor of plus or minus scale (k + x), x known to as many bits as that takes."""
    while True:
        low, high = (scale * (k + end) for end in x.interval)
        if negative:
            low, high = -high, -low
        # The number is inside the interval: its ends have probability zero.
        if high <= floor(low) + 1:
            return floor(low)
        x.refine()


def normal(rng, scale):
    """floor(scale * N): k by coins, then k + x by rejection from its density exp(-(k+x)^2/2)."""
    while True:
        k = 0
        while coin_at(rng, Fraction(1, 2)):
            k += 1
        # exp(-k/2) proposed, exp(-k^2/2) wanted.
        if not coin_at(rng, Fraction(k * k - k, 2)):
            continue
        x = LazyBits(rng)
        exponents = [lambda i=i: x.interval[i] * (2 * k + x.interval[i]) / 2 for i in (0, 1)]  # noqa: B023
        if coin(rng, *exponents, x.refine):
            return floor_of(scale, k, x, rng.getrandbits(1))


def exponential(rng, scale, signed=False):
    """floor(scale * E), or of a Laplace deviate: k by coins of exp(-1), x of density exp(-x)."""
    k = 0
    while coin_at(rng, 1):
        k += 1
    while True:
        x = LazyBits(rng)
        if coin(rng, lambda: x.interval[0], lambda: x.interval[1], x.refine):  # noqa: B023
            return floor_of(scale, k, x, signed and rng.getrandbits(1))

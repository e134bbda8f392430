"""A twin of the scores, from the formula: all pairs of rows, in exact fractions."""

import math
from fractions import Fraction

import numpy as np

__all__ = ["scores", "signs"]


def signs(a, b):
    """Return S(a, b): the sum over pairs of rows of the product of the signs."""
    a, b = np.asarray(a), np.asarray(b)
    both = np.sign(a[:, None] - a[None]) * np.sign(b[:, None] - b[None])
    return int(both.sum()) // 2


def correlation(a, b):
    return Fraction(abs(signs(a, b)), len(a) - 1) if len(a) > 1 else Fraction(0)


def scores(X, y, candidates, chosen, bits=16):
    """Return the scores in steps of 2^-bits, rounded down."""
    found = []
    for j in candidates:
        score = correlation(X[:, j], y)
        if chosen:
            score -= sum((correlation(X[:, j], X[:, s]) for s in chosen), Fraction(0)) / len(chosen)
        found.append(math.floor(score * 2**bits))
    return found

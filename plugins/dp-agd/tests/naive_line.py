"""Slow, obviously right twins of the plugin's kernels."""

from fractions import Fraction


def margin(row, factor, w, direction, step):
    """The exact product with the point at ``step`` along the line, times the factor, rounded
    once."""
    point = [Fraction(a) - Fraction(step) * Fraction(b) for a, b in zip(w, direction, strict=True)]
    product = sum(Fraction(x) * a for x, a in zip(row, point, strict=True))
    return float(product) * factor

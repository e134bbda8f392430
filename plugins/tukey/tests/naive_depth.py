"""Twins of the boxes and of their distribution, from the formulas, over every point of a small
grid."""

import itertools
import math
from fractions import Fraction


def depth(models, point):
    """Return the fewest models on one side of a point in any coordinate, half of all at most."""
    return min(
        (len(models) + 1) // 2,
        *(
            min(sum(a <= at for a in column), sum(a >= at for a in column))
            for column, at in zip(zip(*models, strict=True), point, strict=True)
        ),
    )


def grid(largest, d):
    return list(itertools.product(range(-largest, largest + 1), repeat=d))


def distribution(models, points, least, weight):
    """Return the probability of each point, by a function of its depth."""
    weights = [
        weight(at) if (at := depth(models, point)) >= least else Fraction(0) for point in points
    ]
    return [each / sum(weights) for each in weights]


def condition(models, points, least, weight, delta, k):
    """Return whether C_k holds, from its words."""
    deep = [depth(models, point) for point in points]
    shallow = sum(at >= least - 1 - k for at in deep)
    total = sum(weight(at - k) for at in deep if at >= least + k)
    return weight(least) * shallow <= delta * total


def distance(models, points, least, weight, delta):
    found = 0
    while found <= len(models) and condition(models, points, least, weight, delta, found):
        found += 1
    return found


def passes(h, threshold, scale):
    """Return the probability that h and two-sided geometric noise reach the threshold."""
    q, x = math.exp(-1 / scale), threshold - h
    return q**x / (1 + q) if x > 0 else 1 - q ** (1 - x) / (1 + q)


def hockey_stick(p, q, factor):
    return sum(max(0, a - factor * b) for a, b in zip(p, q, strict=True))

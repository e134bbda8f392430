"""Twins of the kernels, from the formulas, in whole numbers of Python."""

import math
from fractions import Fraction

import numpy as np


def raw_steps(X):
    """Return the rows as lists of whole steps of 2^-16."""
    return [[int(np.trunc(x * 2**16)) for x in row] for row in np.asarray(X)]


def scores(X, y, factors, loss, radius, clip, bits, picks):
    """Return the scores of all vertices, best largest, in steps of 2^-(16 + bits)."""
    rows, d = raw_steps(X), np.asarray(X).shape[1]
    total, t = [0] * d, len(picks)
    for row, label, factor in zip(rows, y, factors, strict=True):
        margin = 0
        for k, pick in enumerate(picks, 1):
            margin += (k if pick < d else -k) * row[pick % d]
        scale = 2 * radius / (t * (t + 1)) if t else 0.0
        z = margin * (scale * 2.0**-16) * factor
        slope = np.empty(1)
        loss.dvalue(np.array([z]), np.array([label]), slope)
        size, largest = abs(slope[0] * factor), max(map(abs, row))
        if largest == 0:
            continue
        limit = clip / (largest / 2**16)
        steps = math.floor(min(size, limit - limit * 2.0**-52) * 2**bits)
        for j in range(d):
            total[j] += (steps if slope[0] > 0 else -steps) * row[j]
    return [-g for g in total] + total


def probabilities(utilities, scale):
    """Return the distribution of the exponential mechanism, from the formula."""
    best = max(utilities)
    weights = [math.exp(-float(Fraction(best - int(u)) / scale)) for u in utilities]
    return [weight / sum(weights) for weight in weights]


def descent(vertices, d, radius):
    """Return the point after steps of sizes 2 / (k + 1) to these vertices, as the papers take
    them."""
    w = np.zeros(d)
    for k, pick in enumerate(vertices, 1):
        vertex = np.zeros(d)
        vertex[pick % d] = radius if pick < d else -radius
        w = (1 - 2 / (k + 1)) * w + 2 / (k + 1) * vertex
    return w

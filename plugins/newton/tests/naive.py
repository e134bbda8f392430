"""The formulas of the kernel and of the direction, entry by entry."""

import math

import numpy as np


def roots(rows, c, maps, params):
    """Return the whole numbers of ``write_roots``."""
    clip, steps, last = params
    out = np.zeros_like(rows)
    for i, x in enumerate(rows):
        phi = [a * entry - b * x[int(last)] for entry, a, b in zip(x, *maps, strict=True)]
        square = math.fsum(entry * entry for entry in phi)
        if not (math.isfinite(c[i]) and c[i] > 0 and square > 0):
            continue
        number = min(c[i], clip / square)
        out[i] = [math.trunc(steps * math.sqrt(number) * entry) for entry in phi]
    return out


def hessian(phi, c, clip):
    """Return ``sum_i min(c_i, clip / ||phi_i||^2) phi_i phi_i'``."""
    total = np.zeros((phi.shape[1],) * 2)
    for row, number in zip(phi, c, strict=True):
        square = float(row @ row)
        if square > 0:
            total += min(number, clip / square) * np.outer(row, row)
    return total


def direction(matrix, gradient, least, change):
    """Return ``least M(H)^-1 g / ||g||`` by a solve, with M(H) the projection for ``clip``."""
    unit = gradient / np.linalg.norm(gradient)
    if change == "add":
        return least * np.linalg.solve(matrix + least * np.eye(len(unit)), unit)
    values, vectors = np.linalg.eigh(matrix)
    return least * np.linalg.solve((vectors * np.maximum(values, least)) @ vectors.T, unit)

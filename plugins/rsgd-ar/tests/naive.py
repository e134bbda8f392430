"""Slow, obviously right twins of the plugin's kernels."""

import math
from fractions import Fraction

import numpy as np


def sensitivities(schedule, mu, curvature, gradient, slack=0):
    """Algorithm 2 of Chen, Lee & Kifer 2019 with averages: O(T m^2), exact fractions; every step
    moves two runs ``slack`` further apart."""
    m, sizes = schedule.n_batches, [int(size) for size in schedule.sizes]
    steps = np.broadcast_to(schedule.step_sizes, (schedule.epochs, m))
    mu, curvature, gradient = Fraction(mu), Fraction(curvature), Fraction(gradient)
    deltas, sums = [Fraction(0)] * m, [Fraction(0)] * m
    for s in range(schedule.epochs):
        for j in range(m):
            eta = Fraction(float(steps[s, j]))
            rho = max(abs(1 - eta * mu), abs(1 - eta * curvature))
            deltas = [rho * delta + slack for delta in deltas]
            deltas[j] += 2 * eta * gradient / sizes[j]
            sums = [a + b for a, b in zip(sums, deltas, strict=True)]
        if schedule.average_every and (s + 1) % schedule.average_every == 0:
            deltas = [a / (m * schedule.average_every) for a in sums]
            sums = [Fraction(0)] * m
    return deltas


def sgd(X, y, dloss, schedule, mu, normalise=False):
    """Algorithm 3 on rows that already stand in order; ``normalise`` : the published code's step,
    which divides every batch's gradient by its length."""
    m, edges = schedule.n_batches, np.concatenate([[0], np.cumsum(schedule.sizes)])
    steps = np.broadcast_to(schedule.step_sizes, (schedule.epochs, m))
    w, seen = np.zeros(X.shape[1]), []
    for s in range(schedule.epochs):
        for j in range(m):
            rows = slice(edges[j], edges[j + 1])
            slopes = dloss(X[rows] @ w, y[rows])
            gradient = X[rows].T @ slopes / len(slopes) + mu * w
            if normalise:
                gradient = gradient / np.linalg.norm(gradient)
            w = w - steps[s, j] * gradient
            seen.append(w)
        if schedule.average_every and (s + 1) % schedule.average_every == 0:
            w, seen = np.mean(seen, axis=0), []
    return w


def bounded_coefficient(slope, factor, lipschitz):
    """The slope cut off at the bound, times the row's factor; 0 for what is no finite number."""
    if not math.isfinite(slope):
        return 0.0
    return math.copysign(min(abs(slope), lipschitz), slope) * factor


def reach(steps, fixed, per_reach, gradient, mu, ball, projection):
    """The bound of every iterate's norm and each epoch's largest 2 e_t, exact fractions, with none
    of the slack that stands for their own rounding but for that of the update."""
    norm, slack = Fraction(0), []
    for epoch in steps.tolist():
        errors = []
        for eta in map(Fraction, epoch):
            update = 4 * eta * (gradient + mu * norm) + 2 * norm
            error = eta * (fixed + per_reach * norm) + Fraction(1, 2**52) * update + projection
            errors.append(2 * error)
            norm = max(norm, min(abs(1 - eta * mu) * norm + eta * gradient + error, ball))
        slack.append(max(errors))
    return norm, slack

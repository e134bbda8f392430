"""Exact integer distributions, written from their formulas, and the test that samples follow
one."""

import mpmath
import numpy as np
from scipy.stats import chi2

FALSE_ALARM = 1e-6
"""A correct sampler fails one fixed-seed test with this probability, once, when it is written."""


def _upper_normal(x):
    return mpmath.erfc(x / mpmath.sqrt(2)) / 2


def _upper_laplace(x):
    return mpmath.exp(-x) / 2


def _floored(upper, z, scale):
    """Mass of floor(scale * X) at z, X symmetric with the given upper tail; no cancellation."""
    z = z if z >= 0 else -z - 1
    return upper(z / mpmath.mpf(scale)) - upper((z + 1) / mpmath.mpf(scale))


def gaussian(z, scale):
    return _floored(_upper_normal, z, scale)


def laplace(z, scale):
    return _floored(_upper_laplace, z, scale)


def geometric(z, scale):
    a = mpmath.exp(-1 / mpmath.mpf(scale))
    return (1 - a) / (1 + a) * a ** abs(z)


def exponential(z, scale):
    a = mpmath.exp(-1 / mpmath.mpf(scale))
    return a**z * (1 - a) if z >= 0 else mpmath.mpf(0)


def renyi_divergence(distribution, scale, shift, alpha, reach):
    """Order-alpha divergence of distribution(z - shift) from distribution(z), in both directions:
    the larger."""
    alpha = mpmath.mpf(alpha)
    pairs = [
        (distribution(z - shift, scale), distribution(z, scale)) for z in range(-reach, reach + 1)
    ]
    forward = mpmath.fsum(p**alpha * q ** (1 - alpha) for p, q in pairs)
    backward = mpmath.fsum(q**alpha * p ** (1 - alpha) for p, q in pairs)
    return mpmath.log(max(forward, backward)) / (alpha - 1)


def p_value_of_counts(counts, probabilities):
    """Chi-square p-value of counts against probabilities; every expected count is 5 or more."""
    expected = np.asarray([float(p) for p in probabilities]) * np.sum(counts)
    assert expected.min() >= 5 and abs(expected.sum() / np.sum(counts) - 1) < 1e-9
    return chi2.sf(np.sum((np.asarray(counts) - expected) ** 2 / expected), expected.size - 1)


def p_value(samples, distribution, scale):
    """Chi-square p-value of integer samples against a distribution; both tails are pooled."""
    samples = np.asarray(samples)
    n = samples.size
    centre = range(-200, 201)
    kept = [z for z in centre if float(distribution(z, scale)) * n >= 8]
    masses = [distribution(z, scale) for z in kept]
    below = mpmath.fsum(distribution(z, scale) for z in range(kept[0] - 200, kept[0]))
    masses[0] += below
    masses[-1] += 1 - mpmath.fsum(masses)
    clipped = np.clip(samples, kept[0], kept[-1])
    return p_value_of_counts([np.sum(clipped == z) for z in kept], masses)

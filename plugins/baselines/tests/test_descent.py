"""The descent that derived queries use: its steps, and how many it promises to need at most."""

from itertools import pairwise

import numpy as np
import pytest

from dpcore.plugin import ordered_dot
from dpcore_baselines.queries.descent import bfgs_direction, minimize, steps_that_suffice


def naive_direction(g, memory, curvature):
    """Return the kernel's step by NumPy (Nocedal 1980; Nocedal & Wright 2006, Algorithm 7.4)."""
    q, weights = g.copy(), []
    for moved, turned in reversed(memory):
        weights.append(ordered_dot(moved, q) / ordered_dot(moved, turned))
        q -= weights[-1] * turned
    if memory:
        moved, turned = memory[-1]
        q *= ordered_dot(moved, turned) / ordered_dot(turned, turned)
    else:
        q /= curvature
    for (moved, turned), weight in zip(memory, reversed(weights), strict=True):
        q += (weight - ordered_dot(turned, q) / ordered_dot(moved, turned)) * moved
    return q


# ``ordered_dot`` adds halves to each other above 2^12 terms.
@pytest.mark.parametrize("size", [1, 2, 109, 2**12, 2**12 + 1, 2**14 + 3])
@pytest.mark.parametrize("pairs", [0, 1, 12])
def test_the_kernel_of_a_step_has_the_bits_of_numpy(size, pairs):
    rng = np.random.default_rng(size + pairs)
    memory = [
        (moved, moved * rng.uniform(0.5, 20.0, size))
        for moved in rng.normal(size=(pairs, size)) * 2.0**-9
    ]
    g = rng.normal(size=size)
    step = bfgs_direction(g, memory, 30.0)
    assert step.tobytes() == naive_direction(g, memory, 30.0).tobytes()
    # Its broken twin: the pairs from the newest to the oldest.
    if pairs > 1 < size:
        assert step.tobytes() != naive_direction(g, memory[::-1], 30.0).tobytes()


def test_a_step_meets_the_newest_pair():
    # The secant equation: what the gradients differed by becomes what the points differed by.
    points = np.random.default_rng(0).normal(size=(4, 5))
    bends = np.array([1.0, 2.0, 5.0, 9.0, 30.0])
    memory = [(b - a, bends * (b - a)) for a, b in pairwise(points)]
    moved, turned = memory[-1]
    assert bfgs_direction(turned, memory, 30.0) == pytest.approx(moved, rel=1e-12)
    assert bfgs_direction(turned, [], 30.0) == pytest.approx(turned / 30.0)


def test_the_slow_solver_reaches_any_tolerance_in_the_steps_it_says():
    # What limited-memory BFGS is a short cut for: with it disabled the cap still suffices.
    rng = np.random.default_rng(3)
    scale = np.geomspace(1.0, 60.0, 6)
    target, asked = rng.normal(size=6), []

    def gradient(w):
        asked.append(w)
        return scale * (w - target)

    def never(w):
        # A fast phase that is led astray: rounding to nowhere for the first hundred points.
        return w if len(asked) > 125 else w + rng.normal(size=6) * 10

    facts = {"curvature": 60.0, "mu": 1.0, "radius": 4.0, "tolerance": 1e-6}
    w = minimize(gradient, never, np.zeros(6), **facts)
    assert np.linalg.norm(scale * (w - target)) <= 1e-6
    assert len(asked) <= 300 + steps_that_suffice(60.0, 1.0, 4000.0, 1e-6)

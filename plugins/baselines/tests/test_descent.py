"""The descent that derived queries use: the steps that it promises to need at most."""

import numpy as np

from dpcore_baselines.queries.descent import minimize, steps_that_suffice


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

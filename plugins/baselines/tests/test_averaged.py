"""A step of the descents and its average: the kernel beside the formulas in NumPy, to the bit."""

import numpy as np
import pytest

from dpcore_baselines.descent.averaged import AveragedDescent


class Naive:
    """The iterates, their average and spread, as they were before there was a kernel."""

    def __init__(self, shape, momentum, averaging):
        self.momentum, self.averaging, self.taken = momentum, averaging, 0
        self.v = self.smoothed = self.average = self.spread = np.zeros(shape)

    def move(self, gradient, step_size):
        self.taken += 1
        self.smoothed = self.momentum * self.smoothed + (1 - self.momentum) * gradient
        self.v = self.v - step_size * self.smoothed
        largest = float(np.abs(self.v).max())
        if largest > 2.0**20:
            self.v = self.v * (2.0**20 / largest)
        a = self.averaging
        fresh = 1.0 if a < 0 else (1 + a) / (self.taken + a)
        way = self.v - self.average
        self.spread = (1 - fresh) * (self.spread + fresh * way * way)
        self.average = (1 - fresh) * self.average + fresh * self.v


@pytest.mark.parametrize("shape", [(1,), (7,), (3, 5)])
@pytest.mark.parametrize(("momentum", "averaging"), [(0.85, 3.0), (0.0, -1.0)])
@pytest.mark.parametrize("step_size", [0.3, 1e7])  # the second one meets the farthest iterate
def test_the_kernel_has_the_bits_of_the_formulas(shape, momentum, averaging, step_size):
    rng = np.random.default_rng(1)
    descent = AveragedDescent(shape, momentum=momentum, averaging=averaging)
    naive, met = Naive(shape, momentum, averaging), False
    for _ in range(12):
        gradient = rng.normal(size=shape)
        before = descent.v
        kept = before.copy()
        descent.move(gradient, step_size)
        naive.move(gradient, step_size)
        for name in ("v", "average", "spread"):
            assert np.array_equal(getattr(descent, name), getattr(naive, name))
            assert getattr(descent, name).shape == shape
        met |= bool(np.abs(descent.v).max() > 2.0**19)
        assert np.array_equal(before, kept)  # what was handed out stays as it was
    assert met == (step_size > 1)

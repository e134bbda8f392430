import math

import numpy as np

from dpcore.plugin.parts import Logistic
from dpcore_dp_agd.logistic_line import logistic_totals
from dpcore_lab.checks import check_loss


class WithItsLine(Logistic):
    def line_totals(self, line, y, step, count, clip, scale):
        return logistic_totals(line, y, step, count, clip, scale)


def test_losses_along_a_line_are_the_loss_row_by_row():
    check_loss(WithItsLine())


def along(z, direction, clip, scale, count=21):
    line = (z, direction, np.ones(z.size))
    return logistic_totals(line, np.ones(z.size), 0.1, count, clip, scale)


def test_losses_along_a_line_are_those_of_the_formula_to_a_step():
    rng = np.random.default_rng(4)
    for z, direction in zip(rng.normal(0, 4, 200), rng.normal(0, 4, 200), strict=True):
        found = along(np.array([z]), np.array([direction]), 3.0, 2.0**20)
        exact = [min(math.log1p(math.exp(-(z - 0.1 * k * direction))), 3.0) for k in range(21)]
        # Rounded to a step, of what float32 leaves within .3 of one.
        assert np.abs(found - 2.0**20 * np.array(exact)).max() < 0.8


def test_losses_along_a_line_add_up_without_wrapping():
    steps, n = 2**22 - 1, 5000
    far, still = np.full(n, -1e3), np.zeros(n)
    for clip in (steps * 2.0**-20, steps * 2.0**-17):
        assert (along(far, still, clip, steps / clip) == n * steps).all()
    # Of more steps, or of logarithms that float32 does not hold, `value` tells.
    assert along(far, still, 4.0, 2.0**20) is along(far, still, 65.0, 2.0**10) is None

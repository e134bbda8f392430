"""Skellam noise on an integer sum of bounded l2 sensitivity, for sums that nobody sees in parts."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpcore.plugin.parts import (
    GridScale,
    NoiseSource,
    ScaledNoise,
    Sensitivity,
    SkellamDpEvent,
    float_down,
    float_up,
    sealed,
    sqrt_up,
)
from dpcore_a_ddp.skellam_noise.distribution import draw_skellam, require_variance

__all__ = ["Skellam", "skellam_event"]


def skellam_event(
    variance: Fraction, l2_bound: Fraction, n_coordinates: int | None = None
) -> SkellamDpEvent:
    """Return the event of an integer vector that moves by at most ``l2_bound`` steps in l2.

    Its l1 norm is at most the l2 norm squared, since no whole number exceeds its own square, and at
    most sqrt(n_coordinates) times it, where that number is given. ``variance`` : of the whole sum's
    noise, in squared steps.
    """
    l1_bound = l2_bound * l2_bound
    if n_coordinates is not None:
        l1_bound = min(l1_bound, sqrt_up(Fraction(n_coordinates)) * l2_bound)
    return SkellamDpEvent(float_down(variance), float_up(l1_bound), float_up(l2_bound))


@sealed
@dataclass(frozen=True, slots=True)
class Skellam(ScaledNoise):
    """Adds the difference of two Poisson numbers to an answer in grid steps (Agarwal, Kairouz & Liu
    2021, Theorem 3.5: see ``dpcore_accounting.skellam``), under the sensitivity's own relation.

    Sums of independent Skellam numbers are Skellam, so noise drawn in shares by users who add up
    their answers, modulo 2^64 or any other number, is this very mechanism on the sum: the share of
    one of n is ``draw_skellam(noise, variance / n, shape)``. A normal deviate has no such shares:
    the sum of floors is not the floor of the sum.

    Both norms of the theorem count in steps, and so does the noise: the finer the grid, the nearer
    is the cost to the Gaussian's.

    Parameters
    ----------
    noise_multiplier : the standard deviation over the l2 sensitivity, > 0. The deviation is below
        2^15 grid steps.
    """

    name: ClassVar[str] = "skellam"
    needs: ClassVar[str] = "l2"
    no_slot: ClassVar[str] = (
        "its theorem (Agarwal, Kairouz & Liu 2021, Theorem 3.5) counts the sum's l1 and l2 norms "
        "in grid steps, its deviation is below 2^15 of them, and a slot's sums are on far finer "
        "grids, where gaussian costs no more; it is the noise of a-ddp --trust secure-aggregation"
    )

    def scale(self, sensitivity: Sensitivity) -> GridScale:
        scale = ScaledNoise.scale(self, sensitivity)
        require_variance(scale.steps**2)
        return scale

    def event(self, sensitivity: Sensitivity) -> SkellamDpEvent:
        steps = Fraction(self.bound_of(sensitivity)) * Fraction(2) ** sensitivity.grid_bits
        return skellam_event(self.scale(sensitivity).steps ** 2, steps)

    def release(
        self, exact: np.ndarray, sensitivity: Sensitivity, noise: NoiseSource
    ) -> np.ndarray:
        drawn = draw_skellam(noise, self.scale(sensitivity).steps ** 2, np.shape(exact))
        return self.add_modulo(exact, drawn, sensitivity.grid_bits)

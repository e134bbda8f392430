"""Laplace noise on a sum of bounded l1 sensitivity."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcore.exact.rounding import float_down
from dpcore.mechanisms.base import ScaledNoise
from dpcore.noise.source import NoiseSource
from dpcore.privacy.events import LaplaceDpEvent
from dpcore.privacy.immutable import sealed
from dpcore.privacy.sensitivity import Sensitivity

__all__ = ["Laplace"]


@sealed
@dataclass(frozen=True, slots=True)
class Laplace(ScaledNoise):
    """Adds floor(b L), L an exact continuous Laplace deviate, to an answer on the grid.

    For x on the grid x + floor(b L) is floor(x + b L): post-processing of the continuous Laplace
    mechanism, under the sensitivity's own relation. So it is epsilon-DP with epsilon =
    1/noise_multiplier (Dwork, McSherry, Nissim & Smith 2006: a shift by D moves each density by a
    factor of at most exp(D/b)) and (epsilon + exp(-epsilon) - 1)-zCDP (Harrison & Manurangsi 2026):
    its Renyi divergence (Mironov 2017, Prop. 6) over the order is largest at order 1. The two-sided
    geometric distribution has the first bound only.

    Parameters
    ----------
    noise_multiplier : b over the l1 sensitivity, > 0.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.plugin import Laplace, NeighboringRelation
    >>> from dpcore.plugin.parts import SeededNoise, Sensitivity
    >>> one = Sensitivity("l1", 1.0, NeighboringRelation.ADD_OR_REMOVE_ONE, grid_bits=0)
    >>> Laplace(2.0).event(one)  # the cost, known before
    LaplaceDpEvent(noise_multiplier=2.0)
    >>> Laplace(2.0).release(np.array([5, 5, 5]), one, SeededNoise(0))
    array([6., 6., 3.])
    """

    name: ClassVar[str] = "laplace"
    needs: ClassVar[str] = "l1"

    @classmethod
    def nominal_event(cls, noise_multiplier: float) -> LaplaceDpEvent:
        """Return the event of the multiplier as given; the grid can only lower its cost."""
        return LaplaceDpEvent(noise_multiplier)

    def event(self, sensitivity: Sensitivity) -> LaplaceDpEvent:
        return LaplaceDpEvent(float_down(self.exact_multiplier(sensitivity)))

    def release(
        self, exact: np.ndarray, sensitivity: Sensitivity, noise: NoiseSource
    ) -> np.ndarray:
        drawn = noise.laplace(self.scale(sensitivity), np.shape(exact))
        return self.add_modulo(exact, drawn, sensitivity.grid_bits)

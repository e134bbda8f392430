"""Two-sided geometric noise on an integer sum of bounded l1 sensitivity."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcore.mechanisms.base import PureNoise
from dpcore.noise.source import NoiseSource
from dpcore.privacy.immutable import sealed
from dpcore.privacy.sensitivity import Sensitivity

__all__ = ["Geometric"]


@sealed
@dataclass(frozen=True, slots=True)
class Geometric(PureNoise):
    """Adds an integer of probability proportional to exp(-|z| / s) to an answer in grid steps.

    epsilon-DP with epsilon = 1/noise_multiplier (Ghosh, Roughgarden & Sundararajan 2009) under
    the sensitivity's own relation: a step of the answer moves each probability by a factor of at
    most exp(1/s). At a sensitivity of one step it costs epsilon tanh(epsilon/2) in zCDP, as any
    epsilon-DP release may; the floored Laplace distribution costs less there.

    Parameters
    ----------
    noise_multiplier : s over the l1 sensitivity, > 0.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.plugin import Geometric, NeighboringRelation
    >>> from dpcore.plugin.parts import SeededNoise, Sensitivity
    >>> one = Sensitivity("l1", 1.0, NeighboringRelation.ADD_OR_REMOVE_ONE, grid_bits=0)
    >>> Geometric(2.0).event(one)  # the cost, known before
    PureDpEvent(epsilon=0.5)
    >>> Geometric(2.0).release(np.array([5, 5, 5]), one, SeededNoise(0))
    array([6., 5., 6.])
    """

    name: ClassVar[str] = "geometric"
    needs: ClassVar[str] = "l1"

    def release(
        self, exact: np.ndarray, sensitivity: Sensitivity, noise: NoiseSource
    ) -> np.ndarray:
        drawn = noise.geometric(self.scale(sensitivity), np.shape(exact))
        return self.add_modulo(exact, drawn, sensitivity.grid_bits)

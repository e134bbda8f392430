"""Gaussian noise on a sum of bounded l2 sensitivity."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpcore.exact.rounding import float_down
from dpcore.mechanisms.base import ScaledNoise
from dpcore.noise.source import NoiseSource
from dpcore.privacy.events import GaussianDpEvent, RandomizedSensitivityGaussian
from dpcore.privacy.immutable import sealed
from dpcore.privacy.sensitivity import RandomizedSensitivity, Sensitivity

__all__ = ["Gaussian"]


@sealed
@dataclass(frozen=True, slots=True)
class Gaussian(ScaledNoise):
    """Adds floor(sigma N), N an exact normal deviate, to an answer on the grid.

    For x on the grid x + floor(sigma N) is floor(x + sigma N): post-processing of the continuous
    Gaussian mechanism. It is 1/(2 noise_multiplier^2)-zCDP (Bun & Steinke 2016, Prop. 1.6) and
    1/noise_multiplier-GDP (Dong, Roth & Su 2022; Theorem 2.7 in arXiv:1905.02383), under the
    sensitivity's own relation. A sensitivity that the query's own random choice decides makes an
    event of its own (Chen, Lee & Kifer 2019, section 4.2); the scale is relative to its bound.

    Parameters
    ----------
    noise_multiplier : sigma over the l2 sensitivity, > 0.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.plugin import Gaussian, NeighboringRelation
    >>> from dpcore.plugin.parts import SeededNoise, Sensitivity
    >>> one = Sensitivity("l2", 1.0, NeighboringRelation.ADD_OR_REMOVE_ONE, grid_bits=0)
    >>> Gaussian(2.0).event(one)  # the cost, known before
    GaussianDpEvent(noise_multiplier=2.0)
    >>> Gaussian(2.0).release(np.array([5, 5, 5]), one, SeededNoise(0))
    array([4., 7., 5.])
    """

    name: ClassVar[str] = "gaussian"
    needs: ClassVar[str] = "l2"

    @classmethod
    def nominal_event(cls, noise_multiplier: float) -> GaussianDpEvent:
        """Return the event of the multiplier as given; the grid can only lower its cost."""
        return GaussianDpEvent(noise_multiplier)

    def event(self, sensitivity: Sensitivity) -> GaussianDpEvent | RandomizedSensitivityGaussian:
        multiplier = self.exact_multiplier(sensitivity)
        if isinstance(sensitivity, RandomizedSensitivity):
            sigma = float_down(multiplier * Fraction(sensitivity.bound))
            return RandomizedSensitivityGaussian(sensitivity.deltas, sensitivity.weights, sigma)
        return GaussianDpEvent(float_down(multiplier))

    def release(
        self, exact: np.ndarray, sensitivity: Sensitivity, noise: NoiseSource
    ) -> np.ndarray:
        drawn = noise.gaussian(self.scale(sensitivity), np.shape(exact))
        return self.add_modulo(exact, drawn, sensitivity.grid_bits)

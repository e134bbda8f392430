"""Normal noise for an l2 bound."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcore.plugin.parts import (
    GaussianDpEvent,
    NoiseSource,
    ScaledNoise,
    Sensitivity,
    float_down,
    sealed,
)

__all__ = ["Normal"]


@sealed
@dataclass(frozen=True, slots=True)
class Normal(ScaledNoise):
    """Adds floor(sigma N), N an exact normal deviate: post-processing of the Gaussian mechanism,
    1/(2 noise_multiplier^2)-zCDP (Bun & Steinke 2016, Prop. 1.6), for the bound as it is stated."""

    name: ClassVar[str] = "acme-normal"
    needs: ClassVar[str] = "l2"
    theorem: ClassVar[str] = "normal noise is 1/(2 m^2)-zCDP (Bun & Steinke 2016, Prop. 1.6)"

    @classmethod
    def nominal_event(cls, noise_multiplier: float) -> GaussianDpEvent:
        return GaussianDpEvent(noise_multiplier)

    def event(self, sensitivity: Sensitivity) -> GaussianDpEvent:
        return GaussianDpEvent(float_down(self.exact_multiplier(sensitivity)))

    def release(
        self, exact: np.ndarray, sensitivity: Sensitivity, noise: NoiseSource
    ) -> np.ndarray:
        drawn = noise.gaussian(self.scale(sensitivity), np.shape(exact))
        return self.add_modulo(exact, drawn, sensitivity.grid_bits)

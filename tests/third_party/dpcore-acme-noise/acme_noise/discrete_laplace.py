"""Discrete Laplace noise for an l1 bound."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcore.plugin.parts import (
    NoiseSource,
    PureNoise,
    Sensitivity,
    sealed,
)

__all__ = ["DiscreteLaplace"]


@sealed
@dataclass(frozen=True, slots=True)
class DiscreteLaplace(PureNoise):
    """Adds an integer of probability proportional to exp(-|z| / s) to each coordinate: a step moves
    each probability by a factor of at most exp(1 / s), so that epsilon = 1/noise_multiplier (Ghosh,
    Roughgarden & Sundararajan 2009) over the l1 bound."""

    name: ClassVar[str] = "acme-discrete-laplace"
    needs: ClassVar[str] = "l1"

    def release(
        self, exact: np.ndarray, sensitivity: Sensitivity, noise: NoiseSource
    ) -> np.ndarray:
        drawn = noise.geometric(self.scale(sensitivity), np.shape(exact))
        return self.add_modulo(exact, drawn, sensitivity.grid_bits)

"""No noise: exact answers, for baselines without privacy."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcore.noise.source import NoiseSource
from dpcore.privacy.events import NonPrivateDpEvent
from dpcore.privacy.sealed import sealed
from dpcore.privacy.sensitivity import Sensitivity

__all__ = ["Exact"]


@sealed
@dataclass(frozen=True, slots=True)
class Exact:
    """Gives the exact answer away. NOT PRIVATE: only the accountant ``none`` holds its event.

    It is not registered, so that no slot can be filled with it.
    """

    name: ClassVar[str] = "exact"
    needs: ClassVar[str] = "none"
    noise_multiplier: ClassVar[float] = 0.0

    def event(self, sensitivity: Sensitivity) -> NonPrivateDpEvent:
        return NonPrivateDpEvent()

    def release(
        self, exact: np.ndarray, sensitivity: Sensitivity, noise: NoiseSource
    ) -> np.ndarray:
        return np.ldexp(exact.astype(np.float64), -sensitivity.grid_bits)

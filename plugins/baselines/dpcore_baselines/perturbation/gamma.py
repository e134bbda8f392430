"""Noise of density exp(-||z||_2 / s) on a sum of bounded l2 sensitivity: pure epsilon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import PureNoise, sealed
from dpcore_baselines.perturbation.gamma_distribution import gamma_deviates, modulo_2_64

if TYPE_CHECKING:
    from dpcore.plugin.parts import NoiseSource, Sensitivity

__all__ = ["Gamma"]


@sealed
@dataclass(frozen=True, slots=True)
class Gamma(PureNoise):
    """Adds floor(s Z), Z of density proportional to exp(-||z||_2), to an answer on the grid.

    For x on the grid x + floor(s Z) is floor(x + s Z), coordinate by coordinate: post-processing of
    the continuous mechanism. A shift by v moves its density by a factor of at most exp(||v||_2 / s)
    (Chaudhuri, Monteleoni & Sarwate 2011, Algorithm 1 and Theorem 6; Hardt & Talwar 2010, with the
    l2 ball): so it is epsilon-DP with epsilon = 1/noise_multiplier, under the sensitivity's own
    relation. The length of Z has a gamma distribution of mean d, where Laplace noise on each
    coordinate, scaled to the l1 sensitivity sqrt(d) times as large, is about sqrt(2) d long.

    Parameters
    ----------
    noise_multiplier : s over the l2 sensitivity, > 0.
    """

    name: ClassVar[str] = "gamma"
    needs: ClassVar[str] = "l2"
    theorem: ClassVar[str] = (
        "noise of density exp(-length), of m times the l2 sensitivity, is 1/m-DP (Chaudhuri, "
        "Monteleoni & Sarwate 2011, Theorem 6; Hardt & Talwar 2010)"
    )

    def release(
        self, exact: np.ndarray, sensitivity: Sensitivity, noise: NoiseSource
    ) -> np.ndarray:
        if np.ndim(exact) != 1:
            raise InvalidInputError("Expected the exact answer as a vector.")
        drawn = gamma_deviates(noise, self.scale(sensitivity), exact.size)
        return self.add_modulo(exact, modulo_2_64(drawn), sensitivity.grid_bits)

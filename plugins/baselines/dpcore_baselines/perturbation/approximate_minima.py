"""Noise on a minimiser that its own perturbation has made private but for what the solver left."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import (
    PureDpEvent,
    ScaledNoise,
    float_up,
    sealed,
    sqrt_up,
)
from dpcore_accounting.events.objective_perturbation import ObjectivePerturbationDpEvent
from dpcore_baselines.perturbation.gamma_distribution import gamma_deviates, modulo_2_64
from dpcore_baselines.perturbation.sensitivity import PerturbedSensitivity

if TYPE_CHECKING:
    from dpcore.plugin.parts import NoiseSource, Sensitivity

__all__ = ["ApproximateMinima"]


@sealed
@dataclass(frozen=True, slots=True)
class ApproximateMinima(ScaledNoise):
    """Adds the second noise of approximate minima perturbation, and charges both.

    Let t be the exact answer, which the query's own noise makes private, and t + q the computed
    one. Given t, that noise and so q follow from the table, and q moves by ``rest`` at most: the
    release is post-processing of t and of q plus noise (Iyengar, Near, Song, Thakkar, Thakurta &
    Wang 2019, Algorithm 1 and Theorem 1), under the sensitivity's own relation.

    Normal noise: the likelihood ratio of both is at most e^log_determinant max_k of the ratios of
    normal distributions in two independent directions, ``ratios[k]`` and 1/noise_multiplier apart,
    which is one direction with the root of the sum of squares. Noise of density exp(-||b||/s):
    epsilons and log_determinant add up, and the second noise is of that distribution too.

    Parameters
    ----------
    noise_multiplier : scale of the second noise over ``rest``, > 0.
    """

    name: ClassVar[str] = "approximate-minima"
    needs: ClassVar[str] = "l2"

    def bound_of(self, sensitivity: Sensitivity) -> float:
        known = _perturbed(sensitivity)
        ScaledNoise.bound_of(self, known)  # It refuses a class with the method's old name.
        return known.rest

    def event(self, sensitivity: Sensitivity) -> ObjectivePerturbationDpEvent | PureDpEvent:
        known = _perturbed(sensitivity)
        multiplier = self.exact_multiplier(sensitivity)
        if known.ratios:
            squares = [Fraction(ratio) ** 2 + 1 / multiplier**2 for ratio in known.ratios]
            shifts = tuple(math.nextafter(float_up(sqrt_up(s)), math.inf) for s in squares)
            return ObjectivePerturbationDpEvent(shifts, known.log_determinant)
        total = Fraction(known.epsilon) + Fraction(known.log_determinant) + 1 / multiplier
        return PureDpEvent(float_up(total))

    def release(
        self, exact: np.ndarray, sensitivity: Sensitivity, noise: NoiseSource
    ) -> np.ndarray:
        scale = self.scale(sensitivity)
        if _perturbed(sensitivity).ratios:
            drawn = noise.gaussian(scale, np.shape(exact))
        else:
            drawn = modulo_2_64(gamma_deviates(noise, scale, exact.size))
        return self.add_modulo(exact, drawn, sensitivity.grid_bits)


def _perturbed(sensitivity: Sensitivity) -> PerturbedSensitivity:
    if not isinstance(sensitivity, PerturbedSensitivity):
        raise InvalidInputError(
            "The approximate-minima mechanism needs an answer that its query has perturbed."
        )
    return sensitivity

"""The sensitivity of an answer to which its query has added noise of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import Sensitivity, sealed

__all__ = ["PerturbedSensitivity"]


@sealed
@dataclass(frozen=True, slots=True)
class PerturbedSensitivity(Sensitivity):
    """An l2 sensitivity of an answer that the query has perturbed itself, by noise of its own.

    ``bound`` holds for any value of that noise, so that a mechanism that knows nothing of it gives
    what it says. One that charges for the noise may take ``rest`` instead: how far the answer can
    be from an answer that the noise alone makes private, times two.

    Parameters
    ----------
    rest : in the answer's unit, rounded up.
    ratios : how far apart, in standard deviations of the noise if that is normal, are the
        distributions whose likelihood ratios bound the private answer's; empty for other noise.
    epsilon : the pure epsilon of the noise if it has one, without ``log_determinant``; else 0.
    log_determinant : bound of the logarithm of the ratio of the determinants of two neighbours'
        Hessians, > 0, rounded up.
    """

    rest: float = 0.0
    ratios: tuple[float, ...] = ()
    epsilon: float = 0.0
    log_determinant: float = 0.0

    def __post_init__(self) -> None:
        Sensitivity.__post_init__(self)
        values = (self.rest, self.log_determinant, self.epsilon, *self.ratios)
        if self.norm != "l2" or not all(math.isfinite(v) and v >= 0 for v in values):
            raise InvalidInputError("Expected an l2 sensitivity and finite values >= 0.")
        if not (self.rest > 0 and self.log_determinant > 0):
            raise InvalidInputError("Expected rest and log_determinant > 0.")
        if bool(self.ratios) == (self.epsilon > 0):
            raise InvalidInputError("Expected either ratios or an epsilon.")

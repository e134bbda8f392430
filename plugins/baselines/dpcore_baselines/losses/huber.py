"""Huberised hinge loss (Chapelle 2007; the private SVM of Chaudhuri, Monteleoni & Sarwate 2011)."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpcore.plugin import check_ranges, option
from dpcore.plugin.parts import float_up, sealed
from dpcore_baselines.losses.kernels import huber_dvalue, huber_value

__all__ = ["HuberSvm", "curvature"]


def curvature(half_width: float) -> float:
    """Return ``1 / (2 half_width)``, rounded up: the change of a slope by 1 over that width."""
    return float_up(1 / (2 * Fraction(half_width)))


@sealed
@dataclass(frozen=True, slots=True)
class HuberSvm:
    """Huberised hinge with half-width h: zero above 1 + h, linear below 1 - h, a parabola between.
    ``|l'| <= 1``, ``l'' <= 1 / (2 h)``. From h = 2^-6 on, slopes are within 2^-46 of the real ones,
    as ``precise_dvalue`` has to be: rounding 1 + h moves them by 2^-54 / h."""

    half_width: float = option(
        0.5, "half of the stretch of margins on which it bends", "margin", range=(2.0**-6, 1.0)
    )

    name: ClassVar[str] = "huber-svm"
    classification: ClassVar[bool] = True
    convex: ClassVar[bool] = True
    nonincreasing: ClassVar[bool] = True
    thread_safe: ClassVar[bool] = True
    lipschitz = 1.0

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def smoothness(self) -> float:
        return curvature(self.half_width)

    def value(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        huber_value(z, y, self.half_width, out)

    def dvalue(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        huber_dvalue(z, y, self.half_width, out)

    def precise_dvalue(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        # A few plain operations: as precise as that already.
        huber_dvalue(z, y, self.half_width, out)

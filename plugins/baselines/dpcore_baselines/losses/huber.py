"""Huberised hinge loss (Chapelle 2007; the private SVM of Chaudhuri, Monteleoni & Sarwate 2011)."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpcore.plugin import check_ranges, option
from dpcore.plugin.parts import float_up, sealed
from dpcore_baselines.losses.row_loss import RowLoss

__all__ = ["HuberSvm", "curvature"]


def curvature(half_width: float) -> float:
    """Return ``1 / (2 half_width)``, rounded up: the change of a slope by 1 over that width."""
    return float_up(1 / (2 * Fraction(half_width)))


def huber(z: float, y: float, parameters: np.ndarray) -> float:
    """Return the loss of a row."""
    h = parameters[0]
    m = y * z
    gap = 1.0 + h - m
    middle = gap * gap * (1.0 / (4.0 * h))
    inner = middle if gap > 0.0 else 0.0
    return 1.0 - m if m < 1.0 - h else inner


def huber_slope(z: float, y: float, parameters: np.ndarray) -> float:
    """Return its slope."""
    h = parameters[0]
    m = y * z
    gap = 1.0 + h - m
    steep = -gap * (1.0 / (2.0 * h)) if gap > 0.0 else 0.0
    inner = steep if steep > -1.0 else -1.0
    return y * (-1.0 if m < 1.0 - h else inner)


@sealed
@dataclass(frozen=True, slots=True)
class HuberSvm(RowLoss, value=huber, slope=huber_slope):
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
    lipschitz = 1.0
    precise_dvalue = RowLoss.dvalue  # a few plain operations: as precise as that already

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def smoothness(self) -> float:
        return curvature(self.half_width)

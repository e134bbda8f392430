"""Gamma loss with a log link."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcore.plugin.parts import sealed
from dpcore_baselines.losses.row_loss import RowLoss
from dpcore_counts.exponential import USUAL, antiderivative, mean, target

__all__ = ["LEAST", "Gamma"]

LEAST = 2.0**-10
"""In half widths of the target's bounds: an amount of less counts as this. The deviance of 0 is
infinite."""


def deviance(z: float, y: float, parameters: np.ndarray) -> float:
    """Return an eighth of the deviance of a row, ``(t / m - 1 - log(t / m)) / 4``."""
    above = math.log(max(target(y), LEAST)) - z
    return USUAL * max(0.0, antiderivative(above) - 1.0 - above)


def residual(z: float, y: float, parameters: np.ndarray) -> float:
    """Return its slope, ``(1 - t / m) / 4``."""
    return USUAL * (1.0 - mean(math.log(max(target(y), LEAST)) - z))


@sealed
@dataclass(frozen=True, slots=True)
class Gamma(RowLoss, value=deviance, slope=residual):
    """An eighth of the unit deviance of a gamma variable t with the mean m = exp(z) and a constant
    coefficient of variation (McCullagh & Nelder 1989, chapter 8). It is ``(t / m - 1 - log(t / m))
    / 4``: the factor makes its slope that of a Poisson loss, m - t, at m = 1/4.

    t and m are in half widths of the target's bounds, the lower one 0; the unit shifts the
    intercept alone. An amount below 2^-10 of them counts as that much. Its slope (1 - t / m) / 4
    has no bound, nor has its curvature: ``lipschitz`` and ``smoothness`` are infinite, and a query
    clips gradients.
    """

    name: ClassVar[str] = "gamma"
    classification: ClassVar[bool] = False
    convex: ClassVar[bool] = True
    log_link: ClassVar[bool] = True
    lipschitz = math.inf
    smoothness = math.inf

"""Poisson loss with a log link."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcore.plugin.parts import sealed
from dpcore_baselines.losses.row_loss import RowLoss
from dpcore_counts.exponential import antiderivative, mean, target

__all__ = ["Poisson"]


def deviance(z: float, y: float, parameters: np.ndarray) -> float:
    """Return half the deviance of a row, ``m - t - t log(m / t)``."""
    t = target(y)
    least = t * (1.0 + z - math.log(t)) if t > 0.0 else 0.0
    return max(0.0, antiderivative(z) - least)


def residual(z: float, y: float, parameters: np.ndarray) -> float:
    """Return its slope, ``m - t``."""
    return mean(z) - target(y)


@sealed
@dataclass(frozen=True, slots=True)
class Poisson(RowLoss, value=deviance, slope=residual):
    """Half the unit deviance ``m - t - t log(m / t)`` of a Poisson count t with the mean m = exp(z)
    (Nelder & Wedderburn 1972). It is the negative log-likelihood, less its least value at t.

    t and m are in half widths of the target's bounds, the lower one 0: a factor of the
    unit is a factor of the loss and a shift of the intercept. Its slope m - t has no bound, nor has
    its curvature m: ``lipschitz`` and ``smoothness`` are infinite, and a query clips gradients.
    """

    name: ClassVar[str] = "poisson"
    classification: ClassVar[bool] = False
    convex: ClassVar[bool] = True
    log_link: ClassVar[bool] = True
    lipschitz = math.inf
    smoothness = math.inf

"""Hinge loss ``max(0, 1 - y z)``."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcore.plugin.parts import sealed
from dpcore_baselines.losses.row_loss import RowLoss

__all__ = ["HingeSvm"]


def hinge(z: float, y: float, parameters: np.ndarray) -> float:
    """Return the loss of a row."""
    slack = 1.0 - y * z
    return slack if slack > 0.0 else 0.0


def hinge_slope(z: float, y: float, parameters: np.ndarray) -> float:
    """Return its slope."""
    return -y if y * z < 1.0 else 0.0


@sealed
@dataclass(frozen=True, slots=True)
class HingeSvm(RowLoss, value=hinge, slope=hinge_slope):
    """Hinge loss: ``|l'| <= 1``, not smooth; the subgradient at the kink is 0."""

    name: ClassVar[str] = "hinge-svm"
    classification: ClassVar[bool] = True
    convex: ClassVar[bool] = True
    nonincreasing: ClassVar[bool] = True
    lipschitz = 1.0
    smoothness = math.inf

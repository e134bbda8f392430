"""Hinge loss ``max(0, 1 - y z)``."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcore.plugin.parts import sealed
from dpcore_baselines.losses.kernels import hinge_dvalue, hinge_value

__all__ = ["HingeSvm"]


@sealed
@dataclass(frozen=True, slots=True)
class HingeSvm:
    """Hinge loss: ``|l'| <= 1``, not smooth; the subgradient at the kink is 0."""

    name: ClassVar[str] = "hinge-svm"
    classification: ClassVar[bool] = True
    convex: ClassVar[bool] = True
    nonincreasing: ClassVar[bool] = True
    thread_safe: ClassVar[bool] = True
    lipschitz = 1.0
    smoothness = math.inf

    def value(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        hinge_value(z, y, out)

    def dvalue(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        hinge_dvalue(z, y, out)

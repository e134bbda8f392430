"""Hinge loss ``max(0, 1 - y z)``."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcore.exact.compiled import njit
from dpcore.privacy.immutable import sealed

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


@njit(cache=True, error_model="numpy", nogil=True)
def hinge_value(z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    """Fill ``out`` with the rows' losses."""
    for i in range(z.shape[0]):
        slack = 1.0 - y[i] * z[i]
        out[i] = slack if slack > 0.0 else 0.0


@njit(cache=True, error_model="numpy", nogil=True)
def hinge_dvalue(z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    """Fill ``out`` with the rows' slopes."""
    for i in range(z.shape[0]):
        out[i] = -y[i] if y[i] * z[i] < 1.0 else 0.0

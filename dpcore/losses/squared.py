"""Squared loss ``(z - y)^2 / 2`` for ridge regression."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcore.exact.compiled import njit
from dpcore.privacy.immutable import sealed

__all__ = ["Squared"]


@sealed
@dataclass(frozen=True, slots=True)
class Squared:
    """Squared loss: no bound on the slope (a query clips it), ``l'' = 1`` in the margin."""

    name: ClassVar[str] = "ridge"
    classification: ClassVar[bool] = False
    convex: ClassVar[bool] = True
    quadratic: ClassVar[bool] = True
    self_concordance: ClassVar[float] = 0.0
    thread_safe: ClassVar[bool] = True
    lipschitz = math.inf
    smoothness = 1.0

    def value(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        squared_value(z, y, out)

    def dvalue(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        squared_dvalue(z, y, out)


@njit(cache=True, error_model="numpy", nogil=True)
def squared_value(z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    """Fill ``out`` with the rows' losses."""
    for i in range(z.shape[0]):
        residual = z[i] - y[i]
        out[i] = 0.5 * residual * residual


@njit(cache=True, error_model="numpy", nogil=True)
def squared_dvalue(z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    """Fill ``out`` with the rows' slopes."""
    for i in range(z.shape[0]):
        out[i] = z[i] - y[i]

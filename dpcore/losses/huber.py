"""Huberised hinge loss (Chapelle 2007; the private SVM of Chaudhuri, Monteleoni & Sarwate 2011)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcore.exact.compiled import njit
from dpcore.privacy.sealed import sealed

__all__ = ["HuberSvm"]

_H = 0.5


@sealed
@dataclass(frozen=True, slots=True)
class HuberSvm:
    """Huberised hinge with half-width h = 0.5: zero above 1 + h, linear below 1 - h, a parabola
    between. ``|l'| <= 1``, ``l'' <= 1 / (2 h) = 1``."""

    name: ClassVar[str] = "huber-svm"
    classification: ClassVar[bool] = True
    convex: ClassVar[bool] = True
    falling: ClassVar[bool] = True
    thread_safe: ClassVar[bool] = True
    lipschitz = 1.0
    smoothness = 1.0 / (2.0 * _H)

    def value(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        huber_value(z, y, out)

    def dvalue(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        huber_dvalue(z, y, out)

    def precise_dvalue(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        # A few plain operations: as precise as that already.
        huber_dvalue(z, y, out)


@njit(cache=True, error_model="numpy", nogil=True)
def huber_value(z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    """Fill ``out`` with the rows' losses."""
    for i in range(z.shape[0]):
        m = y[i] * z[i]
        gap = 1.0 + _H - m
        middle = gap * gap * (1.0 / (4.0 * _H))
        inner = middle if gap > 0.0 else 0.0
        out[i] = 1.0 - m if m < 1.0 - _H else inner


@njit(cache=True, error_model="numpy", nogil=True)
def huber_dvalue(z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    """Fill ``out`` with the rows' slopes."""
    for i in range(z.shape[0]):
        m = y[i] * z[i]
        gap = 1.0 + _H - m
        inner = -gap * (1.0 / (2.0 * _H)) if gap > 0.0 else 0.0
        out[i] = y[i] * (-1.0 if m < 1.0 - _H else inner)

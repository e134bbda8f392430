"""Quantile loss, of a level of one's choice (Koenker & Bassett 1978), smoothed or not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcore.exact.compiled import njit
from dpcore.losses.huber import curvature
from dpcore.privacy.immutable import sealed
from dpcore.registry.parameters import check_ranges, option

__all__ = ["Quantile"]


@sealed
@dataclass(frozen=True, slots=True)
class Quantile:
    """Pinball loss ``max(tau r, (tau - 1) r)`` of the residual r = y - z: its minimiser is the
    ``tau``-quantile of the target. ``|l'| <= max(tau, 1 - tau)``.

    With a half-width h the corner is a parabola, ``(tau (h + r)^2 + (1 - tau) (h - r)^2) / (4 h)``
    for |r| < h: the mean of the pinball losses of r + u, u uniform on [-h, h] (Fernandes, Guerre &
    Horta 2021), with the same bound of the slope and ``l'' <= 1 / (2 h)``.
    """

    tau: float = option(0.5, "share of the targets below the prediction", range=(0.0, 1.0, "()"))
    half_width: float | None = option(
        None,
        "half of the stretch of residuals on which it bends; none: a corner",
        "target, bounded by -1 and 1",
        "none",
        range=(2.0**-10, 2.0),
    )

    name: ClassVar[str] = "quantile"
    classification: ClassVar[bool] = False
    convex: ClassVar[bool] = True
    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def lipschitz(self) -> float:
        # As the kernel has it: both slopes are these very floats.
        return max(self.tau, 1.0 - self.tau)

    @property
    def smoothness(self) -> float:
        return math.inf if self.half_width is None else curvature(self.half_width)

    def value(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        quantile_value(z, y, self.tau, self.half_width or 0.0, out)

    def dvalue(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        quantile_dvalue(z, y, self.tau, self.half_width or 0.0, out)

    def precise_dvalue(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        # A few plain operations: as precise as that already.
        self.dvalue(z, y, out)


@njit(cache=True, error_model="numpy", nogil=True)
def quantile_value(z: np.ndarray, y: np.ndarray, tau: float, h: float, out: np.ndarray) -> None:
    """Fill ``out`` with the rows' losses; ``h`` : the half-width, 0 for a corner. A parabola of two
    terms >= 0: nothing cancels, so that a loss next to 0 is as precise as any."""
    quarter = 0.25 / h if h > 0.0 else 0.0
    for i in range(z.shape[0]):
        r = y[i] - z[i]
        inner = quarter * (tau * (h + r) * (h + r) + (1.0 - tau) * (h - r) * (h - r))
        outer = tau * r if r > 0.0 else (tau - 1.0) * r
        out[i] = inner if abs(r) < h else outer


@njit(cache=True, error_model="numpy", nogil=True)
def quantile_dvalue(z: np.ndarray, y: np.ndarray, tau: float, h: float, out: np.ndarray) -> None:
    """Fill ``out`` with the rows' slopes, from -tau to 1 - tau; at a corner the former."""
    half = 0.5 / h if h > 0.0 else 0.0
    for i in range(z.shape[0]):
        r = y[i] - z[i]
        bent = half * ((1.0 - tau) * (h - r) - tau * (h + r))
        least = bent if bent > -tau else -tau
        inner = least if least < 1.0 - tau else 1.0 - tau
        outer = -tau if r >= 0.0 else 1.0 - tau
        out[i] = inner if abs(r) < h else outer

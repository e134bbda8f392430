"""Quantile loss, of a level of one's choice (Koenker & Bassett 1978), smoothed or not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcore.plugin import check_ranges, option
from dpcore.plugin.parts import sealed
from dpcore_baselines.losses.huber import curvature
from dpcore_baselines.losses.kernels import quantile_dvalue, quantile_value

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

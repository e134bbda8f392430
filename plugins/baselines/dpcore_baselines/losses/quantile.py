"""Quantile loss, of a level of one's choice (Koenker & Bassett 1978), smoothed or not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcore.plugin import check_ranges, option
from dpcore.plugin.parts import sealed
from dpcore_baselines.losses.huber import curvature
from dpcore_baselines.losses.row_loss import RowLoss

__all__ = ["Quantile"]


def pinball(z: float, y: float, parameters: np.ndarray) -> float:
    """Return the loss of a row; the half-width is 0 for a corner. A parabola of two terms >= 0:
    nothing cancels, so that a loss next to 0 is as precise as any."""
    tau = parameters[0]
    h = parameters[1]
    quarter = 0.25 / h if h > 0.0 else 0.0
    r = y - z
    inner = quarter * (tau * (h + r) * (h + r) + (1.0 - tau) * (h - r) * (h - r))
    outer = tau * r if r > 0.0 else (tau - 1.0) * r
    return inner if abs(r) < h else outer


def pinball_slope(z: float, y: float, parameters: np.ndarray) -> float:
    """Return its slope, from -tau to 1 - tau; at a corner the former."""
    tau = parameters[0]
    h = parameters[1]
    half = 0.5 / h if h > 0.0 else 0.0
    r = y - z
    bent = half * ((1.0 - tau) * (h - r) - tau * (h + r))
    least = bent if bent > -tau else -tau
    inner = least if least < 1.0 - tau else 1.0 - tau
    outer = -tau if r >= 0.0 else 1.0 - tau
    return inner if abs(r) < h else outer


@sealed
@dataclass(frozen=True, slots=True)
class Quantile(RowLoss, value=pinball, slope=pinball_slope):
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
    precise_dvalue = RowLoss.dvalue  # a few plain operations: as precise as that already

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def lipschitz(self) -> float:
        # As the kernel has it: both slopes are these very floats.
        return max(self.tau, 1.0 - self.tau)

    @property
    def smoothness(self) -> float:
        return math.inf if self.half_width is None else curvature(self.half_width)

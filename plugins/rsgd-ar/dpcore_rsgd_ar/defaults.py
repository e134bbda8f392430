"""Default parameters, searched from public facts alone, on which the sensitivity depends.

Without contraction a pass of total step ``t`` (the sum of its step sizes) has a sensitivity of
about ``2 R t / n`` whatever the schedule, and gets as far as gradient flow in time ``t``. So what
has to be chosen is that time: long enough to fit, short enough for the noise. In units in which
the scale of rows and loss plays no part, ``flow = t smoothness row_norm^2``, it is set by the
signal

    v = n / (standard deviation of the noise over a sensitivity of 1, for the whole budget).

The constants were developed on adult, bank and census-sim and then frozen.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcore_rsgd_ar.calibrate import estimated_sigma
from dpcore_rsgd_ar.schedule import Facts, Schedule
from dpcore_rsgd_ar.sensitivity import batch_sensitivities

if TYPE_CHECKING:
    from dpcore.plugin import Accountant, Problem

__all__ = ["clip_for", "decaying_steps", "flow_for", "l2_for", "row_bound_for", "search_schedule"]

_LARGEST_FLOW = 50_000.0
_SMALLEST_BATCH = 16
_STEP_SHARE = 0.9
_FULL_SIGNAL = 8_000.0
_LEAST_SHARE = 0.25


def flow_for(problem: Problem, accountant: Accountant) -> float:
    """Return the time of a run, in multiples of 1 / (smoothness row_norm^2). A loss whose slope is
    full on a longer stretch than it takes to bend, such as the huberised hinge, gets more of it."""
    n = float(problem.n or 1)
    one = np.ones(1)
    signal = n / estimated_sigma(one, one, accountant.epsilon, accountant.delta or 1e-12)
    full = max(1.0, 2 * problem.loss.smoothness / problem.loss.lipschitz)
    flow: float = 110 * (signal / 800) ** 0.9 * full**0.7
    return min(_LARGEST_FLOW, max(1.0, flow))


def clip_for(problem: Problem, flow: float) -> float:
    """Return the bound of a row's slope: at first twice the smoothness, which is the logistic
    loss's slope at margin 0, later all of it."""
    loss = problem.loss
    return min(loss.lipschitz, max(2 * loss.smoothness, loss.lipschitz * flow / _FULL_SIGNAL))


def row_bound_for(problem: Problem, flow: float) -> float:
    """Return the norm that rows are scaled down to: at first so small that nearly all have the same
    norm, as in the paper, later the problem's own bound."""
    return problem.row_norm * min(1.0, max(_LEAST_SHARE, flow / _FULL_SIGNAL))


def l2_for(problem: Problem, flow: float, share: float) -> float:
    """Return a regulariser that is ``share`` of the curvature reached in the time of the run."""
    return share * problem.loss.smoothness * problem.row_norm**2 / flow


def decaying_steps(first: float, epochs: int, restart: int) -> np.ndarray:
    """Return ``first / h``, h the epoch since the last restart: float64 of shape (epochs, 1)."""
    return (first / (np.arange(epochs) % (restart or epochs) + 1.0))[:, None]


def search_schedule(
    facts: Facts,
    n: int,
    flow: float,
    epochs: int,
    tau: int,
    batch_size: int | None,
    step_size: float | None,
) -> Schedule:
    """Return the schedule of fewest batches whose sensitivity is that of the given time.

    ``batch_size``, ``step_size`` : kept where given.
    """
    largest = step_size or _STEP_SHARE * 2 / (facts.curvature + facts.mu)
    target = 2 * facts.gradient * flow / (facts.smoothness * facts.row_norm**2) / n

    def schedule(batches: int, first: float) -> Schedule:
        rows = batch_size or -(-n // batches)
        return Schedule(n, rows, decaying_steps(first, epochs, tau), tau)

    def falls_short(batches: int, first: float) -> bool:
        deltas, _ = batch_sensitivities(schedule(batches, first), facts, grid_bits=40)
        return bool(deltas.max() < target)

    batches, most = 1, _most_batches(facts, n, epochs, largest)
    while batch_size is None and batches < most and falls_short(batches, largest):
        batches = min(most, max(batches + 1, int(1.25 * batches)))
    if step_size is not None or falls_short(batches, largest):
        return schedule(batches, largest)
    low, high = 0.0, largest
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if falls_short(batches, middle) else (low, middle)
    return schedule(batches, high)


def _most_batches(facts: Facts, n: int, epochs: int, step: float) -> int:
    """Return as many as there are rows for, or as it takes for the regulariser to have settled."""
    settled = math.ceil(20 / (facts.mu * step * epochs))
    return max(1, min(n // _SMALLEST_BATCH, settled))

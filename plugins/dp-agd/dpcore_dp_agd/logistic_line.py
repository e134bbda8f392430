"""Clipped logistic losses at evenly spaced candidates: two exponentials a row for all of them."""

from __future__ import annotations

import math

import numpy as np

from dpcore_dp_agd.kernels import logistic_line_totals

__all__ = ["logistic_totals"]

_LOG2_E = 1.4426950408889634
_CHUNK = 1024
_LINE_CLIP, _LINE_STEPS = 64.0, 2**22  # e^64 is a normal float32; a chunk has below 2^32 steps


def logistic_totals(
    line: tuple[np.ndarray, np.ndarray, np.ndarray],
    y: np.ndarray,
    step: float,
    count: int,
    clip: float,
    scale: float,
) -> np.ndarray | None:
    """Return the totals of ``dpcore.protocols.Loss.line_totals`` of the logistic loss; ``None`` of
    a larger clip, or of finer steps, than float32 holds."""
    # exp(-y (z - k step d)) = E R^k: two exponentials a row for all candidates.
    steps = math.floor(clip * scale)
    if clip > _LINE_CLIP or steps >= _LINE_STEPS:
        return None
    totals = np.zeros(count, dtype=np.int64)
    # A power of two above e^clip: what is beyond it would be clipped anyway.
    cap = math.ldexp(1.0, math.ceil(clip * _LOG2_E) + 1)
    buffer, narrow = np.empty((2, _CHUNK)), np.empty(_CHUNK, np.float32)
    logistic_line_totals(*line, y, step, steps / scale, cap, scale, buffer, narrow, totals)
    return totals

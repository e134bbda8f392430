"""The same queries with float accumulators: what exact sums are measured against.

Blocks, products and losses are dpcore's own; only what makes the sums exact is taken out. A clipped
coefficient is not truncated, sums over rows and blocks are float64, and the sum of losses may be
reassociated, so that its loop vectorises as well as the integer one does.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dpcore.data.blocks.block import Block
from dpcore.data.blocks.table import Table
from dpcore.losses.logistic import _exp, logistic_dvalue
from dpcore.queries import ClippedGradientSum
from dpcore_dp_agd.kernels import _log_above_one
from dpcore_dp_agd.loss_line import ClippedLossLine

__all__ = ["FloatEngine", "FloatGradient", "FloatLine"]


class FloatEngine:
    """Sums the blocks' answers as floats."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def answer(self, query: FloatGradient | FloatLine) -> np.ndarray:
        total: np.ndarray | float = 0.0
        for block in self._table.blocks:
            total = total + query.answer_block(block)
        return np.asarray(total)


class FloatGradient(ClippedGradientSum):
    def answer_block(self, block: Block) -> np.ndarray:
        y, factor, norms = block.y, block.factor, block.row_norms(self.norm)

        def clipped(z: np.ndarray, rows: slice) -> np.ndarray:
            c = np.empty(z.shape)
            logistic_dvalue(z, y[rows], c)
            clip_floats(c, factor[rows], norms[rows], self.clip)
            return c

        return block.sum_at(self.w, clipped)


class FloatLine(ClippedLossLine):
    def answer_block(self, block: Block) -> np.ndarray:
        line = block.line(self.w, self.direction)
        totals, buffer = np.zeros(self.step_sizes.size), np.empty((2, 1024))
        narrow = np.empty(1024, np.float32)
        for begin in range(0, block.n_rows, 1024):
            rows = slice(begin, min(begin + 1024, block.n_rows))
            part = buffer[:, : rows.stop - begin]
            signed = (line[0][rows], line[1][rows], block.factor[rows], block.y[rows])
            exponentials(*signed, self.step_sizes[1], part)
            bounds = (self.loss_clip, np.expm1(self.loss_clip))
            float_line_totals(*bounds, part, narrow[: rows.stop - begin], totals)
        return totals


@njit(cache=True, error_model="numpy")
def clip_floats(c: np.ndarray, factor: np.ndarray, norms: np.ndarray, clip: float) -> None:
    for i in range(c.shape[0]):
        t = c[i] * factor[i]
        limit = clip / norms[i]
        size = abs(t)
        kept = size if size <= limit else limit
        c[i] = kept if t > 0.0 else -kept


@njit(cache=True, error_model="numpy")
def exponentials(
    z: np.ndarray,
    z_direction: np.ndarray,
    factor: np.ndarray,
    y: np.ndarray,
    step: float,
    out: np.ndarray,
) -> None:
    for i in range(z.shape[0]):
        signed = y[i] * factor[i]
        out[0, i] = _exp(-(signed * z[i]))
        out[1, i] = _exp(signed * z_direction[i] * step)


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "nsz"})
def float_line_totals(
    clip: float, cap: float, buffer: np.ndarray, narrow: np.ndarray, totals: np.ndarray
) -> None:
    """The loop of dpcore's own kernel, its losses added as floats."""
    e, r, most = buffer[0], buffer[1], np.float32(clip)
    for k in range(totals.shape[0]):
        for i in range(e.shape[0]):
            t = e[i]
            e[i] = t * r[i]
            narrow[i] = t if t < cap else cap
        total = np.float32(0.0)
        for i in range(e.shape[0]):
            v = _log_above_one(narrow[i])
            total += v if v < most else most
        totals[k] += np.float64(total)

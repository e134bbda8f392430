"""Slopes and curvatures of a loss at a released point, with bounds that hold for every row."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin import ordered_norm
from dpcore.plugin.parts import LossFacts, Table

if TYPE_CHECKING:
    from dpcore.plugin import Problem
    from dpcore.plugin.parts import Block
    from dpcore_report.intervals.centring import Centring

__all__ = ["curvatures", "largest_slope", "slopes"]

_UP = 1.0 + 2.0**-40
_STEP = 2.0**-8


def largest_slope(problem: Problem, w: np.ndarray, centring: Centring | None = None) -> float:
    """Return a bound of every row's slope at ``w``, rounded up; ``inf`` if there is none.

    It is the loss's Lipschitz constant. A quadratic loss has none, and its slope z - y is at most
    ||x|| ||w|| + 1 (Cauchy and Schwarz; labels are held to [-1, 1]), or, of columns that are
    centred, what their ends let a margin be.
    """
    facts = LossFacts.of(problem.loss)
    if math.isfinite(facts.lipschitz) or not facts.quadratic:
        return facts.lipschitz * _UP
    margin = problem.row_norm * ordered_norm(w)
    if centring is not None:
        margin = min(margin, centring.longest_margin(w))
    return (margin + 1.0) * _UP


def slopes(problem: Problem, w: np.ndarray, block: Block, largest: float) -> np.ndarray:
    """Return the size of every row's slope at ``w``, held to ``largest``: float64 of shape
    (n_rows,)."""
    c = np.empty(block.n_rows)
    z = np.ascontiguousarray(block.margins(w))
    problem.loss.dvalue(z, Table.clamped_labels(block.y), c)
    return _held(np.abs(c), largest)


def curvatures(problem: Problem, w: np.ndarray, block: Block) -> np.ndarray:
    """Return the second derivative of every row's loss at ``w``: float64 of shape (n_rows,).

    It is the rise of the slope over 2^-7 of the margin, around it: from 0 to the loss's smoothness,
    and within e^(2^-8 c) times l'' for a loss of self-concordance c.
    """
    rise, below = np.empty(block.n_rows), np.empty(block.n_rows)
    z, y = block.margins(w), Table.clamped_labels(block.y)
    problem.loss.dvalue(np.ascontiguousarray(z + _STEP), y, rise)
    problem.loss.dvalue(np.ascontiguousarray(z - _STEP), y, below)
    rise -= below
    return _held(np.maximum(rise, 0.0) / (2.0 * _STEP), problem.loss.smoothness)


def _held(values: np.ndarray, bound: float) -> np.ndarray:
    """Return the values, none above the bound; the bound in place of what is no number."""
    held: np.ndarray = np.fmin(values, bound)
    return held

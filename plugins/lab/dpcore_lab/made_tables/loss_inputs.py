"""Margins and labels at which a loss is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin import Problem
from dpcore.plugin.parts import Table

if TYPE_CHECKING:
    from dpcore.plugin import Loss

__all__ = ["LARGEST_BITS", "labels_for", "margins_of_all_sizes"]

LARGEST_BITS = Problem.MARGIN_BITS + 2 * Problem.PARAMETER_BITS - 1
"""Margins are below 2^61: those of parameters on the coarsest grid (``round_parameters``)."""


def labels_for(loss: Loss, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return so many labels of a loss: of a real-valued one -1, 0 and 1 among them."""
    if loss.classification:
        return np.where(rng.random(size) < 0.5, -1.0, 1.0)
    y = rng.uniform(-1, 1, size=size)
    y[::16], y[1::16], y[2::16] = -1.0, 0.0, 1.0
    return y


def margins_of_all_sizes(rng: np.random.Generator) -> np.ndarray:
    """Return a full block's margins: special ones, powers of two and their neighbours, ordinary
    ones, and ones of every size."""
    powers = 2.0 ** np.arange(-40, LARGEST_BITS + 1)
    beside = np.concatenate([powers, np.nextafter(powers, 0), np.nextafter(powers, np.inf)])
    special = np.array([0.0, 1e-9, 36.0, 700.0, 1e4, *beside])
    special = np.concatenate([special, -special])
    left = Table.BLOCK_ROWS - special.size
    usual = rng.normal(scale=3.0, size=left // 4)
    wide = rng.uniform(-800, 800, size=left // 4)
    sizes = np.linspace(-20, LARGEST_BITS, left - usual.size - wide.size)
    far = 2.0**sizes * np.where(np.arange(sizes.size) % 2, -1.0, 1.0)
    return np.concatenate([special, usual, wide, far])

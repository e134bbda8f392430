"""Distinguishers that are learned: from one half of the draws, for a test on the other.

What is learned is a set of outcomes. Whatever it is, it does not depend on the draws that it is
tested on, so that the intervals of the test hold as for a set that was named beforehand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore_lab.outcomes.frequencies import largest_probability

if TYPE_CHECKING:
    from dpcore.plugin.parts import DpEvent

__all__ = [
    "excess",
    "halves",
    "most_telling",
    "scores_by_codes",
    "scores_by_line",
    "size_codes",
    "zero_bits",
]

_LEVELS = np.linspace(0.02, 0.98, 25)
_MOST_LAYERS = 64
_CODES = 2 * _MOST_LAYERS + 1


def halves(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the draws to learn from and those to test on."""
    middle = len(draws) // 2
    return draws[:middle], draws[middle:]


def most_telling(
    event: DpEvent, here: np.ndarray, there: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return, for the test halves of two neighbours' scores, which are at least the threshold at
    which the other halves contradict the event most: bool of shape (n_draws, 1) each.

    ``here``, ``there`` : a score for each draw, float64 of shape (n_draws,).
    """
    (here, tested_here), (there, tested_there) = halves(here), halves(there)
    best, threshold = -np.inf, 0.0
    for level in np.unique(np.quantile(np.concatenate((here, there)), _LEVELS)):
        found = excess(event, here >= level, there >= level)
        if found > best:
            best, threshold = found, float(level)
    return tested_here[:, None] >= threshold, tested_there[:, None] >= threshold


def excess(event: DpEvent, here: np.ndarray, there: np.ndarray) -> float:
    """Return by how many deviations a set of outcomes, or its complement, comes up more often on
    one neighbour than the event allows; ``here``, ``there`` : which draws fell into it."""
    p, q = float(here.mean()), float(there.mean())
    sides = (p, q), (q, p), (1 - p, 1 - q), (1 - q, 1 - p)
    spreads = [(max(a * (1 - a), 1 / len(here)) / len(here)) ** 0.5 for a, _ in sides]
    allowed = [largest_probability(event, b) for _, b in sides]
    return float(max((a - c) / s for (a, _), c, s in zip(sides, allowed, spreads, strict=True)))


def scores_by_line(
    here: np.ndarray, there: np.ndarray, shift: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of Fisher's linear discriminant for distributions that are ``shift`` apart:
    outcomes of shape (n_draws, n) times C^-1 shift, C the covariance of the draws to learn from.

    What two coordinates have in common drops out of it, however large it is. One that does not vary
    at all, and is another on the neighbour, outweighs the others: nothing was added to it.
    """
    learned = halves(here)[0]
    spread = learned.std(axis=0)
    unit = np.where(spread > 0, spread, np.where(shift != 0, np.abs(shift), 1.0))
    covariance = np.cov(learned / unit, rowvar=False).reshape(shift.size, shift.size)
    covariance += 1e-9 * np.eye(shift.size)
    line = np.linalg.solve(covariance, shift / unit)
    return (here / unit) @ line, (there / unit) @ line


def scores_by_codes(here: np.ndarray, there: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums over coordinates of the log-ratio of how often a coordinate's code came up on
    either neighbour, in the draws to learn from. It is the best score where coordinates are
    independent and of one distribution. ``here``, ``there`` : codes, whole numbers >= 0 of shape
    (n_draws, n)."""
    size = int(max(here.max(), there.max())) + 1
    counts = [
        np.bincount(halves(codes)[0].ravel(), minlength=size) + 0.5 for codes in (here, there)
    ]
    ratio = np.log(counts[1] / counts[1].sum()) - np.log(counts[0] / counts[0].sum())
    return ratio[here].sum(axis=1), ratio[there].sum(axis=1)


def size_codes(steps: np.ndarray, width: float, mirrored: np.ndarray) -> np.ndarray:
    """Return which bin of a ``width`` in steps each value is in, the outermost two without end; of
    coordinates that are ``mirrored``, whose distribution may be another, in bins of their own."""
    bins = np.floor(steps / width)
    codes: np.ndarray = np.clip(bins, -_MOST_LAYERS, _MOST_LAYERS).astype(np.int64) + _MOST_LAYERS
    shifted: np.ndarray = codes + _CODES * mirrored
    return shifted


def zero_bits(steps: np.ndarray) -> np.ndarray:
    """Return how many bits at the end of each whole number are zero, 63 for zero itself: a lattice
    coarser than the grid shows in them."""
    whole = np.clip(steps, -(2.0**62), 2.0**62).astype(np.int64)
    lowest = (whole & -whole).astype(np.float64)
    codes: np.ndarray = np.where(whole == 0, 63, np.log2(np.maximum(lowest, 1.0))).astype(np.int64)
    return codes

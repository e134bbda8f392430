"""The number of rows that the rules of a run go by: a public one, or what a noisy one says."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin import RowCount, ordered_dot, ordered_sum
from dpcore_accounting.reproducible.array_functions import array_exp
from dpcore_baselines.options import noise_of_parts

if TYPE_CHECKING:
    from dpcore.plugin import PrivacySession, Problem

__all__ = ["counted_rows", "expected_rows"]

_CERTAIN, _NODES = 8.0, 1025


def counted_rows(optimizer: Any, problem: Problem, session: PrivacySession) -> float:
    """Return the number of rows, at least 1: public, or the mean that a noisy number speaks for, at
    a cost of ``optimizer.count_share`` of what is left of the budget."""
    if problem.n_public is not None:
        return float(problem.n_public)
    noise = noise_of_parts(optimizer, session.accountant, 1 / Fraction(optimizer.count_share))
    noisy = float(session.release(RowCount(noise.needs), noise)[0])
    return expected_rows(noisy, noise.noise_multiplier * problem.rows_changed)


def expected_rows(noisy: float, deviation: float) -> float:
    """Return the mean number of rows, of all from 1 on alike beforehand, given a noisy one.

    A number far above its noise is what it is. Where noise made a number small or negative, the
    table may still have as many rows as noise can hide, and sums of gradients are not to be divided
    by 1. It is post-processing of a release.

    Parameters
    ----------
    noisy : the released number. ``deviation`` : of its noise, taken to be normal, > 0.

    Examples
    --------
    >>> from dpcore_baselines.descent.row_count import expected_rows
    >>> expected_rows(5000.0, 200.0)
    5000.0
    >>> round(expected_rows(-100.0, 200.0))
    129
    """
    nearest = (1.0 - noisy) / deviation
    if nearest <= -_CERTAIN:
        return noisy
    # Of n = 1 + deviation t, t >= 0; it falls the faster, the farther the noisy number is below 1.
    t = np.linspace(0.0, 2 * _CERTAIN, _NODES) / max(nearest, 1.0)
    likely = array_exp(-t * (t / 2 + nearest))
    likely[0] /= 2
    return 1.0 + deviation * float(ordered_dot(t, likely) / ordered_sum(likely))

"""Values of the rows that a run releases first: their number, map and length."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore_baselines.descent import defaults
from dpcore_baselines.descent.calibrate import MeanRow
from dpcore_baselines.descent.row_count import counted_rows
from dpcore_baselines.descent.sizes import released_sizes
from dpcore_baselines.descent.standardize import MOMENTS_CLIP, from_moments, unchanged
from dpcore_baselines.options import noise_of_parts
from dpcore_baselines.queries.moments import ColumnMoments

if TYPE_CHECKING:
    from dpcore.plugin import PrivacySession, Problem

__all__ = ["ReleasedRows", "standardized"]


@dataclass(frozen=True)
class ReleasedRows:
    """Values of the rows, public or released.

    Parameters
    ----------
    n : the number of rows, >= 1. ``mu`` : the signal of the whole budget, the inverse of the noise
        multiplier of its one release, over the rows in which neighbours differ.
    mean : the map, the typical length of a row, and the mean of its rows.
    width : the columns that count.
    """

    n: float
    mu: float
    mean: MeanRow
    width: float

    @property
    def signal(self) -> float:
        """u = n mu / sqrt(columns), not 0."""
        return max(defaults.signal(self.n, self.mu, self.width), 1e-6)


def standardized(optimizer: Any, problem: Problem, session: PrivacySession) -> ReleasedRows:
    """Return what count, sizes and moments say, as ``dp-gd`` asks for them and for the same shares:
    a row contributes 1, sqrt(numbers) and ``MOMENTS_CLIP`` row norms to their sums at most."""

    def noise(session: PrivacySession, parts: Fraction | int) -> Any:
        return noise_of_parts(optimizer, session.accountant, parts)

    n = counted_rows(optimizer, problem, session)
    mu = 1 / noise(session, 1).noise_multiplier / problem.rows_changed
    share = moments_share(optimizer, problem)
    if share == 0:
        same = MeanRow(unchanged(problem), problem.row_norm, *np.zeros((2, problem.n_features)))
        return ReleasedRows(n, mu, same, problem.n_features)
    sizes = released_sizes(problem, session, n, noise, problem.numbers)
    if sizes is not None and optimizer.moments_share is None:
        share /= 2
    mechanism = noise(session, 1 / Fraction(share))
    clip, multiplier = MOMENTS_CLIP * problem.row_norm, mechanism.noise_multiplier
    moments = session.release(ColumnMoments(problem, clip, multiplier), mechanism)
    deviation = multiplier * clip * problem.rows_changed
    columns, length = from_moments(problem, moments, n, deviation, sizes)
    mean = MeanRow.of(columns, length, moments[: problem.n_features] / n, deviation / n)
    return ReleasedRows(n, mu, mean, defaults.effective_width(problem.n_features, length))


def moments_share(optimizer: Any, problem: Problem) -> float:
    """Return the share of the budget for the columns' moments: asked for, or dp-gd's rule."""
    if optimizer.moments_share is not None:
        return float(optimizer.moments_share)
    return defaults.moments_share_for(problem.n_features)

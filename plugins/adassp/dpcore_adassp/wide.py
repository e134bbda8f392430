"""The algorithm that runs on a table of many columns, by public facts and a charged look."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin import Solution, round_parameters
from dpcore_adassp.budget_split import deviation_of, noise_of, require_room
from dpcore_adassp.level import Level, level_within
from dpcore_adassp.row_map import MOST_COLUMNS

if TYPE_CHECKING:
    from dpcore.plugin import PrivacySession, Problem

__all__ = ["WIDE_SHARE", "WideLook", "mean_alone", "require_room_to_look", "wide_look"]

WIDE_SHARE = 0.01
"""Of the budget, for the look at a wide table."""
_SURE = 2
_TELLING = 30.0
"""The signal of targets in their own size from which on ``dp-gd`` does better than a constant."""


@dataclass(frozen=True)
class WideLook:
    """A wide table as a noisy level shows it.

    Parameters
    ----------
    signal : u = n mu / sqrt(d), mu of the whole budget.
    told : u times the size of targets about their level, as large as it surely is.
    """

    signal: float
    told: float

    def choose(self, problem: Problem) -> str:
        """Return ``products``, ``descent`` or ``mean``: what runs. Post-processing."""
        narrow = problem.n_features <= MOST_COLUMNS
        sharp = problem.intercept and self.signal >= problem.n_features
        if self.told >= _TELLING and not (narrow and sharp):
            return "descent"
        return "products" if narrow else "mean"


def wide_look(optimizer: Any, problem: Problem, session: PrivacySession) -> WideLook:
    """Return what one release of a hundredth of the budget tells."""
    mu = 1 / noise_of(optimizer, session, 1).noise_multiplier / problem.rows_changed
    query, mechanism = Level(problem, squares=True), noise_of(optimizer, session, WIDE_SHARE)
    count, squares, products, sizes = map(float, session.release(query, mechanism))
    error = deviation_of(mechanism, query, problem)
    rows = max(1.0, float(problem.n_public or count))
    level = products / squares if problem.intercept and squares > _SURE * error else 0.0
    level = max(-1.0, min(1.0, level))
    # The sum of (y - level c)^2, and the deviation of its noise.
    sizes += level * (level * squares - 2 * products)
    error *= math.sqrt(1 + 4 * level**2 + level**4)
    sizes = min(rows, max(0.0, sizes - _SURE * error))
    root = mu / math.sqrt(problem.n_features)
    return WideLook(signal=rows * root, told=math.sqrt(rows * sizes) * root)


def mean_alone(optimizer: Any, problem: Problem, session: PrivacySession, status: str) -> Solution:
    """Return the constant nearest to the targets, for all that is left of the budget; 0 without an
    intercept, for nothing more. ``status`` : why."""
    w = np.zeros(problem.n_features)
    if problem.intercept:
        query, mechanism = Level(problem), noise_of(optimizer, session, 1)
        _, squares, products = map(float, session.release(query, mechanism))
        w[-1] = level_within(squares, products, deviation_of(mechanism, query, problem))
    details: dict[str, Any] = {
        "ran": "the mean alone",
        "warning": "the budget is small for this many features: the model is the mean.",
    }
    return Solution(
        w=round_parameters(w, problem.raw_norm_bound),
        status=status,
        details=details,
    )


def require_room_to_look(optimizer: Any, problem: Problem, session: PrivacySession) -> None:
    """Raise InvalidInputError if the noise of the look does not fit the grid."""
    require_room(noise_of(optimizer, session, WIDE_SHARE), Level(problem, squares=True), problem)

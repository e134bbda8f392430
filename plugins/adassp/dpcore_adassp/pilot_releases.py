"""Pilot releases: noisy estimates of the number of rows and the mean target, of the spreads of
numbers, and of the columns' lengths. Where the signal is weak, the mean is estimated again."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore_adassp.budget_split import deviation_of, noise_of
from dpcore_adassp.level import Level, level_within, middles_within
from dpcore_adassp.row_map import MOST_TURNED, RowMap
from dpcore_adassp.sizes import RowSizes, length_within
from dpcore_adassp.spreads import Spreads, scales_within
from dpcore_adassp.whitening import whitened

if TYPE_CHECKING:
    from dpcore.plugin import PrivacySession, Problem

__all__ = [
    "AGAIN_SHARE",
    "PilotRelease",
    "pilot_release",
    "pilot_releases",
    "spreads_asked",
]

AGAIN_SHARE = 0.35
"""Of what is left after two looks, for the level where there may be nothing else to learn: targets
far smaller than their bounds and away from the middle of them."""
_LEAST_SIGNAL = 16.0
"""u = n mu / sqrt(d) from which on columns are scaled: below, spreads and a turn are noise."""
_SKEWED_BELOW, _FAR, _SMALL = 75.0, 0.7, 0.25
"""n mu below which, of a table whose numbers are known, a target whose level is farther than the
second from the middle of its bounds, and whose mean size about it is below the third, is fitted by
its mean alone: the noise of a level that has but a share of the budget is as large as all that
there is to tell. Where rows are so few and it is not, a signal must be sure by twice its noise."""
_CLEAR = 3.0
"""The signal of targets in their own size about a true level, as it likely is at least, from which
on there is more."""

_WEIGHT = 0.35
"""Length of the intercept's column over that of the others."""
_TELLING = 50
"""Rows over the deviation of their counts from which on these say more than a guess."""
_LONGER, _LONGER_SCALED = 0.1, 0.25
"""The share of the rows that may be longer than the unit of length, and the same of scaled columns:
these are longer in fewer rows."""
_FEW_CUT = 300.0
"""u from which on rows of scaled columns are held to longer lengths, by the root of u over it."""
_ABOVE = 20
"""How far the products of rows of middle length are to be above the noise, about."""
_USUAL_SIZE = 0.35
"""The mean size of targets between well-chosen bounds, about their level: a guess."""
_LEAST = 2.0**-10
_SURE = 3
"""Deviations of its noise by which the size of targets is larger, surely, than what is taken for
the least."""


@dataclass(frozen=True)
class PilotRelease:
    """A table as two looks show it: public values and released ones.

    Parameters
    ----------
    rows : how many, at least 1. ``signal`` : u = n mu / sqrt(d), mu of the whole budget.
    level : the coefficient of the intercept's column alone.
    least, most : between which the mean size of targets about their level is, likely.
    length, unit : to which rows are held, and in which coefficients are measured.
    skewed : whether all that is left is better spent on the level.
    """

    row_map: RowMap
    rows: float
    signal: float
    level: float
    least: float
    most: float
    length: float
    unit: float
    skewed: bool = False

    @property
    def clip(self) -> float:
        """The size to which residuals are held: about that of targets, more where the signal is
        large, so that fewer of them are cut."""
        clip: float = self.most * min(4.0, max(0.5, self.signal / 100) ** 0.3)
        return min(2.0, max(_LEAST, clip))

    def start(self) -> np.ndarray:
        """Return the coefficients of the level alone, of mapped rows in units of length."""
        coefficients = np.zeros(self.row_map.width)
        if self.row_map.intercept:
            coefficients[-1] = self.level * self.unit / self.row_map.weight
        return self.row_map.turned_back(coefficients)

    def turned(self, matrix: np.ndarray, deviation: float) -> PilotRelease:
        """Return the same with rows turned by their released products, of noise of this deviation,
        so that these are about even in all directions."""
        turn, length = whitened(matrix, deviation, self.rows, self.length)
        length *= max(1.0, math.sqrt(self.signal / _FEW_CUT))
        row_map = replace(self.row_map, turn=turn)
        return replace(self, row_map=row_map, length=length, unit=length)


def pilot_releases(problem: Problem) -> tuple[Level, RowSizes]:
    """Return the two queries, the second one at a level of 0."""
    row_map = RowMap.of(problem, _WEIGHT)
    return Level(problem, columns=row_map.middles is not None), RowSizes(problem, row_map)


def spreads_asked(problem: Problem) -> tuple[Level, Spreads] | None:
    """Return the queries for means and for spreads about the middles of the bounds; ``None`` where
    public facts do not name numbers beside an intercept, or columns are too many."""
    if not (problem.intercept and problem.numbers and problem.n_features <= MOST_TURNED):
        return None
    middles = (0.5,) * (problem.n_features - 1)
    return Level(problem, columns=True), Spreads(problem, middles)


def pilot_release(
    optimizer: Any, share: float, problem: Problem, session: PrivacySession
) -> PilotRelease:
    """Return what two releases tell, each of half of this share of the budget. Where rows are
    enough, means and spreads of columns are released between them, and where they show no signal,
    the level again."""
    mu = 1 / noise_of(optimizer, session, 1).noise_multiplier / problem.rows_changed
    first, second = pilot_releases(problem)
    mechanism = noise_of(optimizer, session, share / 2)
    answer = session.release(first, mechanism)
    count, squares, products = map(float, answer[:3])
    error = first_error = deviation_of(mechanism, first, problem)
    level, row_map = level_within(squares, products, error), second.row_map
    if first.columns:
        middles = middles_within(squares, answer[3:], error, problem.row_norm)
        row_map = replace(row_map, middles=middles)
    rows = max(1.0, float(problem.n_public or count))
    if rows * mu >= _LEAST_SIGNAL * math.sqrt(problem.n_features):
        row_map = _scaled(optimizer, problem, session, row_map, rows, error)
    if problem.n_public is not None:
        count, error = float(problem.n_public), 0.0
    second = replace(second, row_map=row_map, level=level)
    mechanism = noise_of(optimizer, session, share / (2 - share))
    *counts, size = map(float, session.release(second, mechanism))
    deviation = deviation_of(mechanism, second, problem)
    rows = max(1.0, count)
    signal = rows * mu / math.sqrt(problem.n_features)
    apart = abs(products / squares - level) + first_error / squares if squares > 0 else 1.0
    few = rows * mu < _SKEWED_BELOW and spreads_asked(problem) is not None
    skewed = few and _is_skewed(squares, products, first_error, size - deviation, rows)
    told = signal * ((size - (2 if few else 1) * deviation) / rows - apart)
    if problem.intercept and told < _CLEAR and not skewed:
        level = _level_again(optimizer, problem, session, squares, products, first_error)
    least, most = _sizes_between(size, deviation, rows, error)
    usual = row_map.usual(problem.row_norm)
    values = {"rows": rows, "signal": signal, "level": level, "least": least, "most": most}
    seen = PilotRelease(row_map=row_map, length=usual / 2, unit=usual, skewed=skewed, **values)
    if rows <= _TELLING * deviation:
        return seen
    length = _usual_length(second, np.array(counts), rows, deviation, seen.signal)
    return _held_to(seen, length, squares / rows)


def _is_skewed(squares: float, products: float, error: float, size: float, rows: float) -> bool:
    """Return whether targets are far from the middle of their bounds, surely, and near each other:
    by the noisy sums of the level, of this error, and of sizes about it, as small as it may be."""
    if squares <= 2 * error or size >= _SMALL * rows:
        return False
    return abs(products) > max(_FAR * squares, 2 * error)


def _scaled(
    optimizer: Any,
    problem: Problem,
    session: PrivacySession,
    row_map: RowMap,
    rows: float,
    error: float,
) -> RowMap:
    """Return the map that takes means off all columns and scales them by a release of spreads; the
    same where numbers are not known. Means that no look has told are released before.

    ``error`` : the deviation of the noise of the means that the map has, times ``rows``, over the
    row norm.
    """
    share = optimizer.spreads_share
    if not share or spreads_asked(problem) is None:
        return row_map
    middles = row_map.middles
    if middles is None:
        means, mechanism = Level(problem, columns=True), noise_of(optimizer, session, share)
        _, squares, _, *sums = map(float, session.release(means, mechanism))
        error = deviation_of(mechanism, means, problem)
        middles = middles_within(squares, np.array(sums), error, problem.row_norm)
    query, mechanism = Spreads(problem, middles), noise_of(optimizer, session, share)
    answer = np.asarray(session.release(query, mechanism))
    deviation = deviation_of(mechanism, query, problem)
    scales = scales_within(query, answer, rows, deviation, error * problem.row_norm / rows)
    return RowMap(problem.n_features, True, middles, _WEIGHT, scales)


def _level_again(
    optimizer: Any,
    problem: Problem,
    session: PrivacySession,
    squares: float,
    products: float,
    error: float,
) -> float:
    """Return the level by another release of it and by the first one, of this deviation, each as
    much as it is sure."""
    query, mechanism = Level(problem), noise_of(optimizer, session, AGAIN_SHARE)
    _, again, products_again = map(float, session.release(query, mechanism))
    first = deviation_of(mechanism, query, problem) ** 2
    first /= first + error**2
    both = first * squares + (1 - first) * again
    deviation = error * math.sqrt(first)
    return level_within(both, first * products + (1 - first) * products_again, deviation)


def _sizes_between(size: float, deviation: float, rows: float, error: float) -> tuple[float, float]:
    """Return the least and the largest that the mean size of targets is likely to be, from its
    noisy sum and a noisy number of rows."""
    least = max(_LEAST, (size - _SURE * deviation) / (rows + _SURE * error))
    most = (size + deviation) / (rows - error) if rows > error else 1.0
    most = min(1.0 if least > _USUAL_SIZE else _USUAL_SIZE, max(_LEAST, most))
    return min(least, most), most


def _usual_length(
    query: RowSizes, counts: np.ndarray, n: float, deviation: float, signal: float
) -> float:
    """Return the length that most rows are within, or longer as far as the products of middle rows
    stay well above the noise; the first of rows whose columns are scaled."""
    edges = query.edges
    if query.row_map.is_scaled:
        most, every = (length_within(edges, counts, n, k, deviation) for k in (_LONGER_SCALED, 0.0))
        return max(most, min(every, most * math.sqrt(signal / _FEW_CUT)))
    room = math.sqrt(signal / _ABOVE / math.sqrt(2))
    half, most, every = (
        length_within(edges, counts, n, share, deviation) for share in (0.5, _LONGER, 0.0)
    )
    return min(every, max(most, half * room))


def _held_to(seen: PilotRelease, length: float, square: float) -> PilotRelease:
    """Return the same with rows held to a released length, and the intercept's column, of this mean
    square, in proportion to it."""
    if not seen.row_map.intercept:
        return replace(seen, length=length, unit=length)
    weight = _WEIGHT * length / math.sqrt(max(square, 0.01))
    row_map = replace(seen.row_map, weight=min(1.0, max(_LEAST, weight)))
    length *= math.sqrt(1 + _WEIGHT**2)
    return replace(seen, row_map=row_map, length=length, unit=length)

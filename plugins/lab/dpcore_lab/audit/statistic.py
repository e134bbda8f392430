"""The set of outcomes that tells two tables apart, learned from some of the runs.

Whatever is learned here, it does not depend on the runs that it is tested on, so the bounds of
``claim`` hold for it as for a set that was named beforehand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpcore_lab.audit.claim import Counts

if TYPE_CHECKING:
    from dpcore_lab.audit.claim import Claim

__all__ = ["Statistic", "learn", "separation"]

_FARTHEST = 4.0
"""Interquartile ranges beyond which a value counts as no further away: a few far outcomes would
else decide the line."""
_RIDGE = 1e-3
_NO_NUMBER = -1e300
"""In the place of NaN and of minus infinity: outcomes as any other, far from all."""
_LEVELS = np.concatenate(([0.0, 0.002, 0.005, 0.01, 0.02], np.linspace(0.04, 0.96, 24)))
_LEVELS = np.concatenate((_LEVELS, [0.98, 0.99, 0.995, 0.998, 1.0]))


@dataclass(frozen=True)
class Statistic:
    """The set of outcomes whose score is at least ``threshold``, or, if not ``above``, below it.

    The score is Fisher's (1936) linear discriminant of the values, as multiples of ``scale`` from
    ``center``, at most ``farthest`` of them, and of their sizes. ``here_first`` : whether the set
    is likelier on the first table.
    """

    center: np.ndarray
    scale: np.ndarray
    line: np.ndarray
    threshold: float = 0.0
    above: bool = True
    here_first: bool = True
    farthest: float = _FARTHEST

    def scores(self, outcomes: np.ndarray) -> np.ndarray:
        """Return the score of each outcome: float64 of shape (n_runs,)."""
        values = _spread(_numbers(outcomes), self.center, self.scale, self.farthest)
        scores: np.ndarray = values @ self.line
        return scores

    def counts(self, here: np.ndarray, there: np.ndarray) -> Counts:
        """Return how often the set came up on the table where it is likelier, and on the other."""
        one, other = (self.scores(outcomes) >= self.threshold for outcomes in (here, there))
        if not self.above:
            one, other = ~one, ~other
        if not self.here_first:
            one, other = other, one
        return Counts(int(one.sum()), one.size, int(other.sum()), other.size)


def separation(here: np.ndarray, there: np.ndarray) -> float:
    """Return how many standard deviations two tables' scores are apart, of a line that was learned
    on the other half of the outcomes; the mean of both ways round."""
    found = []
    for first in (0, 1):
        line = _discriminant(here[first::2], there[first::2])
        a, b = line.scores(here[1 - first :: 2]), line.scores(there[1 - first :: 2])
        spread = np.sqrt((a.var() + b.var()) / 2)
        gap = abs(float(b.mean() - a.mean()))
        found.append(gap / spread if spread > 0 else (np.inf if gap > 0 else 0.0))
    return float(np.mean(found))


def learn(claim: Claim, here: np.ndarray, there: np.ndarray) -> Statistic:
    """Return the set at which these outcomes show the largest lower bound of the claim: its
    threshold, its side and its direction."""
    line = _discriminant(here, there)
    a, b = line.scores(here), line.scores(there)
    best, most = line, -np.inf
    for threshold in np.unique(np.quantile(np.concatenate((a, b)), _LEVELS)):
        shares = [float((scores >= threshold).mean()) for scores in (a, b)]
        for above in (True, False):
            p, q = shares if above else (1 - shares[0], 1 - shares[1])
            if p == q and p in (0, 1):
                continue  # no set at all
            for first in (True, False):
                shown = claim.about(p, q, len(a)) if first else claim.about(q, p, len(a))
                if shown > most:
                    best = replace(line, threshold=float(threshold), above=above, here_first=first)
                    most = shown
    return best


def _discriminant(here: np.ndarray, there: np.ndarray) -> Statistic:
    here, there = _numbers(here), _numbers(there)
    both = np.concatenate((here, there))
    center = np.median(both, axis=0)
    low, high = np.quantile(both, [0.25, 0.75], axis=0)
    scale, reach = high - low, both.max(axis=0) - both.min(axis=0)
    scale = np.where(scale > 0, scale, np.where(reach > 0, reach, 1.0))
    a, b = (_spread(outcomes, center, scale) for outcomes in (here, there))
    within = (np.cov(a, rowvar=False) + np.cov(b, rowvar=False)) / 2
    within = within.reshape(a.shape[1], a.shape[1]) + _RIDGE * np.eye(a.shape[1])
    return Statistic(center, scale, np.linalg.solve(within, b.mean(axis=0) - a.mean(axis=0)))


def _numbers(outcomes: np.ndarray) -> np.ndarray:
    """Return the outcomes with a finite number in the place of each that is none."""
    numbers: np.ndarray = np.nan_to_num(
        outcomes, nan=_NO_NUMBER, posinf=-_NO_NUMBER, neginf=_NO_NUMBER
    )
    return numbers


def _spread(
    outcomes: np.ndarray, center: np.ndarray, scale: np.ndarray, farthest: float = _FARTHEST
) -> np.ndarray:
    values = np.clip((outcomes - center) / scale, -farthest, farthest)
    return np.hstack((values, np.abs(values)))

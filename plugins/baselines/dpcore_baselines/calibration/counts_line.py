"""The line of log odds that noisy counts of rows near public knots speak for.

Of N rows near a knot n are positive; by the line a + b z they would be N p, p the mean of
sigma(a + b z) over these rows. With the noise of both counts, of deviation s each,

    D = n (1 - p) - (N - n) p

has the mean 0 if the line is right, and the variance N p (1 - p) + s^2 (p^2 + (1 - p)^2). The sums
of D and of z D over the knots are the score of a logistic regression of the rows on their log odds
(each row's log odds are the mean of its parts); in z D, z is held to 6, so that the noise of a far
knot weighs no more. Both sums are taken to be normal with these variances, and level and slope to
be so beforehand, about what the model says: level and slope are where the posterior density is
largest (a quasi-likelihood, Wedderburn 1974, with a prior).

Knots whose count is not clear of its noise are left out: in tails their noise would weigh most. The
rows beside a knot are taken to lie as a normal density of the counts' own mean and variance times a
factor at each knot does, which is fitted to the counts (Richardson 1972; Lucy 1974).

A linear model is not right everywhere, and the line that suits most rows may move the place of even
odds to where most rows are of the other class. It is moved as far as labels that change with it
cost by these counts at most half a percent of the rows. All of it is post-processing of releases.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpcore.plugin import ordered_dot, ordered_sum
from dpcore_accounting.reproducible.array_functions import array_exp
from dpcore_baselines.calibration.labelled_scores import KNOTS

__all__ = [
    "CALIBRATED",
    "FAR",
    "LABELS",
    "LEAST_SLOPE",
    "POINTS",
    "RIDGE",
    "UNKNOWN",
    "CountsLine",
    "Prior",
    "RowsNearKnots",
    "counts_line",
]

_CLEAR = 6.0 * 2.0**0.5
"""Deviations of a class's count that both together are to be above: 6 of the sum's own. At 3 a knot
in a tail is taken for the noise that made it large, and slopes were 4 % too small in the mean."""
LABELS = 0.005
LEAST_SLOPE, _LEAST_SPREAD = 2.0**-6, 0.25
_FITS, _STEPS, _LONGEST = 30, 60, 0.5
_IN_CELL, FAR = 8, 6.0
RIDGE = 1e-9
"""Of the score's variances: one knot alone says nothing of the slope."""

_EDGES = np.array(KNOTS)
_WIDTHS = np.repeat(np.diff(_EDGES) / _IN_CELL, _IN_CELL)
POINTS = np.repeat(_EDGES[:-1], _IN_CELL) + _WIDTHS * (
    np.tile(np.arange(_IN_CELL), len(KNOTS) - 1) + 0.5
)
_PARTS = np.array([np.interp(POINTS, _EDGES, unit) for unit in np.eye(len(KNOTS))])
"""The part of a row at each point (columns) that each knot (rows) has."""


@dataclass(frozen=True)
class Prior:
    """Means and deviations of level and slope before counts are seen.

    Parameters
    ----------
    slope : its mean; the level at the mean log odds m is then ``slope`` times m in the mean.
    of_level, of_slope : their deviations.
    """

    slope: float
    of_slope: float
    of_level: float


CALIBRATED = Prior(1.0, 0.15, 0.25)
"""Of log odds that were calibrated by what is released anyway (``descent.calibrate``): chosen on
adult, bank and the classifications for development of ``bench/development.toml``."""
UNKNOWN = Prior(0.75, 0.4, 0.5)
"""Of log odds by any algorithm: noise makes them too large."""


@dataclass(frozen=True)
class CountsLine:
    """The log odds a + b z in place of a model's z, with the ``deviation`` of b after counts."""

    added: float = 0.0
    slope: float = 1.0
    deviation: float = 0.0

    def of(self, w: np.ndarray, intercept: int) -> np.ndarray:
        """Return the coefficients whose log odds are a + b z."""
        moved = self.slope * w
        moved[intercept] += self.added
        return moved


@dataclass(frozen=True)
class RowsNearKnots:
    """Counts of clear knots, and where their rows lie.

    Parameters
    ----------
    positive, all : of the rows near each knot, 0 near others. ``noise`` : variances of a count.
    middle, variance : of the log odds.
    density, density_of_positive : of rows at the points, summing to about their number.
    shares : of the rows near a knot (rows), those at each point (columns).
    """

    positive: np.ndarray
    all: np.ndarray
    noise: np.ndarray
    middle: float
    variance: float
    density: np.ndarray
    density_of_positive: np.ndarray
    shares: np.ndarray

    @classmethod
    def of(cls, counts: np.ndarray, deviation: float) -> RowsNearKnots | None:
        """Return what counts say, of shape (2, knots); ``None`` where none is clear of noise."""
        clear = counts[0] + counts[1] > _CLEAR * deviation
        both = np.where(clear, counts[0] + counts[1], 0.0)
        if not clear.any():
            return None
        total = float(ordered_sum(both))
        middle = float(ordered_dot(_EDGES, both)) / total
        variance = float(ordered_dot((_EDGES - middle) ** 2, both)) / total
        bell = middle, max(variance, _LEAST_SPREAD)
        density = _density(both, *bell)
        shares = _PARTS * density
        shares /= np.maximum(ordered_sum(shares), 1e-300)[:, None]
        positive = np.where(clear, counts[1], 0.0)
        of_positive = _density(np.clip(positive, 0.0, both), *bell)
        noise = clear * deviation**2
        return cls(positive, both, noise, *bell, density, of_positive, shares)

    def where(self, positive: np.ndarray, both: np.ndarray) -> RowsNearKnots:
        """Return some of the rows, by counts of them near the clear knots, of the first class and
        of both; they lie as all do."""
        bell = self.middle, self.variance
        density = _density(np.maximum(both, 0.0), *bell)
        of_positive = _density(np.clip(positive, 0.0, np.maximum(both, 0.0)), *bell)
        return replace(
            self, positive=positive, all=both, density=density, density_of_positive=of_positive
        )

    def cost_of_labels(self, even: float) -> float:
        """Return by how many rows the labels are worse, by counts, where odds are even at log odds
        ``even`` in place of 0."""
        low, high = min(0.0, even), max(0.0, even)
        start = POINTS - _WIDTHS / 2
        within = np.clip(np.minimum(high, start + _WIDTHS) - np.maximum(low, start), 0.0, None)
        more = (2.0 * self.density_of_positive - self.density) * within / _WIDTHS
        return float(ordered_sum(more)) * (1.0 if even > 0 else -1.0)


def _density(counts: np.ndarray, middle: float, variance: float) -> np.ndarray:
    """Return the number of rows at each point: a normal density times a factor between knots."""
    bell = _WIDTHS * (array_exp(-((POINTS - middle) ** 2) / (2.0 * variance)) + 1e-12)
    factors = np.ones(len(KNOTS))
    for _ in range(_FITS):
        made = ordered_dot(_PARTS, bell * ordered_dot(_PARTS.T, factors))
        factors = factors * counts / np.maximum(made, 1e-300)
    return np.asarray(bell * ordered_dot(_PARTS.T, factors))


def counts_line(counts: np.ndarray, deviation: float, prior: Prior = CALIBRATED) -> CountsLine:
    """Return the line for the answer of ``LabelledScores``.

    Parameters
    ----------
    counts : the noisy answer, float64 of shape (2 knots,), the first class first.
    deviation : of the noise of an entry, >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore_baselines.calibration.counts_line import counts_line
    >>> said = np.array([0, 0, 9e3, 9e4, 5e4, 3e4, 1e4, 3e3, 0, 0, 0])  # near -24, -12, -6, ...
    >>> positive = np.array([0, 0, 9e2, 2e4, 2e4, 3e4, 2e4, 1e4, 0, 0, 0])
    >>> line = counts_line(np.concatenate([said, positive]), 10.0)
    >>> 0.4 < line.slope < 0.6  # of rows told 5 % came 18 %
    True
    """
    rows = RowsNearKnots.of(np.asarray(counts, dtype=np.float64).reshape(2, -1), deviation)
    if rows is None:
        return CountsLine(deviation=prior.of_slope)
    level, slope, spread = _posterior(rows, prior)
    added = level - slope * rows.middle
    for part in np.linspace(1.0, 0.0, 41):
        cost = rows.cost_of_labels(-part * added / slope)
        if cost <= LABELS * float(ordered_sum(rows.all)):
            break
    return CountsLine(float(part) * added, slope, spread)


def _posterior(rows: RowsNearKnots, prior: Prior) -> tuple[float, float, float]:
    """Return the level at the mean log odds, the slope, and the slope's deviation."""
    points = POINTS - rows.middle
    design = np.array([np.ones(len(KNOTS)), np.clip(_EDGES, -FAR, FAR) - rows.middle])
    first = np.array([prior.slope * rows.middle, prior.slope])
    precision = np.diag([prior.of_level**-2, prior.of_slope**-2])
    line, left, known = first.copy(), _STEPS, dict[bytes, int]()
    while left:
        # Steps end in a circle of one float or a few: its whole rounds are left out.
        if (before := known.setdefault(line.tobytes(), left)) > left:
            left, known = left % (before - left), {}
            continue
        told = 1.0 / (1.0 + array_exp(-(line[0] + line[1] * points)))
        p = ordered_dot(rows.shares, told)
        bends = rows.shares * (told * (1.0 - told))
        turns = np.array([ordered_sum(bends), ordered_dot(bends, points)])
        missed = ordered_dot(design, rows.positive - rows.all * p)
        jacobian = ordered_dot(design[:, None], (rows.all * turns)[None])
        noise = rows.all * p * (1.0 - p) + rows.noise * (p * p + (1.0 - p) ** 2)
        score = ordered_dot(design[:, None] * noise, design[None])
        weighed = _solved(score + RIDGE * (score[0, 0] + score[1, 1]) * np.eye(2), jacobian)
        information = ordered_dot(jacobian.T[:, None], weighed.T[None]) + precision
        pull = ordered_dot(weighed.T, missed) - ordered_dot(precision, line - first)
        step = _solved(information, pull[:, None])[:, 0]
        line = line + np.clip(step, -_LONGEST, _LONGEST)
        left -= 1
    slope = max(float(line[1]), LEAST_SLOPE)
    return float(line[0]), slope, float(_solved(information, np.eye(2))[1, 1]) ** 0.5


def _solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the solution of two linear equations, as BLAS has no part in it."""
    (p, q), (r, s) = matrix
    return np.asarray(np.array([[s, -q], [-r, p]])[:, :, None] * right[None]).sum(axis=1) / (
        p * s - q * r
    )

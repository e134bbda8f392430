"""The temperature and the intercepts of several classes that noisy counts of pairs speak for.

Margins z_k become a_k + b z_k, with one b for all classes (temperature scaling with a bias: Guo,
Pleiss, Sun & Weinberger 2017). Of the rows of two classes j and l the log odds of j, z = z_j - z_l
by the model, are then a_j - a_l + b z (``PairedScores``). As for two classes (``counts_line``), N
of the rows near a knot, n of them of j, p the mean of sigma(a_j - a_l + b z) over them, have

    D = n (1 - p) - (N - n) p

of mean 0 if the line is right, and of variance N p (1 - p) + s^2 (p^2 + (1 - p)^2). The sums of D
over the pairs of a class, with the sign of the class, and of z D over all, are the score of the
logistic regressions of all pairs at once. They are taken to be normal with these variances, and so
are the parameters beforehand; those of the largest posterior density are returned.

As the two classes' line may, the intercepts may move labels as far as that costs by the counts at
most half a percent of the rows. All of it is post-processing of releases.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpcore.plugin import ordered_dot, ordered_sum
from dpcore_accounting.reproducible.array_functions import array_exp
from dpcore_baselines.calibration.counts_line import (
    FAR,
    LABELS,
    LEAST_SLOPE,
    POINTS,
    RIDGE,
    Prior,
    RowsNearKnots,
)
from dpcore_baselines.calibration.labelled_scores import KNOTS
from dpcore_baselines.calibration.paired_scores import pairs_of

__all__ = ["PRIOR", "ClassLines", "class_lines"]

PRIOR = Prior(1.0, 0.5, 0.5)
"""Of margins of several classes, which clipping and noise make too large or too small: chosen on no
table."""
_STEPS, _LONGEST = 40, 0.5
_DESIGN = np.array([np.ones(len(KNOTS)), -np.ones(len(KNOTS)), np.clip(KNOTS, -FAR, FAR)])
"""How log odds at the knots grow with the intercepts of a pair's classes, and with the slope."""


@dataclass(frozen=True)
class ClassLines:
    """The margins a_k + b z_k in place of a model's z_k, with the ``deviation`` of b after counts.

    ``added`` : a_k of each class, of mean 0.
    """

    added: tuple[float, ...]
    slope: float = 1.0
    deviation: float = 0.0

    def of(self, w: np.ndarray, intercept: int) -> np.ndarray:
        """Return the coefficients, of shape (n_classes, n_features), whose margins these are."""
        moved = self.slope * w
        moved[:, intercept] += np.array(self.added)
        return moved


@dataclass(frozen=True)
class _Pairs:
    """The rows of two classes each, pair by pair.

    Parameters
    ----------
    near : the rows of all pairs: which knots are clear of noise, and where rows near them lie.
    positive, all : of the first class, and of both, near each clear knot, as released: float64 of
        shape (pairs, knots).
    places : of the parameters that count for the log odds of a pair, those of both classes and the
        slope, which is the last of all: int64 of shape (pairs, 3).
    """

    near: RowsNearKnots
    positive: np.ndarray
    all: np.ndarray
    places: np.ndarray

    def levels(self, line: np.ndarray) -> np.ndarray:
        """Return the log odds that are added between the two classes of each pair."""
        first, second, _ = self.places.T
        return np.asarray(line[first] - line[second])

    def score(self, line: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the score, its change with the parameters, of shape (score, parameters), and its
        covariance."""
        shares, noise = self.near.shares, self.near.noise
        told = 1.0 / (1.0 + array_exp(-(self.levels(line)[:, None] + line[-1] * POINTS)))
        p = ordered_dot(shares, told[:, None])
        bends = shares * (told * (1.0 - told))[:, None]
        rise = ordered_sum(bends)
        turns = np.stack([rise, -rise, ordered_dot(bends, POINTS)], axis=1)
        of_noise = p * p + (1.0 - p) ** 2
        # Of N p and N (1 - p) with equal noise the N of least squares, whose noise is no part of D.
        found = (p * self.positive + (1.0 - p) * (self.all - self.positive)) / of_noise
        varied = np.maximum(found, 0.0) * p * (1.0 - p) + noise * of_noise
        missed = ordered_dot(_DESIGN, (self.positive - self.all * p)[:, None])
        jacobian = ordered_dot(_DESIGN[:, None], (found[:, None] * turns)[:, None])
        covariance = ordered_dot(_DESIGN[:, None] * varied[:, None, None], _DESIGN)
        return self._added(missed), self._added(jacobian), self._added(covariance)

    def _added(self, of_pairs: np.ndarray) -> np.ndarray:
        """Return vectors or matrices of pairs added up at the places of their parameters."""
        n, places = int(self.places[0, -1]) + 1, self.places
        total = np.zeros((n,) * (of_pairs.ndim - 1))
        at = (places,) if total.ndim == 1 else (places[:, :, None], places[:, None])
        np.add.at(total, at, of_pairs)  # One after the other.
        return total


def class_lines(
    counts: np.ndarray, deviation: float, n_classes: int, prior: Prior = PRIOR
) -> ClassLines:
    """Return temperature and intercepts for the answer of ``PairedScores``.

    Knots are left out where the counts of all pairs together are not clear of their noise: by those
    of single pairs counts would stay whose noise is above 0, which flattens the slope.

    Parameters
    ----------
    counts : the noisy answer, float64, flat, and over the size of a row in a pair.
    deviation : of the noise of an entry of these, >= 0.
    prior : of the slope, and of the level of a pair.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore_baselines.calibration.class_lines import class_lines
    >>> class_lines(np.zeros(66), 1.0, 3)  # of no rows
    ClassLines(added=(0.0, 0.0, 0.0), slope=1.0, deviation=0.5)
    """
    of_pairs = np.asarray(counts, dtype=np.float64).reshape(-1, 2, len(KNOTS))
    near = RowsNearKnots.of(
        ordered_sum(np.moveaxis(of_pairs, 0, -1)), deviation * len(of_pairs) ** 0.5
    )
    if near is None:
        return ClassLines((0.0,) * n_classes, deviation=prior.of_slope)
    clear = near.noise > 0 if deviation > 0 else near.all > 0
    places = np.array([(*classes, n_classes) for classes in pairs_of(n_classes)])
    near = replace(near, noise=clear * deviation**2)
    kept = of_pairs * clear
    pairs = _Pairs(near, kept[:, 1], kept[:, 0] + kept[:, 1], places)
    line, spread = _most_likely(pairs, n_classes, prior)
    slope = max(float(line[-1]), LEAST_SLOPE)
    added = line[:-1] - ordered_sum(line[:-1]) / n_classes
    rows = [near.where(*each) for each in zip(pairs.positive, pairs.all, strict=True)]
    evens, most = -pairs.levels(line) / slope, LABELS * float(ordered_sum(near.all))
    for part in np.linspace(1.0, 0.0, 41):
        costs = (own.cost_of_labels(part * even) for own, even in zip(rows, evens, strict=True))
        if sum(costs) <= most:
            break
    return ClassLines(tuple((float(part) * added).tolist()), slope, spread)


def _most_likely(pairs: _Pairs, n_classes: int, prior: Prior) -> tuple[np.ndarray, float]:
    """Return the parameters, the slope last, and the slope's deviation."""
    first = np.zeros(n_classes + 1)
    first[-1] = prior.slope
    # Two intercepts of this variance are as far apart as the level of a pair may be.
    of_each = np.full(n_classes + 1, 2.0 / prior.of_level**2)
    of_each[-1] = prior.of_slope**-2
    precision, line = np.diag(of_each), first.copy()
    for _ in range(_STEPS):
        missed, jacobian, score = pairs.score(line)
        # Scores of all intercepts add up to 0, and so do their changes.
        held = score + RIDGE * float(ordered_sum(np.diagonal(score))) * np.eye(n_classes + 1)
        weighed = _solved(held, jacobian)
        information = ordered_dot(jacobian.T[:, None], weighed.T[None]) + precision
        pull = ordered_dot(weighed.T, missed) - ordered_dot(precision, line - first)
        step = _solved(information, pull[:, None])[:, 0]
        line = line + np.clip(step, -_LONGEST, _LONGEST)
    return line, float(_solved(information, np.eye(n_classes + 1))[-1, -1]) ** 0.5


def _solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the solution of linear equations of a positive definite matrix, by Gauss and Jordan,
    as BLAS has no part in it."""
    rows, n = np.concatenate([matrix, right], axis=1), len(matrix)
    for k in range(n):
        rows[k] /= rows[k, k]
        others = rows[:, k].copy()
        others[k] = 0.0
        rows = rows - others[:, None] * rows[k]
    return rows[:, n:]

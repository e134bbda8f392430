"""Defaults of dp-gd: fixed functions of public facts and released values.

The one fact that drives them is the signal that the budget buys,

    u = n mu / sqrt(d),

the rows times the Gaussian-DP parameter of the whole budget over the root of the width (of many
columns, those that count: ``effective_width``): the length
of a sum of n unit gradients over the length of the noise, were the budget spent on one release.
Lengths are in units of the typical length of a standardised row, and a run's time is the sum of its
step sizes in the units that go with it. On standardised rows, a loss with a corner, the hinge or
the huberised hinge, gets less time and few, long steps, whose mean rounds the corner off: its
minimiser can predict worse than what comes before it (on bank 89.3 and 89.7 % without privacy,
where 90.0 % can be had).

Small tables of two classes have a second fact, n mu, the signal of one column alone: at 60 and more
a budget tells which class is the commoner one. From there on too short a time loses more than the
noise of many columns does, so the time follows the larger of u and n mu / 6, up to 10.

The constants were developed on the data sets adult, bank and census-sim, those of small tables on
samples of these and of kddcup99-10 and on scikit-learn's breast cancer, the steps of a loss with a
corner on kddcup99-10 too, and then frozen.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcore.plugin.parts import LossFacts

if TYPE_CHECKING:
    from dpcore.plugin import Loss, Problem

__all__ = [
    "MOST_STEPS",
    "NARROW",
    "SIZES_SHARE",
    "clip_for",
    "coordinates",
    "effective_width",
    "largest_step",
    "lasting_signal",
    "limit_for",
    "most_clip",
    "moments_share_for",
    "regularised_step",
    "shrinkage_for",
    "signal",
    "steps_for",
    "tells_the_majority",
    "time_for",
    "weighed",
]

FEWEST_STEPS, MOST_STEPS = 50, 400
_MOST_CLIP, _MOST_WEIGHT = 2.0, 16.0
_MOST_LONG_STEPS = 80
NARROW = 128
"""Columns: of more, those that show no sign of themselves in released moments are left out."""
TELLING = 60.0
"""n mu from which on the sum of a column as good as the intercept's is well above its noise,
whichever the shares of the classes are, but for nearly even ones."""
SIZES_SHARE = 0.15
"""Share of the budget for counts of the sizes of numbers, where these are asked for: those of the
columns that moments tell least, so that half of the moments' own share will do."""
_LASTING = TELLING / 6
_MIDDLING, _NOT_SHRUNK = 42.0, 100.0
_ROUND, _FINE = 450.0, 2500.0
_CURVATURE = 0.25
_OF_A_MEAN = 1.0
"""Taken for the curvature of a mean by a log link, whose bound is infinite or far from all rows: it
is about the mean in half widths of the target's bounds, 1 where all parameters are 0. Released
gradients say where steps are too long."""
_OF_A_TARGET = 2.5
"""Stands for the curvature of a bounded slope on a real-valued target: it stays as large however
near the target is, and a step of 10 is what averaging makes up for (a step of 40 is not)."""


def signal(n: float, mu: float, width: float) -> float:
    """Return u. ``n`` : a public number or noisy count, > 0; ``mu`` : of the whole budget."""
    return n * mu / math.sqrt(width)


def effective_width(n_features: int, length: float) -> float:
    """Return the number of columns that count in the signal: all of a narrow table, and of a wide
    one about as many standardised columns as give its rows their typical length."""
    return min(n_features, max(NARROW, 1.3 * length**2))


def coordinates(problem: Problem, width: float | None = None) -> float:
    """Return the number of columns, by default all, as the signal counts them. Of several classes
    it is times their number over two, so that two would count as they do in a loss of one
    margin."""
    width = problem.n_features if width is None else width
    return width if problem.n_margins == 1 else width * problem.n_margins / 2


def moments_share_for(n_features: int) -> float:
    """Return the share of the budget for the columns' moments: .1 of a narrow table, rising to .25
    at 2^14 columns, where the moments must tell the common ones."""
    doublings = math.log2(max(NARROW, n_features) / NARROW)
    return 0.1 + 0.15 * min(1.0, doublings / 7)


def lasting_signal(n: float, mu: float, width: float, loss: Loss) -> float:
    """Return the signal that a run's time follows: u; for two classes n mu / 6 where that is more,
    and 10 at most."""
    u = signal(n, mu, width)
    return max(u, min(_LASTING, n * mu / 6)) if loss.classification else u


def tells_the_majority(n: float, mu: float) -> bool:
    """Return whether the budget tells the commoner of two classes, were it spent on that alone."""
    return n * mu >= TELLING


def clip_for(u: float, loss: Loss) -> float:
    """Return the clip of a row's gradient over the typical length of a row. Of several classes it
    is sqrt 2 times as much, as a row far on the wrong side has slopes of that size, and not of 1.

    Where rows are weighted it is the largest weight times as much, up to 16: else the clip would
    take most of the weights back."""
    clip: float = min(_MOST_CLIP, max(0.05, 0.2 * (u / _MIDDLING) ** 0.3)) * _weight(loss)
    return clip * _of_weight_one(loss, loss.lipschitz) if LossFacts.of(loss).multiclass else clip


def most_clip(loss: Loss) -> float:
    """Return the largest clip by default of two classes, over the typical length of a row."""
    return _MOST_CLIP * _weight(loss)


def weighed(u: float, loss: Loss) -> float:
    """Return the signal of rows that are weighted: a clip of so many times as much has so many
    times the noise, and the weights' mean over rows is about 1."""
    return u / _weight(loss)


def _weight(loss: Loss) -> float:
    """Return what weights of rows multiply a clip by."""
    return min(_MOST_WEIGHT, LossFacts.of(loss).largest_weight)


def shrinkage_for(u: float) -> float:
    """Return what all coefficients of standardised columns but the intercept's count for, once the
    descent is over: noise in them is paid for by the commoner class, whose rows are the most."""
    return min(1.0, 0.8 + 0.2 * u / _NOT_SHRUNK)


def time_for(u: float, loss: Loss, momentum: float, *, standardized: bool) -> float:
    """Return the sum of the step sizes: as long as the signal bears, and as safe steps allow. The
    rarest of several classes are learnt last, so that these have no such limit.

    ``standardized`` : whether rows are; on others a corner's loss needs as long as any other.
    """
    if standardized and _has_corner(loss):
        power = 0.7 if u > _MIDDLING else 1.0
        time: float = min(12000.0, 2000.0 * (u / _MIDDLING) ** power)
    else:
        most = (
            math.inf if LossFacts.of(loss).multiclass else MOST_STEPS * largest_step(loss, momentum)
        )
        rule = 5000.0 * _CURVATURE / _smooth_curvature(loss) * (u / _MIDDLING) ** 0.8
        time = min(most, rule)
    return time


def steps_for(time: float, u: float, loss: Loss, momentum: float, *, standardized: bool) -> int:
    """Return the number of steps: as few as are stable for any rows, and of two classes, whose rows
    mostly bear longer ones, at most 80. A corner takes 100; 50 long ones, which round it off, where
    the signal is middling to large, and 200 where it tells the rows at the corner."""
    if standardized and _has_corner(loss):
        if u >= _FINE:
            return 4 * FEWEST_STEPS
        return FEWEST_STEPS if u >= _ROUND else 2 * FEWEST_STEPS
    watched = math.isfinite(limit_for(loss, momentum))
    most = _MOST_LONG_STEPS if watched and loss.classification else MOST_STEPS
    fewest = math.ceil(time / largest_step(loss, momentum))
    return min(most, max(FEWEST_STEPS, fewest))


def limit_for(loss: Loss, momentum: float) -> float:
    """Return the step times the curvature at which descent swings ever wider; ``inf`` for a loss
    with a corner, which no step is short for: the mean of many rounds it off."""
    bends = _of_weight_one(loss, loss.smoothness)
    corner = math.isfinite(loss.lipschitz) and bends > _smooth_curvature(loss)
    return math.inf if corner and not LossFacts.of(loss).log_link else _limit(momentum)


def largest_step(loss: Loss, momentum: float) -> float:
    """Return the step below which gradient descent with momentum swings up in no direction, on rows
    whose typical length is 1."""
    return _limit(momentum) / _curvature(loss)


def regularised_step(curvature: float, momentum: float) -> float:
    """Return the longest step that a regulariser of this curvature allows: half of its limit. The
    curvature is l2 times the square of the largest factor by which standardisation lengthens
    parameters. The regulariser alone then brings iterates together, and clipped gradients cannot
    take them far."""
    return _limit(momentum) / 2 / curvature if curvature > 0 else math.inf


def _limit(momentum: float) -> float:
    """Return the step times the curvature at which descent with momentum begins to swing up:
    2 (1 + beta) / (1 - beta) (Polyak 1964)."""
    return 2 * (1 + momentum) / (1 - momentum)


def _has_corner(loss: Loss) -> bool:
    """Return whether the slope of a loss of two classes turns within a part of the margins: faster
    than a logistic one."""
    return math.isinf(limit_for(loss, 0.0)) and loss.classification


def _curvature(loss: Loss) -> float:
    """Return the loss's curvature in the margin where it is spread over all margins, else that of
    the logistic loss: a corner's curvature is for few rows, and the clip bounds what it can do."""
    if LossFacts.of(loss).log_link:
        return min(_OF_A_MEAN, _of_weight_one(loss, loss.smoothness))
    if math.isinf(loss.lipschitz):
        return _of_weight_one(loss, loss.smoothness)
    return _smooth_curvature(loss) if loss.classification else _OF_A_TARGET


def _smooth_curvature(loss: Loss) -> float:
    """Return the curvature of the logistic loss, of several classes if it is one of these, for
    which that of a loss with a corner has no bound: their margins all move, so that half of the
    time goes as far."""
    several = LossFacts.of(loss).multiclass
    bends = _of_weight_one(loss, loss.smoothness)
    return (bends if math.isfinite(bends) else 2 * _CURVATURE) if several else _CURVATURE


def _of_weight_one(loss: Loss, bound: float) -> float:
    """Return a bound of the loss of a row of weight 1, where rows are weighted: what a run goes by
    is the weights' mean over rows, about 1, and not the largest."""
    return bound / LossFacts.of(loss).largest_weight

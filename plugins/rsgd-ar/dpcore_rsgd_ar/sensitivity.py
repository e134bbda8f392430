"""The distance that one replaced row can move a pass's result, for each batch it may be in.

Chen, Lee & Kifer 2019, Lemma 2: a step with a batch that both tables share brings two iterates
closer by the factor ``rho = max(|1 - eta mu|, |1 - eta L|)``; a step with batch j, in which they
differ, adds ``2 eta R / |B_j|`` to that. An average of iterates is as far off as the distances'
average (their inequality 5). Relation: replace-one.

That is real arithmetic. Every step of the pass that is really computed is the real one and an error
of norm at most e_t: margins, the loss's derivative, sums and the update are rounded. Two runs then
move apart by 2 e_t more at each step, which is counted here. All bounds are rounded up.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore_rsgd_ar.kernels import recurrence, walk

if TYPE_CHECKING:
    from dpcore_rsgd_ar.schedule import Facts, Schedule

__all__ = ["DERIVATIVE_ERROR", "batch_sensitivities"]

DERIVATIVE_ERROR = 2.0**-34
"""Bound of the error of a loss's ``dvalue``, clipped to its Lipschitz bound, against a function
that has the declared constants, before rows are weighted; for the built-in losses:
tests/test_sensitivity.py."""

_UNIT = 2.0**-52  # twice the unit roundoff: k roundings err by at most k of it while k < 2^51
_MARGIN = 1 + 2.0**-40  # more than what the few dozen roundings of one bound can lose
_LARGEST_REACH = 2.0**40


def batch_sensitivities(
    schedule: Schedule, facts: Facts, grid_bits: int, rows: float = 1.0
) -> tuple[np.ndarray, float]:
    """Return the distance for each batch, float64 of shape (n_batches,), and a bound of ``||w||``.

    ``rows`` : rows in which the tables differ; 0 leaves what rounding adds.

    The result is rounded to nearest on ``2**-grid_bits``, which moves two of them apart by at most
    ``sqrt(n_features)`` grid steps: counted. O(epochs n_batches).

    Raises InvalidInputError for a schedule whose iterates are not bounded by 2^40.
    """
    epochs, m = schedule.epochs, schedule.n_batches
    steps = np.broadcast_to(schedule.step_sizes, (epochs, m))
    rho = _contraction(schedule.step_sizes, facts.mu, facts.curvature)
    slack, reach = _rounding(schedule, facts, steps)
    share = rows * np.nextafter(2 * facts.gradient / schedule.sizes, np.inf)
    averaged = schedule.average_every * m
    mean_slack = 2 * (averaged + 2) * _UNIT * reach * _MARGIN
    deltas, work = np.zeros(m), np.zeros((3, m))
    shares = (steps, np.broadcast_to(rho, (epochs, m)), slack, share)
    recurrence(*shares, schedule.average_every, mean_slack, work, deltas)
    deltas += math.sqrt(facts.n_features) * 2.0**-grid_bits * _MARGIN
    return deltas * _MARGIN, reach


def _contraction(steps: np.ndarray, mu: float, curvature: float) -> np.ndarray:
    """Return ``max(|1 - eta mu|, |1 - eta L|)``, rounded up."""
    bounds = []
    for constant in (mu, curvature):
        product = steps * constant
        bounds.append(np.abs(1 - product) + _UNIT * (1 + product))
    return np.maximum(*bounds) * (1 + _UNIT)


def _rounding(schedule: Schedule, facts: Facts, steps: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the largest ``2 e_t`` of each epoch, and a bound of the norm of every iterate."""
    # A margin of d terms: (d + 2) roundings, relative to ||x|| ||w||; it moves the coefficient by
    # smoothness times that. A sum over b rows and the division: (b + 2) roundings, relative to R.
    x = facts.row_norm
    per_reach = x * facts.smoothness * (facts.n_features + 4) * _UNIT * x
    error = DERIVATIVE_ERROR * facts.largest_weight
    fixed = x * error + (int(schedule.sizes.max()) + 8) * _UNIT * facts.gradient
    ball = schedule.radius
    width = (facts.n_features + 8) * _UNIT
    projection = width * ball if math.isfinite(ball) else 0.0
    slack = np.zeros(schedule.epochs)
    numbers = (fixed * _MARGIN, per_reach * _MARGIN, facts.gradient, facts.mu)
    reach = walk(steps, *numbers, ball * (1 + width) * _MARGIN, projection * _MARGIN, slack)
    if not reach <= _LARGEST_REACH:
        raise InvalidInputError(
            "The step sizes make the iterates grow without bound: no sensitivity. Choose a "
            f"step_size of at most 2 / (L + mu) = {2 / (facts.curvature + facts.mu):.3g}."
        )
    return slack, float(reach)

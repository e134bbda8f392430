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

from dpcore.plugin import InvalidInputError, njit

if TYPE_CHECKING:
    from dpcore_rsgd_ar.schedule import Facts, Schedule

__all__ = ["DERIVATIVE_ERROR", "batch_sensitivities"]

DERIVATIVE_ERROR = 2.0**-34
"""Bound of the error of a loss's ``dvalue``, clipped to its Lipschitz bound, against a function
that has the declared constants; for the built-in losses: tests/test_sensitivity.py."""

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
    fixed = x * DERIVATIVE_ERROR + (schedule.batch_size + 8) * _UNIT * facts.gradient
    ball = schedule.radius
    width = (facts.n_features + 8) * _UNIT
    projection = width * ball if math.isfinite(ball) else 0.0
    slack = np.zeros(schedule.epochs)
    figures = (fixed * _MARGIN, per_reach * _MARGIN, facts.gradient, facts.mu)
    reach = walk(steps, *figures, ball * (1 + width) * _MARGIN, projection * _MARGIN, slack)
    if not reach <= _LARGEST_REACH:
        raise InvalidInputError(
            "The step sizes make the iterates grow without bound: no sensitivity. Choose a "
            f"step_size of at most 2 / (L + mu) = {2 / (facts.curvature + facts.mu):.3g}."
        )
    return slack, float(reach)


@njit(cache=True, error_model="numpy")
def walk(
    steps: np.ndarray,
    fixed: float,
    per_reach: float,
    gradient: float,
    mu: float,
    ball: float,
    projection: float,
    slack: np.ndarray,
) -> float:
    """Fill ``slack`` with the largest ``2 e_t`` of each epoch; return a bound of every ``||w_t||``.

    ``||w_(t+1)|| <= |1 - eta mu| ||w_t|| + eta R + e_t``, the ball's radius at most.
    """
    reach = 0.0
    for s in range(steps.shape[0]):
        for j in range(steps.shape[1]):
            eta = steps[s, j]
            update = 4.0 * eta * (gradient + mu * reach) + 2.0 * reach
            error = eta * (fixed + per_reach * reach) + 2.220446049250313e-16 * update
            error = (error + projection) * (1.0 + 2.0**-40)
            grown = (abs(1.0 - eta * mu) + 2.0**-50 * (1.0 + eta * mu)) * reach + eta * gradient
            grown = (grown + error) * (1.0 + 2.0**-40)
            reach = min(max(reach, grown), ball)
            slack[s] = max(slack[s], 2.0 * error)
    return reach


@njit(cache=True, error_model="numpy")
def recurrence(
    steps: np.ndarray,
    rho: np.ndarray,
    slack: np.ndarray,
    share: np.ndarray,
    average_every: int,
    mean_slack: float,
    work: np.ndarray,
    deltas: np.ndarray,
) -> None:
    """Fill ``deltas`` (n_batches,): the figure of each batch. ``work`` : zeros (3, n_batches).

    ``_up(x)`` is at least the next float above x: above the real result that x rounds.
    With S_j the product of rho after step j, and A_j = 1 + rho_(j+1) A_(j+1) its sums over the
    epoch's later iterates, an epoch takes D_j to S D_j + S_j b_j, and its iterates add up to
    rho_0 A_0 D_j + A_j b_j; rounding adds its part to both in the same way.
    """
    m = deltas.shape[0]
    after, until, sums = work[0], work[1], work[2]
    for s in range(steps.shape[0]):
        product, total, drift, drifts = 1.0, 1.0, 0.0, 0.0
        for j in range(m - 1, -1, -1):
            after[j], until[j] = product, total
            drift = _up(drift + _up(product * slack[s]))
            drifts = _up(drifts + _up(total * slack[s]))
            product = _up(product * rho[s, j])
            total = _up(rho[s, j] * total) if j == 0 else _up(1.0 + _up(rho[s, j] * total))
        for j in range(m):
            b = _up(steps[s, j] * share[j])
            seen = _up(_up(total * deltas[j]) + _up(until[j] * b))
            sums[j] = _up(sums[j] + _up(seen + drifts))
            deltas[j] = _up(_up(_up(product * deltas[j]) + _up(after[j] * b)) + drift)
        if average_every > 0 and (s + 1) % average_every == 0:
            for j in range(m):
                deltas[j] = _up(_up(sums[j] / (m * average_every)) + mean_slack)
                sums[j] = 0.0


@njit(error_model="numpy", fastmath=False)
def _up(x: float) -> float:
    return x * (1.0 + 2.220446049250313e-16) + 2.2250738585072014e-308

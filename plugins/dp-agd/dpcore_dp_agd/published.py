"""The authors' code as it behaves: not private at the epsilon it prints, kept for comparison.

Departures from their Algorithm 2 that it reproduces: noisy minimum by one-sided exponential noise,
whose true epsilon is up to the number of candidates less one times the claim; the candidate before
the selected one is applied; a gradient's share is deducted twice; the second and later
measurements are averaged with the first only; scores and gradients have the add-or-remove
sensitivities under either relation; l2 w is added to the direction after that was normalised, and
nothing to the scores, whatever the number of rows; with a ``batch_size``, a step's gradients and
scores are sums over so many rows, drawn anew for each step. Not reproduced: fitting a min-max
scaler on the private rows, which is the loader's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.plugin import (
    DIRECTION_BITS,
    BudgetExceededError,
    ClippedGradientSum,
    Gaussian,
    InvalidInputError,
    Solution,
    round_parameters,
    round_to,
)
from dpcore.plugin.parts import PureDpEvent, ScaledNoise, sealed
from dpcore_dp_agd.batch import PublishedBatch
from dpcore_dp_agd.descent import candidate_steps, unit_direction
from dpcore_dp_agd.loss_line import ClippedLossLine

if TYPE_CHECKING:
    from dpcore.plugin import PrivacySession, Problem
    from dpcore.plugin.parts import NoiseSource, Query, Sensitivity

__all__ = ["PublishedNoisyMin", "minimize_as_published"]

_SPLITS, _CANDIDATES, _MAX_STEP, _CLIP, _GAMMA, _ETA, _TAU = 60, 20, 2.0, 3.0, 0.1, 0.1, 10
_PUBLIC_SEED = 2018
"""Of the places of the rows in a batch."""
_CONSTANTS = {
    "splits": _SPLITS,
    "candidates": _CANDIDATES,
    "max_step": _MAX_STEP,
    "clip": _CLIP,
    "loss_clip": _CLIP,
    "gamma": _GAMMA,
    "eta": _ETA,
    "tau": _TAU,
}


@sealed
@dataclass(frozen=True, slots=True)
class PublishedNoisyMin(ScaledNoise):
    """argmin of loss plus one-sided exponential noise. NOT private at the event it claims."""

    name: ClassVar[str] = "published-noisy-min"
    needs: ClassVar[str] = "range"
    private: ClassVar[bool] = False

    def event(self, sensitivity: Sensitivity) -> PureDpEvent:
        return PureDpEvent(1 / self.noise_multiplier)

    def release(self, exact: np.ndarray, sensitivity: Sensitivity, noise: NoiseSource) -> int:
        losses = -exact.astype(np.float64)
        drawn = noise.exponential(self.scale(sensitivity), exact.shape[0])
        return int(np.argmin(losses + drawn.astype(np.float64)))


def _published_direction(gradient: np.ndarray, l2: float, w: np.ndarray) -> np.ndarray:
    """Return the normalised gradient plus l2 w, on the direction grid."""
    return round_to(unit_direction(gradient) + l2 * w, DIRECTION_BITS)


def minimize_as_published(
    problem: Problem, session: PrivacySession, batch_size: int | None = None
) -> Solution:
    """Return what the authors' loop returns, with their constants.

    Raises InvalidInputError, before anything is charged, for an l2 at which it need not converge.
    """
    if problem.l2 > 2 / _MAX_STEP:
        raise InvalidInputError(
            f"Expected l2={problem.l2:g} to be at most {2 / _MAX_STEP:g} with --as-published "
            "(as_published=): a step of the authors' code shrinks w by l2 times up to "
            f"{_MAX_STEP:g}, and diverges."
        )
    accountant = session.accountant
    epsilon = 0.5 * accountant.epsilon / _SPLITS
    rho_select = 0.5 * epsilon**2
    rho_gradient = epsilon**2 / (4 * math.log(1.25 / accountant.delta))
    rho = (
        math.sqrt(math.log(1 / accountant.delta) + accountant.epsilon)
        - math.sqrt(math.log(1 / accountant.delta))
    ) ** 2
    selection = PublishedNoisyMin(1 / epsilon / problem.relation.rows_changed)
    w, largest, taken, chosen = np.zeros(problem.n_features), _MAX_STEP, 0, []

    def batch(query: Query) -> Any:
        """Return the query over the batch of this step, or over all rows without one."""
        if batch_size is None:
            return query
        return PublishedBatch(query, batch_size, (_PUBLIC_SEED, taken))

    def measure(share: float) -> np.ndarray:
        """Return the noisy gradient at ``w``, of this much rho."""
        multiplier = 1 / math.sqrt(2 * share) / problem.relation.rows_changed
        query = ClippedGradientSum(problem, w, _CLIP, "l2", multiplier)
        gradient: np.ndarray = session.release(batch(query), Gaussian(multiplier))
        return gradient

    try:
        while rho > 0:
            first = gradient = measure(rho_gradient)
            rho -= rho_gradient
            steps, index = candidate_steps(largest, _CANDIDATES), 0
            while index == 0 and rho >= 0:
                direction = _published_direction(gradient, problem.l2, w)
                query = ClippedLossLine(problem, w, direction, steps, _CLIP)
                index = session.release(batch(query), selection)
                rho -= rho_select
                if index == 0:
                    before, rho_gradient = rho_gradient, (1 + _GAMMA) * rho_gradient
                    share = before / rho_gradient
                    gradient = share * first + (1 - share) * measure(rho_gradient - before)
                    rho -= rho_gradient - before
            if index > 0:
                if rho >= 0:
                    applied = steps[index - 1] * direction
                    w = round_parameters(w - applied, problem.raw_norm_bound)
                rho -= rho_gradient
                chosen.append(steps[index])
                taken += 1
                if taken % _TAU == 0:
                    largest, chosen = min((1 + _ETA) * max(chosen), _MAX_STEP), []
    except BudgetExceededError:
        if not session.ledger:
            raise
    return Solution(
        w=w,
        status="The published loop ended: its own budget is used up. Not private.",
        details={"steps_taken": taken, **_CONSTANTS},
    )

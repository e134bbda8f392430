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

from dpcore.errors import BudgetExceededError
from dpcore.plugin import (
    ClippedGradientSum,
    Gaussian,
    InvalidInputError,
    Problem,
    Solution,
    round_parameters,
    round_to,
)
from dpcore.plugin.parts import PureDpEvent, ScaledNoise, sealed
from dpcore_dp_agd.batch import PublishedBatch
from dpcore_dp_agd.descent import candidate_steps, unit_direction
from dpcore_dp_agd.loss_line import ClippedLossLine

if TYPE_CHECKING:
    from dpcore.plugin import PrivacySession
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
    return round_to(unit_direction(gradient) + l2 * w, Problem.DIRECTION_BITS)


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
    loop = _Loop(problem, session, batch_size)
    try:
        while loop.rho > 0:
            loop.step()
    except BudgetExceededError:
        if not session.ledger:
            raise
    return Solution(
        w=loop.w,
        status="The published loop ended: its own budget is used up. Not private.",
        details={"steps_taken": loop.taken, **_CONSTANTS},
    )


class _Loop:
    """The authors' loop: where it is, and what it thinks is left of its budget, ``rho``."""

    def __init__(self, problem: Problem, session: PrivacySession, batch_size: int | None) -> None:
        self._problem, self._session, self._batch_size = problem, session, batch_size
        accountant = session.accountant
        epsilon = 0.5 * accountant.epsilon / _SPLITS
        self._rho_select = 0.5 * epsilon**2
        self._rho_gradient = epsilon**2 / (4 * math.log(1.25 / accountant.delta))
        self.rho = (
            math.sqrt(math.log(1 / accountant.delta) + accountant.epsilon)
            - math.sqrt(math.log(1 / accountant.delta))
        ) ** 2
        self._selection = PublishedNoisyMin(1 / epsilon / problem.relation.rows_changed)
        self.w, self.taken = np.zeros(problem.n_features), 0
        self._largest, self._chosen = _MAX_STEP, list[float]()

    def step(self) -> None:
        """Select a step along the noisy gradient, measured again where none is better."""
        first = gradient = self._measured(self._rho_gradient)
        self.rho -= self._rho_gradient
        steps, index = candidate_steps(self._largest, _CANDIDATES), 0
        while index == 0 and self.rho >= 0:
            direction = _published_direction(gradient, self._problem.l2, self.w)
            query = ClippedLossLine(self._problem, self.w, direction, steps, _CLIP)
            index = self._session.release(self._batch(query), self._selection)
            self.rho -= self._rho_select
            if index == 0:
                gradient = self._measured_again(first)
        if index > 0:
            self._take(steps, index, direction)

    def _take(self, steps: np.ndarray, index: int, direction: np.ndarray) -> None:
        if self.rho >= 0:
            applied = steps[index - 1] * direction
            self.w = round_parameters(self.w - applied, self._problem.raw_norm_bound)
        self.rho -= self._rho_gradient
        self._chosen.append(steps[index])
        self.taken += 1
        if self.taken % _TAU == 0:
            self._largest = min((1 + _ETA) * max(self._chosen), _MAX_STEP)
            self._chosen = []

    def _measured_again(self, first: np.ndarray) -> np.ndarray:
        """Return the mean of the first measurement and one more, of more rho from now on."""
        before, self._rho_gradient = self._rho_gradient, (1 + _GAMMA) * self._rho_gradient
        more, share = self._rho_gradient - before, before / self._rho_gradient
        gradient = share * first + (1 - share) * self._measured(more)
        self.rho -= more
        return gradient

    def _measured(self, share: float) -> np.ndarray:
        """Return the noisy gradient at ``w``, of this much rho."""
        multiplier = 1 / math.sqrt(2 * share) / self._problem.relation.rows_changed
        query = ClippedGradientSum(self._problem, self.w, _CLIP, "l2", multiplier)
        gradient: np.ndarray = self._session.release(self._batch(query), Gaussian(multiplier))
        return gradient

    def _batch(self, query: Query) -> Any:
        """Return the query over the batch of this step, or over all rows without one."""
        if self._batch_size is None:
            return query
        return PublishedBatch(query, self._batch_size, (_PUBLIC_SEED, self.taken))

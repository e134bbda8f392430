"""Algorithm 2 of Lee & Kifer 2018, on released values only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import BudgetExceededError
from dpcore.plugin import (
    ClippedGradientSum,
    Problem,
    Solution,
    noise_multiplier,
    ordered_dot,
    ordered_norm,
    round_parameters,
    round_to,
)
from dpcore_dp_agd.batch import Batch
from dpcore_dp_agd.loss_line import ClippedLossLine

if TYPE_CHECKING:
    from dpcore.plugin import PrivacySession
    from dpcore.plugin.parts import Query
    from dpcore_dp_agd.plan import RunPlan

__all__ = ["Descent", "candidate_steps", "unit_direction"]


def candidate_steps(largest: float, count: int) -> np.ndarray:
    """Return 0 and ``count`` step sizes up to about ``largest``, evenly spaced on the step grid."""
    step = max(2.0**-Problem.STEP_BITS, float(round_to(largest / count, Problem.STEP_BITS)))
    return np.arange(count + 1) * step


def unit_direction(v: np.ndarray) -> np.ndarray:
    """Return ``v / ||v||`` on the direction grid; zeros for zeros."""
    norm = ordered_norm(v)
    return round_to(v / norm, Problem.DIRECTION_BITS) if norm > 0 else np.zeros_like(v)


class Descent:
    """The state of one run: the point, the smoothed direction, the running average, the shares."""

    def __init__(self, plan: RunPlan, problem: Problem, session: PrivacySession) -> None:
        self._plan = plan
        self._problem = problem
        self._session = session
        self._multipliers: dict[tuple[Any, float], float] = {}
        self._w = np.zeros(problem.w_shape)
        self._average = np.zeros(problem.w_shape)
        self._smoothed = np.zeros(problem.w_shape)
        self._share = plan.gradient_share
        self._largest = plan.max_step
        self._chosen: list[float] = []
        self._remeasured = 0

    def minimize(self) -> Solution:
        """Return the fitted parameters when the filter has refused a release."""
        try:
            while True:
                self._step()
        except BudgetExceededError:
            if not self._session.ledger:
                raise
        details = {
            "steps_taken": len(self._chosen),
            "gradients_remeasured": self._remeasured,
            "clip": self._plan.clip,
            "max_step": self._plan.max_step,
        }
        return Solution(
            w=self._average if self._plan.options.averaging >= 0 else self._w,
            status="The budget is used up: the filter refused the next release.",
            details=details,
        )

    def _step(self) -> None:
        """Take one step, or raise BudgetExceededError and leave the point where it is."""
        measured, reach = self._share, self._largest * self._decay()
        gradient = self._measure(measured)
        while True:
            smoothed = self._plan.options.momentum * self._smoothed + self._regularised(gradient)
            direction = unit_direction(smoothed)
            steps = candidate_steps(reach, self._plan.options.candidates)
            chosen = self._select(direction, steps)
            if chosen > 0:
                break
            # Step size 0 won: measure again with the difference of the shares (GradAvg), and
            # weigh each measurement by what it cost, the inverse of its variance.
            self._share = measured * (1 + self._plan.options.gamma)
            again = self._measure(self._share - measured)
            gradient = (measured * gradient + (self._share - measured) * again) / self._share
            measured = self._share
            self._remeasured += 1
            reach *= self._plan.options.shrink
        self._smoothed = smoothed
        self._move(direction, float(steps[chosen]))

    def _move(self, direction: np.ndarray, step: float) -> None:
        """Take the step, average the points, and set the largest candidate of later steps."""
        self._w = round_parameters(self._w - step * direction, self._problem.raw_norm_bound)
        self._chosen.append(step)
        taken, options = len(self._chosen), self._plan.options
        if options.averaging >= 0:
            # Polynomial-decay averaging (Shamir & Zhang 2013, section 4): w_t weighs about t^eta.
            fresh = (1 + options.averaging) / (taken + options.averaging)
            self._average = (1 - fresh) * self._average + fresh * self._w
        if taken % options.tau == 0:
            largest = (1 + options.eta) * max(self._chosen[-options.tau :])
            self._largest = min(largest, self._plan.max_step)

    def _decay(self) -> float:
        """Return the factor on the largest candidate at this point of the planned run."""
        progress = min(1.0, len(self._chosen) / self._plan.steps)
        return 1.0 - self._plan.options.step_decay * progress

    def _measure(self, share: float) -> np.ndarray:
        """Return the noisy sum of clipped gradients, released at a cost of ``share``."""
        multiplier = self._multiplier(self._plan.gradient, share)
        mechanism = self._plan.gradient(multiplier)
        query = ClippedGradientSum(
            self._problem, self._w, self._plan.clip, mechanism.needs, multiplier
        )
        gradient: np.ndarray = self._session.release(self._batch(query), mechanism)
        return gradient

    def _select(self, direction: np.ndarray, steps: np.ndarray) -> int:
        """Return the index of a step size of small loss, released at the selection's share."""
        mechanism = self._plan.selection(
            self._multiplier(self._plan.selection, self._plan.selection_share)
        )
        query = ClippedLossLine(
            self._problem,
            self._w,
            direction,
            steps,
            self._plan.options.loss_clip,
            offset=self._penalties(direction, steps),
        )
        return int(self._session.release(self._batch(query), mechanism))

    def _batch(self, query: Query) -> Any:
        """Return the query over a batch, or over all rows where none is asked for."""
        sampled = self._plan.sampled
        return query if sampled == 1.0 else Batch(query, sampled)

    def _multiplier(self, mechanism: Any, share: float) -> float:
        """Return the noise multiplier of a release at this share, worked out once."""
        key = (mechanism, share)
        if key not in self._multipliers:
            self._multipliers[key] = noise_multiplier(
                self._session.accountant, mechanism.nominal_event, share
            )
        return self._multipliers[key]

    def _weight_of_l2(self) -> float:
        """Return n l2, n the rows of a batch by a public value or a released count."""
        return self._problem.l2 * (self._plan.n or 0.0) * self._plan.sampled

    def _regularised(self, gradient: np.ndarray) -> np.ndarray:
        """Return the gradient of the objective, the regulariser's part included."""
        return gradient + self._weight_of_l2() * self._w

    def _penalties(self, direction: np.ndarray, steps: np.ndarray) -> np.ndarray | None:
        """Return the regulariser at every candidate, ``None`` where there is none."""
        if self._problem.l2 == 0:
            return None
        points = self._w.reshape(-1) - steps[:, None] * direction.reshape(-1)
        return 0.5 * self._weight_of_l2() * ordered_dot(points, points)

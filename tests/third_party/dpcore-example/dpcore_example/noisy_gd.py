"""Noisy gradient descent: the plainest private optimizer there is."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import (
    ClippedGradientSum,
    Gaussian,
    InvalidInputError,
    RowCount,
    Slot,
    Solution,
    noise_multiplier,
)

if TYPE_CHECKING:
    from dpcore.plugin import PrivacySession, Problem

__all__ = ["NoisyGd"]


@dataclass(frozen=True, kw_only=True)
class NoisyGd:
    """Fits a linear model by ``steps`` gradient steps of equal noise.

    Privacy: each clipped gradient sum is a Gaussian release of l2 sensitivity ``clip``
    (add-or-remove-one) or ``2 clip`` (replace-one); the shares add up to the accountant's budget.
    """

    steps: int = field(default=60, metadata={"help": "number of steps", "unit": "steps"})
    clip: float = field(
        default=1.0, metadata={"help": "bound of a row's gradient", "unit": "row norms"}
    )
    rate: float = field(
        default=8.0, metadata={"help": "step size, for rows of norm 1", "unit": "norm of w"}
    )

    name: ClassVar[str] = "noisy-gd"
    slots: ClassVar[dict[str, Slot]] = {}
    relations: ClassVar[tuple[str, ...]] = ("add-or-remove-one", "replace-one")
    needs: ClassVar[tuple[str, ...]] = ()
    theorem: ClassVar[str] = "Gaussian mechanism (Bun & Steinke 2016, Prop. 1.6); costs add up"

    def __post_init__(self) -> None:
        if not (self.steps >= 1 and 0 < self.clip <= 1000 and 0 < self.rate <= 1000):
            raise InvalidInputError("Expected steps >= 1, and clip and rate between 0 and 1000.")

    def minimize(self, problem: Problem, session: PrivacySession) -> Solution:
        # One share for each step and one to count the rows, rounded so that the sum fits.
        share = math.nextafter(session.accountant.remaining / (self.steps + 1), 0)
        multiplier = noise_multiplier(session.accountant, Gaussian.nominal_event, share)
        mechanism = Gaussian(multiplier)
        n = problem.n_public or max(1.0, float(session.release(RowCount(), mechanism)[0]))
        clip, rate = self.clip * problem.row_norm, self.rate / problem.row_norm**2
        w = np.zeros(problem.n_features)
        for _ in range(self.steps):
            query = ClippedGradientSum(problem, w, clip, noise_multiplier=multiplier)
            gradient = session.release(query, mechanism) / n + problem.l2 * w
            w = w - rate * gradient
        return Solution(w, "All planned steps were taken.", {"steps_taken": self.steps})

"""An optimizer that keeps every rule: the cheats of the tests are made from it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcore.errors import BudgetExceededError, InvalidInputError
from dpcore.plugin import ClippedGradientSum, Gaussian, Solution


@dataclass(frozen=True, kw_only=True)
class Honest:
    """Noisy gradient descent with a fixed number of steps."""

    steps: int = 60
    clip: float = 1.5
    rate: float = 4.0

    slots: ClassVar[dict] = {}
    relations: ClassVar[tuple] = ("add-or-remove-one", "replace-one")
    needs: ClassVar[tuple] = ()

    def __post_init__(self):
        if not (0 < self.clip < 100 and 0 < self.rate < 100):
            raise InvalidInputError("Expected clip and rate between 0 and 100.")

    def minimize(self, problem, session):
        w = np.zeros(problem.w_shape)
        n = problem.n_public or 400
        share = session.accountant.budget / self.steps
        multiplier = float(np.sqrt(1 / (2 * share)) * (1 + 1e-12)) if share else 1e300
        try:
            for _ in range(self.steps):
                w = self.step(problem, session, w, multiplier, n)
        except BudgetExceededError:
            if not session.ledger:
                raise
        return Solution(w, "Done.")

    def query(self, problem, w, multiplier):
        return ClippedGradientSum(problem, w, self.clip, noise_multiplier=multiplier)

    def step(self, problem, session, w, multiplier, n):
        query = self.query(problem, w, multiplier)
        gradient = session.release(query, Gaussian(multiplier))
        return w - self.rate * (gradient / n + problem.l2 * w)

"""Rows held out of a search, and the session over them: scores with noise, or a choice.

Proof for the two sides. A unit (a row, where the schema has none) is in one side, trained on or
held out, by coins that do not depend on any row: its own coin where the number of units is private,
its place among all of them where that is public. Given the coins, two neighbours differ in one
side, by the same relation. So if, given the coins, what is released of one side is (epsilon,
delta)-DP whatever the other holds, and the other way round, all of it is: the coins' distribution
is the same on both tables, and P(S) <= e^epsilon P'(S) + delta holds for the mean where it holds
for each (parallel composition: McSherry 2009). The moment of a Renyi divergence is a mean over the
coins too. So each side has the whole budget, and not a part of it.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin import noise_multiplier
from dpcore.plugin.parts import PureAccountant, TableSession
from dpcore.plugin.steps import mechanism_for
from dpcore_accounting.selections.permute_and_flip import PermuteAndFlip
from dpcore_tuning.scores import HeldOutLosses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore.plugin import Accountant, Problem
    from dpcore.plugin.commands import Plan
    from dpcore.plugin.parts import Engine, NoiseSource

__all__ = ["HeldOut"]


class HeldOut:
    """Rows held out.

    Parameters
    ----------
    engine : over the rows, encoded.
    problem : public facts of them, as of those trained on, but for ``n``.
    measure : ``error`` or ``loss``, of the plan's loss: without weights of classes, and with those
        of rows where they have some.
    """

    def __init__(
        self, engine: Engine, plan: Plan, problem: Problem, measure: Any, noise: NoiseSource
    ) -> None:
        largest = plan.settings.weight_bound
        loss = plan.loss if largest is None else plan.with_weights(()).loss
        self._engine, self._problem, self._largest = engine, replace(problem, loss=loss), largest
        self._relation, self._measure, self._noise = plan.relation, measure, noise

    def score(self, w: np.ndarray, accountant: Accountant) -> float:
        """Return the score of a model, with noise that takes all of an empty filter."""
        mechanism = mechanism_for(accountant, Fraction(1))
        query = self._losses((w,), mechanism.needs)
        released = self._session(accountant).release(query, mechanism)
        return float(released[0])

    def choose(self, models: Sequence[np.ndarray], epsilon: float) -> int:
        """Return the place of a model whose score is among the largest, by permute-and-flip
        (McKenna & Sheldon 2020), which is epsilon-DP."""
        accountant = PureAccountant.from_budget(epsilon, 0.0)
        least = noise_multiplier(accountant, PermuteAndFlip.nominal_event, Fraction(epsilon))
        query = self._losses(tuple(models), "linf")
        chosen: int = self._session(accountant).release(query, PermuteAndFlip(least))
        return chosen

    def dry_run(self) -> None:
        """Load what a score needs; the rows are not asked."""
        zero = np.zeros(self._problem.w_shape)
        query = self._losses((zero,), "l1")
        self._session(PureAccountant.from_budget(1.0, 0.0)).dry_run(query)

    def _losses(self, models: tuple[np.ndarray, ...], norm: Any) -> HeldOutLosses:
        return HeldOutLosses(self._problem, models, self._measure, norm, self._largest)

    def _session(self, accountant: Accountant) -> TableSession:
        asked = self._engine, accountant, self._relation, self._noise
        return TableSession(*asked, problem=self._problem)

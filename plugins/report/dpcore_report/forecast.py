"""Forecasts of runs that have no data yet: which epsilon, or how many rows, a value asks for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError
from dpcore.plugin import Problem, Settings
from dpcore.plugin.commands import make_plan
from dpcore.plugin.parts import LossFacts
from dpcore.plugin.steps import mechanism_for

if TYPE_CHECKING:
    from dpcore.plugin import ExpectedUtility
    from dpcore.plugin.commands import Plan

__all__ = ["Forecast"]

_LEAST_EPSILON, _MOST_EPSILON = 1e-4, 100.0
_MOST_ROWS = 10**12
_CLOSE = 1.01
"""The ratio at which a search ends: two digits are shown."""


@dataclass(frozen=True)
class Forecast:
    """The runs of one kind: settings without an epsilon, and columns, the intercept's included.

    Parameters
    ----------
    rows_per_unit : the rows of a unit at most, where units of several are protected; the noise is
        then for as many times what a row changes, as that of a run over such a schema.
    classes : of a softmax loss.
    beside : the share of the budget for steps beside the fit, such as an evaluation and intervals.
    held_out : the share of the rows that are not trained on.
    """

    settings: Settings
    n_features: int
    rows_per_unit: int | None = None
    classes: int = 2
    beside: float = 0.0
    held_out: float = 0.0

    def __post_init__(self) -> None:
        k = self.rows_per_unit
        for name, share in (("shares of steps", self.beside), ("test_fraction", self.held_out)):
            if not 0 <= share < 1:
                raise InvalidInputError(f"Expected {name} of {share:g} in all, from 0 up to 1.")
        if self.classes < 2:
            raise InvalidInputError(f"Expected classes={self.classes!r} >= 2.")
        if k is not None and k < 1:
            raise InvalidInputError(f"Expected rows_per_unit={k!r} >= 1.")
        object.__setattr__(self, "settings", replace(self.settings, units=k is not None))
        if self.n_features < 1:
            raise InvalidInputError(f"Expected features={self.n_features!r} >= 1.")

    @property
    def asked(self) -> dict[str, Any]:
        """The run of the forecast, JSON-able: without the values that are the usual ones."""
        known, others = self.settings, ("rows_per_unit", "beside", "held_out")
        asked: dict[str, Any] = {"features": self.n_features, "delta": known.delta}
        asked |= {"relation": known.relation, "loss": known.loss}
        asked |= {"classes": self.classes} if self.classes > 2 else {}
        return asked | {name: value for name in others if (value := getattr(self, name))}

    @property
    def classification(self) -> bool:
        """Whether the loss is for classes."""
        return make_plan(replace(self.settings, epsilon=1.0)).loss.classification

    def utility(self, epsilon: float, rows: int) -> ExpectedUtility:
        """Return the expected utility of so many public rows.

        Raises InvalidInputError where the algorithm states none.
        """
        if not 1 <= rows <= _MOST_ROWS:
            raise InvalidInputError(f"Expected rows={rows!r} from 1 to {_MOST_ROWS:,}.")
        plan, problem = self._run(epsilon, max(1, round(rows * (1 - self.held_out))))
        utility = plan.utility_of(problem)
        if utility is None:
            raise self._not_stated()
        needed = math.ceil(utility.rows_needed / (1 - self.held_out))
        return replace(utility, rows_needed=needed)

    def memory(self) -> float:
        """Return the bytes that a run takes beside its rows, about; as text they are in words."""
        plan, problem = self._run(1.0, 1)
        return plan.memory_of(problem)

    def _run(self, epsilon: float, rows: int) -> tuple[Plan, Problem]:
        plan = make_plan(replace(self.settings, epsilon=epsilon))
        if self.beside:
            other = mechanism_for(plan.accountant, self.beside)
            cost = other.nominal_event(other.noise_multiplier)
            plan = replace(plan, accountant=plan.accountant.compose(cost))
        problem = Problem(
            loss=plan.loss,
            l2=0.0,
            n_features=self.n_features,
            row_norm=1.0,
            raw_norm_bound=1.0,
            relation=plan.relation,
            n0=rows,
            rows_per_unit=self.rows_per_unit,
            n_margins=self.classes if LossFacts.of(plan.loss).multiclass else 1,
        )
        return plan, problem

    def _not_stated(self) -> InvalidInputError:
        asked = self.settings
        return InvalidInputError(
            f"There is no forecast for the loss {asked.loss}, {self.n_features} features and delta "
            f"= {asked.delta:g}: expected a loss of classes, or ridge on 64 features at most, and "
            "delta > 0. For others dpcore compare measures on tables of your choice."
        )

    def kept(self, epsilon: float, rows: int) -> float:
        """Return the share of the gain without privacy that is kept."""
        return self.utility(epsilon, rows).kept or 0.0

    def rows_for(self, kept: float, epsilon: float) -> float:
        """Return the number of rows from which on that share is kept; infinite for none."""
        return _smallest(lambda n: self.kept(epsilon, math.ceil(n)) >= kept, 1, _MOST_ROWS)

    def epsilon_for(self, kept: float, rows: int) -> float:
        """Return the epsilon from which on that share is kept; infinite for none."""
        return _smallest(
            lambda epsilon: self.kept(epsilon, rows) >= kept, _LEAST_EPSILON, _MOST_EPSILON
        )


def _smallest(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Return the smallest value that holds, by halving of its logarithm; infinite for none."""
    if holds(low):
        return low
    if not holds(high):
        return math.inf
    while high > low * _CLOSE:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high

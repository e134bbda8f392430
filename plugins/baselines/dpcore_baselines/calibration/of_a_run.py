"""Counts of scores in a run of dp-gd, for a part of its budget, where they pay."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpcore.plugin import Gaussian, InvalidInputError, mechanism_in, noise_multiplier
from dpcore_baselines.calibration.counts_line import counts_line
from dpcore_baselines.calibration.labelled_scores import LabelledScores
from dpcore_baselines.descent.calibrate import can_be_calibrated

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin import Accountant, PrivacySession, Problem
    from dpcore_baselines.calibration.counts_line import CountsLine

__all__ = ["RULE", "SIGNAL", "CountedScores", "share_for"]

SIGNAL, FEWEST = 80.0, 1000
"""The signal u and the number of rows from which on counts pay.

Adult, bank and the classifications for development of ``bench/development.toml``: from u = 80 on
counts bring the log loss nearer to that of a refit on test rows, below it hardly any has rows
enough (``bench/probabilities.py``), and of fewer rows their own sample says too little. Shares of
0.03 to 0.1 differ little; where the signal is small, more of it pays."""
_FEW = 2.0**-10
_NOISY, _LEAST, _MOST = 17.0, 0.03, 0.1
RULE = (
    f"{_NOISY:g} / u, from {_LEAST:g} to {_MOST:g}, where log odds are calibrated, u >= {SIGNAL:g} "
    f"and there are {FEWEST:,} rows; else 0"
)
_ONLY = (
    "calibrate_share is for calibrated log odds and normal noise: the logistic loss of two "
    "classes, none fitted against the rest, of standardised columns with an intercept, and without "
    "weights, l2 or clip_unit."
)


def share_for(u: float, n: float) -> float:
    """Return the share for counts of what is left of the budget after moments; ``n`` : rows."""
    pays = u >= SIGNAL and n >= FEWEST
    return min(_MOST, max(_LEAST, _NOISY / u)) if pays else 0.0


@dataclass(frozen=True)
class CountedScores:
    """The release of the counts of a model's log odds, the last of its run.

    Parameters
    ----------
    asked : a share of what is left of the budget; ``None`` for the rule's.
    calibrated : whether log odds are, with counts or without.
    part : of the budget in its own unit, kept for the counts; 0 for none.
    among_all : returns the parameters of all columns of the rows, of those that the run is of.
    """

    problem: Problem
    session: PrivacySession
    asked: float | None
    calibrated: bool
    part: Fraction = Fraction(0)
    among_all: Callable[[np.ndarray], np.ndarray] = np.array

    @classmethod
    def of(
        cls, optimizer: Any, problem: Problem, session: PrivacySession, moments_share: float
    ) -> Self:
        """Return the release, after a dry run, that a dp-gd asks for; InvalidInputError where it
        asks for counts and there are no calibrated log odds, or no normal noise."""
        asked, by_row = optimizer.calibrate_share, optimizer.calibrated and not optimizer.clip_unit
        calibrated = by_row and moments_share > 0 and can_be_calibrated(problem)
        if asked and asked < _FEW:
            raise InvalidInputError(f"Expected calibrate_share={asked:g} to be 0, or >= {_FEW:g}.")
        if not (calibrated and mechanism_in(optimizer, "noise") is Gaussian):
            if asked:
                raise InvalidInputError(_ONLY)
            return cls(problem, session, 0.0, calibrated)
        if asked != 0:
            session.dry_run(LabelledScores(problem, np.zeros(problem.w_shape)))
        return cls(problem, session, asked, calibrated)

    def with_signal(
        self, u: float, n: float, among_all: Callable[[np.ndarray], np.ndarray]
    ) -> Self:
        """Return the release with what it is to have of what is left of the budget; ``n`` : the
        number of rows, public or released; ``among_all`` : as its field."""
        share = self.asked
        if share is None:
            share = share_for(u, n)
        part = Fraction(share) * Fraction(self.session.accountant.remaining)
        return replace(self, part=part, among_all=among_all)

    def left_by(self, accountant: Accountant) -> Fraction:
        """Return the share of what is left of the budget that is not kept."""
        return 1 - self.part / Fraction(accountant.remaining)

    def line(self, w: np.ndarray) -> CountsLine:
        """Return the line that the counts speak for, released now, for all that is left of the
        budget, at the coefficients ``w``."""
        accountant, relation = self.session.accountant, self.problem.relation
        left = Fraction(accountant.remaining)
        mechanism = Gaussian(noise_multiplier(accountant, Gaussian.nominal_event, left))
        query = LabelledScores(self.problem, self.among_all(w))
        counts = self.session.release(query, mechanism)
        # A unit's rows come and go one at a time (dpcore.session.unit_sensitivity); each moves
        # counts by 1.
        units = self.problem.rows_per_unit is not None
        moved = self.problem.rows_changed if units else query.sensitivity(relation).bound
        return counts_line(counts, mechanism.noise_multiplier * moved)

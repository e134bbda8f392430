"""The last release of a run of dp-gd, for a part of its budget: what calibrates log odds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpcore.plugin import (
    Gaussian,
    InvalidInputError,
    NeighboringRelation,
    mechanism_in,
    noise_multiplier,
)
from dpcore_baselines.calibration.counts_line import CountsLine, counts_line
from dpcore_baselines.calibration.labelled_scores import LabelledScores
from dpcore_baselines.calibration.level import level_of
from dpcore_baselines.calibration.positive_rows import PositiveRows
from dpcore_baselines.descent.calibrate import can_be_calibrated
from dpcore_baselines.descent.defaults import TELLING, tells_the_majority

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin import Accountant, PrivacySession, Problem

__all__ = ["RULE", "SIGNAL", "CountedScores", "share_for"]

SIGNAL, CLEAR, FEWEST = 80.0, 500.0, 1000
"""The signal u, or else n mu, and the number of rows from which on counts pay.

Adult, bank and the classifications for development of ``bench/development.toml``: from u = 80 on
counts bring the log loss nearer to that of a refit on test rows (``bench/probabilities.py``). Below
it rows enough for that are in tables of many columns alone: adult at 0.1 and 0.15, u = 45 and 66,
loses 0.006 to 0.012 of its log loss, others below n mu = 500 nothing beyond errors. Of fewer rows
than 1,000 their own sample says too little. Shares of 0.03 to 0.1 differ little; where the signal
is small, more of it pays."""
_FEW = 2.0**-10
_NOISY, _LEAST, _MOST = 17.0, 0.03, 0.1
_OF_LEVEL, _BY_GRADIENTS, _MOST_OF_LEVEL = 30.0, 30.0, 0.2
"""Elsewhere two numbers say how many rows are positive, and how many the model takes to be: the
noise of many columns hides it, and a model would be worse than the number of positive rows alone.
Their noise is 1 / n mu of the rows, were the budget theirs, and that of gradients 1 / u. Of fewer
rows than tell the commoner class, n mu < 60, they would need half of the budget."""
RULE = (
    f"where log odds are calibrated {_NOISY:g} / u, from {_LEAST:g} to {_MOST:g}, if u >= "
    f"{SIGNAL:g} or n mu >= {CLEAR:g}, and there are {FEWEST:,} rows; else, if n mu >= "
    f"{TELLING:g}, the less of ({_OF_LEVEL:g} / n mu)^2 and {_BY_GRADIENTS:g} / u^2, from "
    f"{_LEAST:g} to {_MOST_OF_LEVEL:g}, for the number of positive rows; else 0"
)
_ONLY = (
    "calibrate_share is for calibrated log odds and normal noise: the logistic loss of two "
    "classes, none fitted against the rest, of standardised columns with an intercept, and without "
    "weights, l2 or clip_unit."
)


def counts_pay(u: float, n: float, mu: float) -> bool:
    """Return whether counts by log odds say more than the number of positive rows; ``n`` and ``mu``
    as in ``share_for``."""
    return n >= FEWEST and (u >= SIGNAL or n * mu >= CLEAR)


def share_for(u: float, n: float, mu: float) -> float:
    """Return the share of what is left of the budget after moments; ``n`` : rows; ``mu`` : of the
    whole budget."""
    if counts_pay(u, n, mu):
        return min(_MOST, max(_LEAST, _NOISY / u))
    if tells_the_majority(n, mu):
        noisy = min((_OF_LEVEL / (n * mu)) ** 2, _BY_GRADIENTS / u**2)
        return min(_MOST_OF_LEVEL, max(_LEAST, noisy))
    return 0.0


@dataclass(frozen=True)
class CountedScores:
    """The release of the counts of a model's log odds, or of the number of positive
    rows beside what its probabilities say, the last of its run.

    Parameters
    ----------
    asked : a share of what is left of the budget for counts; ``None`` for the rules'.
    calibrated : whether log odds are, with a release or without.
    part : of the budget in its own unit, kept for the release; 0 for none.
    by_odds : whether counts are by log odds. ``n`` : the number of rows, public or released.
    u : the signal.
    among_all : returns the parameters of all columns of the rows, of those that the run is of.
    """

    problem: Problem
    session: PrivacySession
    asked: float | None
    calibrated: bool
    part: Fraction = Fraction(0)
    by_odds: bool = True
    n: float = 1.0
    u: float = 1.0
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
            for query in (LabelledScores, PositiveRows):
                session.dry_run(query(problem, np.zeros(problem.w_shape)))
        return cls(problem, session, asked, calibrated)

    def with_signal(
        self, u: float, n: float, mu: float, among_all: Callable[[np.ndarray], np.ndarray]
    ) -> Self:
        """Return the release with what it is to have of what is left of the budget.

        ``n`` : the number of rows, public or released. ``mu`` : of the whole budget. ``among_all``
        : as its field.
        """
        by_odds = self.asked is not None or counts_pay(u, n, mu)
        share = share_for(u, n, mu) if self.asked is None else self.asked
        part = Fraction(share) * Fraction(self.session.accountant.remaining)
        return replace(self, part=part, by_odds=by_odds, n=n, u=u, among_all=among_all)

    def left_by(self, accountant: Accountant) -> Fraction:
        """Return the share of what is left of the budget that is not kept."""
        return 1 - self.part / Fraction(accountant.remaining)

    def line(self, w: np.ndarray, spread: float) -> CountsLine:
        """Return the line that the release speaks for, made now for all that is left of the budget.

        ``w`` : the coefficients. ``spread`` : the deviation of their log odds, by what is known.
        """
        accountant, relation = self.session.accountant, self.problem.relation
        left = Fraction(accountant.remaining)
        mechanism = Gaussian(noise_multiplier(accountant, Gaussian.nominal_event, left))
        kind = LabelledScores if self.by_odds else PositiveRows
        query = kind(self.problem, self.among_all(w))
        counts = self.session.release(query, mechanism)
        moved = query.sensitivity(relation).bound
        if self.problem.rows_per_unit is not None:
            # A unit's rows come and go one at a time (dpcore.session.unit_sensitivity).
            one = NeighboringRelation.ADD_OR_REMOVE_ONE
            moved = self.problem.rows_changed * query.sensitivity(one).bound
        deviation = mechanism.noise_multiplier * moved
        if self.by_odds:
            return counts_line(counts, deviation)
        return CountsLine(level_of(counts, deviation, self.n, self.u, spread))

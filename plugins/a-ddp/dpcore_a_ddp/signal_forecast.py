"""The signal of a run, told before its first round from public values alone."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from dpcore.plugin import Problem
    from dpcore_a_ddp.pools.round_rules import GradientRounds

__all__ = ["SignalForecast"]

_DOMINATED = 2.0
"""Slopes of the logistic loss are a half where a run begins, so that the mean gradient is at most
half as long as it can be anywhere."""
_LONG = 5.0
_SECONDS_A_ROUND, _SECONDS_A_VALUE = 2e-4, 1e-8
"""Of one processor of 2023, about: for a forecast only."""


@dataclass(frozen=True)
class SignalForecast:
    """The values of a run that has been agreed on and not begun.

    Parameters
    ----------
    rounds : as many as the user who may join most may join.
    users : who may join the first.
    sampled, noise : what a round's mean gradient varies by, squared norms: by the sample at most,
        and by the noise.
    longest : bound of the norm of a record's gradient.
    n_values : noise values that the users draw in all.
    is_secure : whether the server gets sums alone.
    """

    rounds: int
    users: int
    sampled: float
    noise: float
    longest: float
    n_values: int
    is_secure: bool

    @classmethod
    def of(
        cls, problem: Problem, rules: GradientRounds, draws: np.ndarray, rounds: int
    ) -> SignalForecast:
        """Return the signal of users whose messages are expected to hold so many records each."""
        users, records = draws.size, float(draws.sum())
        shares = users / (rules.threshold - rules.colluding) if rules.is_secure else users
        return cls(
            rounds=rounds,
            users=users,
            sampled=rules.clip**2 / records,
            noise=problem.n_features * shares * rules.sigma**2 / records**2,
            longest=min(rules.clip, problem.loss.lipschitz * problem.row_norm),
            n_values=rounds * problem.n_features * (1 if rules.is_secure else users),
            is_secure=rules.is_secure,
        )

    @property
    def signal_to_noise(self) -> float:
        """How far the parameters get by gradients as long as they can be, all alike, over how far
        the noise of all rounds takes them: rounds against their root, whatever the step."""
        return self.longest * math.sqrt(self.rounds / self.noise) if self.noise else math.inf

    @property
    def warning(self) -> str:
        """A sentence where noise dominates; else empty."""
        if self.signal_to_noise >= _DOMINATED:
            return ""
        trust = "" if self.is_secure else ", --trust secure-aggregation"
        return (
            "noise dominates this run, as budgets, users, clip and rounds tell beforehand: in "
            f"{self.rounds:,} rounds it moves the parameters {1 / self.signal_to_noise:.2g} times "
            "as far as the longest gradients can; expect no more than the commoner class. A larger "
            f"epsilon{trust}, or more users may help."
        )

    @property
    def forecast(self) -> str:
        """A sentence where the run takes long; else empty."""
        seconds = _SECONDS_A_ROUND * self.rounds + _SECONDS_A_VALUE * self.n_values
        if seconds < _LONG:
            return ""
        shown = f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"
        return (
            f"{self.rounds:,} rounds of {self.users:,} users, as many as their filters hold: about "
            f"{shown} of processor time; a-ddp --set most_rounds=N ends it before."
        )

    def tell(self) -> None:
        """Tell whoever started the run, before anything is drawn."""
        for sentence in (self.forecast, self.warning):
            if sentence:
                logging.getLogger("dpcore").info("dpcore: %s", sentence)

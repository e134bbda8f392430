"""A guarantee as odds and attacks, in numbers and in sentences.

Every number is a bound: the most that an attacker can reach is rounded up, and the least down. The
formulas, with their proofs, are in ``dpcore_report.attack_bounds``.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any

from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import exact, exp_up, float_down, float_up
from dpcore_report.attack_bounds import Promise, percent_up, steps_of_a_value
from dpcore_report.gaussian_attack import GaussianPromise

__all__ = ["FALSE_ALARMS", "PRIORS", "Explained", "number_up"]

PRIORS = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2), Fraction(9, 10))
FALSE_ALARMS = (Fraction(1, 100), Fraction(1, 1000))
_EVEN = Fraction(1, 2)
_SEVERAL = 5
_CERTAIN = Fraction(99, 100)


@dataclass(frozen=True, slots=True)
class Explained:
    """The meaning of (epsilon, delta) under a relation.

    Parameters
    ----------
    epsilon, delta : the guarantee.
    relation : whose neighbours it is for.
    secret : a clause that someone is more or less sure about, "that you are in the table".
    holder : whose value it is, "your row".
    several : the things that one person may have several times, "rows".
    mu : of Gaussian differential privacy, where the guarantee is known to be of that too: bounds of
        attacks are the lower ones then. Exact or rounded up.
    """

    epsilon: float
    delta: float
    relation: NeighboringRelation
    secret: str = "that you are in the table"
    holder: str = "your row"
    several: str = "rows"
    mu: Fraction | None = None

    @property
    def presence(self) -> Promise:
        """The promise about neighbours: rows that are in the table, or are not."""
        return Promise(Fraction(self.epsilon), Fraction(self.delta))

    @property
    def value(self) -> Promise:
        """The promise about two values of the same rows."""
        return self.presence.of_group(steps_of_a_value(self.relation))

    def guessed(self, k: int = 1) -> Fraction:
        """Return how often a guess between two tables ``k`` neighbours apart is right, rounded
        up."""
        bounds = [self.presence.of_group(k).guessed()]
        if self.mu is not None:
            bounds.append(GaussianPromise(self.mu).of_group(k).guessed())
        return min(bounds)

    def caught(self, false_alarms: Fraction) -> Fraction:
        """Return which share of those in the table a test can name, rounded up."""
        bounds = [self.presence.caught(false_alarms)]
        if self.mu is not None:
            bounds.append(GaussianPromise(self.mu).caught(false_alarms))
        return min(bounds)

    def sentences(self) -> list[str]:
        """Return the guarantee in plain words."""
        few = FALSE_ALARMS[-1]
        several = self.presence.of_group(_SEVERAL)
        return [
            f"Someone who is 50 % sure {self.secret} can become {_bound(self.presence, ' sure')}.",
            f"Someone to whom two possible contents of {self.holder} are equally likely can become "
            f"{_bound(self.value, ' sure of one')}{self._why_value()}.",
            f"A guess {_whether(self.secret)}, after a fair coin decided it, is right at most "
            f"{percent_up(self.guessed())} of the time{self._by_mu()}. A test that is wrong in 1 "
            f"of {few.denominator:,} cases where the answer is no finds at most "
            f"{percent_up(self.caught(few))} of those where it is yes.",
            f"For a person with {_SEVERAL} {self.several} epsilon counts {_SEVERAL} times: 50 % "
            f"sure becomes {_bound(several)}.",
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as JSON-able data; shares between 0 and 1."""
        k = steps_of_a_value(self.relation)
        caught = [
            {"false_alarms": float(share), "caught_at_most": float_up(self.caught(share))}
            for share in FALSE_ALARMS
        ]
        return {
            "odds_factor_at_most": factor_up(self.presence),
            "in_the_table": _beliefs(self.presence),
            "a_value": {**_beliefs(self.value), "counts_epsilon": k},
            "guess_right_at_most": float_up(self.guessed()),
            "guess_of_a_value_right_at_most": float_up(self.guessed(k)),
            "tests": caught,
            "sentences": self.sentences(),
        }

    def _why_value(self) -> str:
        if steps_of_a_value(self.relation) == 1:
            return f". Under {self.relation.value} epsilon counts once for a value"
        return (
            f". Under {self.relation.value} epsilon counts twice for a value: the old one is "
            "removed and a new one added"
        )

    def _by_mu(self) -> str:
        return "" if self.mu is None else " (by the Gaussian noise that the filter allows)"


def _whether(secret: str) -> str:
    return f"whether{secret.removeprefix('that')}"


def _bound(promise: Promise, of_what: str = "") -> str:
    """Return what a belief of 50 % becomes at most: in a game that tells at least as much as the
    release, as ``dpcore_report.attack_bounds`` has it, unless its coin gives everything away. Where
    the coin is all but certain, there is no bound."""
    if promise.delta >= _CERTAIN:
        return f"100 %{of_what} (no bound is left)"
    bound = f"at most {percent_up(promise.surest(_EVEN))}{of_what}"
    if promise.delta == 0:
        return bound
    rarely = f"except with probability {number_up(promise.delta)}"
    return f"{bound} ({rarely}, in a game that reveals at least as much)"


def _beliefs(promise: Promise) -> dict[str, Any]:
    beliefs = [
        {
            "before": float(prior),
            "after_at_least": float_down(promise.least_sure(prior)),
            "after_at_most": float_up(promise.surest(prior)),
        }
        for prior in PRIORS
    ]
    return {
        "epsilon": float_up(promise.epsilon) if promise.epsilon < 2**1023 else None,
        "except_with_probability": float_up(promise.delta),
        "beliefs": beliefs,
    }


def factor_up(promise: Promise) -> float | None:
    """Return e^epsilon, rounded up; ``None`` above the floats."""
    return float_up(exp_up(promise.epsilon)) if promise.epsilon < 700 else None


def number_up(number: Fraction) -> str:
    """Return a number to three digits, rounded up; a float's own digits where they are fewer."""
    text = exact(float_up(number))
    above = Context(prec=3, rounding=ROUND_CEILING).plus(Decimal(text))
    return min(text, exact(float(above)), key=len)

"""Rules of rounds whose sums alone are opened: whose noise counts, what may fail, who sees what."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import float_down
from dpcore_a_ddp.secure_sums.parameters import SumParameters

__all__ = [
    "SumRules",
    "delta_of_rounds",
    "honest_of",
    "rounds_before_failure",
    "sums_of",
    "what_is_seen",
]

_RESERVE = Fraction(1, 128)
"""Of a user's delta, for rounds in which the neighbours that users drew were unfit."""


class SumRules(Protocol):
    """The rules of rounds as far as they are about sums; see ``GradientRounds``."""

    @property
    def threshold(self) -> int: ...
    @property
    def colluding(self) -> int: ...
    @property
    def listed(self) -> int: ...
    @property
    def neighbours(self) -> int: ...
    @property
    def masked(self) -> bool: ...
    @property
    def apart(self) -> bool: ...


def sums_of(rules: SumRules) -> SumParameters | None:
    """Return the parameters of the protocol that the rules are for; ``None`` where nobody's
    messages are read as masked, or the rules leave the protocol open.

    Raises InvalidInputError for parameters with which it proves nothing.
    """
    if not rules.listed:
        if rules.neighbours:
            raise InvalidInputError("Expected neighbours where the number of listed users is.")
        return None
    known = rules.listed, rules.colluding, rules.threshold
    if not rules.neighbours:
        return SumParameters.complete(*known)
    return SumParameters.drawn(*known, rules.neighbours)


def honest_of(rules: SumRules) -> int:
    """Return the smallest number of honest users in a sum that is opened: their shares of the noise
    make up what is charged, whoever else is in it."""
    parameters = sums_of(rules)
    return rules.threshold - rules.colluding if parameters is None else parameters.honest


def _failure(rules: SumRules) -> Fraction:
    parameters = sums_of(rules)
    return Fraction(0 if parameters is None else parameters.failure)


def delta_of_rounds(rules: SumRules, delta: float) -> float:
    """Return the part of a user's delta that its filter holds.

    A round's drawn neighbours are unfit with a probability of at most p (``secure_sums.failure``),
    whatever the rows are. So k rounds that are (epsilon, delta')-DP where they are fit are
    (epsilon, delta' + k p)-DP: the union bound. A 128th of delta is kept for k p, and
    ``rounds_before_failure`` is the k that it holds. With p = 0 all of delta is the filter's.
    """
    if not _failure(rules):
        return delta
    return float_down(Fraction(delta) * (1 - _RESERVE))


def rounds_before_failure(rules: SumRules, delta: float, most: int) -> int:
    """Return how many rounds, ``most`` at the most, the rest of a user's delta holds."""
    failure = _failure(rules)
    return min(most, int(Fraction(delta) * _RESERVE / failure)) if failure else most


def what_is_seen(rules: SumRules) -> str:
    """Return the clause of a statement that says what a server sees of secure sums."""
    parameters = sums_of(rules)
    shown = "each user adds a share of the noise, and the server sees who joins and "
    where = (
        "each user is a process of its own, which masks what it sends"
        if rules.apart
        else "all users and the server are in this process"
        if rules.masked
        else "in this process the masks are simulated"
    )
    if parameters is None:
        return (
            f"{shown}the sum over them, never of fewer than {rules.threshold} users; that holds as "
            f"long as at most {rules.colluding} of them collude; {where}"
        )
    sums = (
        "one sum over them"
        if parameters.is_complete
        else "sums over disjoint sets of them, one as a rule"
    )
    text = (
        f"{shown}{sums}, each of at least {parameters.honest} honest users, a share alpha = "
        f"{parameters.alpha:.3g} of the {parameters.users} listed; that holds against "
        "computationally bounded parties, in the random oracle model, the server among them, as "
        f"long as at most {parameters.colluding} listed users collude, whoever drops out (a sum is "
        f"opened while no more than {parameters.users - parameters.threshold} do)"
    )
    if parameters.failure:
        text += (
            f", and but for a probability of 2^-{parameters.failure_bits} in each round, which is "
            "counted in delta"
        )
    return f"{text}; {where}"

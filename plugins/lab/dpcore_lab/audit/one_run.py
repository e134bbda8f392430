"""The audit by one run: many made rows, each in the table by a coin of its own.

Theorem (Steinke, Nasr & Jagielski 2023, "Privacy Auditing with One (1) Training Run", arXiv
2305.08846v1: Corollary 5.4, as their appendix D computes it; the tests have two numbers that they
print). Let m rows be put in or left out by independent fair coins, and an (epsilon, delta)-
differentially private run, under add-or-remove-one, be followed by at most r guesses of coins, the
others abstained from. Then at least v guesses are right with probability at most

    P[B >= v] + 2 m delta max_{1 <= i <= v} P[v > B >= v - i] / i,

B binomial of r draws and probability 1 / (1 + e^-epsilon).

Why, without delta: given the output and the other coins, a coin is fair but for a factor e^epsilon,
so that a guess of it is right with probability 1 / (1 + e^-epsilon) at most, whatever the guesses
before it were; their sum is then below B in the stochastic order. With delta each coin's
distribution is such a one but on outcomes of total weight 2 m delta, on which i more guesses may be
right, and they are worst spent where i of them lift v - i to v: hence the division by i.

The maximum begins at 0, as theirs does. Conditions: the coins are independent and fair, and the
guesses depend on the output, not on the coins; the relation is add-or-remove-one, so that leaving a
row out is a neighbour, and what is known of the rows is the same whatever the coins are. Guesses
are those of the r/2 highest scores ("in") and of the r/2 lowest ("out"). r is fixed beforehand: a
best of several would need a correction.

Rounding: the tails are floats, raised by ``_SLACK`` times themselves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation
from dpcore_lab.audit.claim import ALARM, Claim

if TYPE_CHECKING:
    from dpcore_lab.audit.fits import Fits

__all__ = ["Guesses", "audit_one_run", "guesses", "least_epsilon", "p_value"]

_UNSURE = 0.05
_SLACK = 1e-9
_STEPS = 60


@dataclass(frozen=True)
class Guesses:
    """``right`` of ``guessed`` coins, of ``canaries`` in all, and what that says of a claim:
    ``epsilon`` at least, with 95 %. ``rows`` : the places of those in the table, of those that were
    guessed to be in it, and of those guessed not to be."""

    claim: Claim
    canaries: int
    guessed: int
    right: int
    epsilon: float
    is_violation: bool
    rows: dict[str, list[int]] = field(default_factory=dict)


def p_value(canaries: int, guessed: int, right: int, epsilon: float, delta: float) -> float:
    """Return the most probable that so many guesses are right, rounded up."""
    from scipy.stats import binom

    q = 1 / (1 + math.exp(-epsilon))
    tail = float(binom.sf(right - 1, guessed, q))
    below = np.cumsum(binom.pmf(right - np.arange(1, right + 1), guessed, q))
    steepest = float((below / np.arange(1, right + 1)).max(initial=0.0))
    return min(1.0, (tail + 2 * canaries * delta * steepest) * (1 + _SLACK))


def least_epsilon(canaries: int, guessed: int, right: int, delta: float) -> float:
    """Return the largest epsilon, rounded down, that these guesses rule out at 5 %."""
    low, high = 0.0, 64.0
    if p_value(canaries, guessed, right, low, delta) > _UNSURE:
        return 0.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if p_value(canaries, guessed, right, middle, delta) <= _UNSURE:
            low = middle
        else:
            high = middle
    return low


def audit_one_run(fits: Fits, canaries: int, seed: int | None) -> Guesses:
    """Return what one run over ``canaries`` rows, each along an axis of its own, says of a claim.

    Raises InvalidInputError under another relation, and for units.
    """
    if fits.plan.relation is not NeighboringRelation.ADD_OR_REMOVE_ONE:
        raise InvalidInputError(
            "One run is an audit under add-or-remove-one alone: its theorem leaves rows out."
        )
    if fits.request.rows_per_unit != 1:
        raise InvalidInputError("One run is an audit of rows: expected no units.")
    coins = np.random.default_rng(seed).random(canaries) < 0.5
    # Rows of the last class, each along its own axis, along which that class's parameters grow.
    w = fits.last_parameters(np.eye(canaries)[coins])
    order = np.argsort(w, kind="stable")
    half = max(1, canaries // 4)
    inside, outside = order[-half:], order[:half]
    right = int(coins[inside].sum() + (~coins[outside]).sum())
    rows = {"in": np.flatnonzero(coins), "guessed_in": inside, "guessed_out": outside}
    found = guesses(fits.claim, canaries, 2 * half, right)
    return replace(found, rows={name: sorted(at.tolist()) for name, at in rows.items()})


def guesses(claim: Claim, canaries: int, guessed: int, right: int) -> Guesses:
    """Return what so many right guesses say of a claim."""
    p = p_value(canaries, guessed, right, claim.epsilon, claim.delta)
    least = least_epsilon(canaries, guessed, right, claim.delta)
    return Guesses(claim, canaries, guessed, right, least, p <= ALARM)

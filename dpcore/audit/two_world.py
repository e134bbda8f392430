"""The audit of outcomes in two worlds: a table, and a neighbour of it.

A quarter of the runs looks for the pair of tables that is told apart best, a quarter learns a set
of outcomes on it (``statistic``), and half of them, fresh ones, are counted (``claim``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpcore.audit.claim import ALARM, Claim, Counts
from dpcore.audit.statistic import Statistic, learn, separation

__all__ = ["Draw", "Finding", "audit_worlds", "count_again"]

Draw = Callable[[int, int, int, int], np.ndarray]
"""Outcomes of a pair's table 0 or 1, from run ``first`` on, so many of them:
``draw(pair, world, first, runs)``, float64 of shape (runs, k). Runs of other numbers, tables and
pairs are independent."""

_FEWEST = 8


@dataclass(frozen=True)
class Finding:
    """The findings of an audit.

    Parameters
    ----------
    epsilon : at least, with 95 %.
    is_violation : whether the claim is contradicted, which happens to an honest one with
        probability ``ALARM`` over all ``tests`` of the audit.
    pair : the number of the pair of tables that the set was counted on.
    first : the number of the first run that was counted.
    """

    claim: Claim
    counts: Counts
    epsilon: float
    is_violation: bool
    pair: int
    statistic: Statistic
    first: int
    tests: int = 1


def audit_worlds(claim: Claim, draw: Draw, pairs: int, runs: int, tests: int = 1) -> Finding:
    """Return what ``runs`` runs, over both tables and all ``pairs`` together, say of a claim.

    ``tests`` : how many tests share ``ALARM``, this one included.
    """
    scouting = max(_FEWEST, runs // (8 * pairs)) if pairs > 1 else 0
    learning = max(_FEWEST, runs // 8 if pairs > 1 else runs // 4)
    testing = max(_FEWEST, runs // 4)
    best = 0
    if pairs > 1:
        apart = [separation(*(draw(k, w, 0, scouting) for w in (0, 1))) for k in range(pairs)]
        best = int(np.argmax(apart))
    here, there = (draw(best, world, scouting, learning) for world in (0, 1))
    statistic = learn(claim, here, there)
    return count_again(claim, draw, best, statistic, (scouting + learning, testing), tests)


def count_again(
    claim: Claim,
    draw: Draw,
    pair: int,
    statistic: Statistic,
    numbers: tuple[int, int],
    tests: int = 1,
) -> Finding:
    """Return what a set that is fixed already shows: ``numbers`` are the first run, and how many
    runs of either table are counted."""
    first, testing = numbers
    here, there = (draw(pair, world, first, testing) for world in (0, 1))
    counts = statistic.counts(here, there)
    return Finding(
        claim=claim,
        counts=counts,
        epsilon=claim.least_epsilon(counts),
        is_violation=claim.is_contradicted(counts, ALARM / tests),
        pair=pair,
        statistic=statistic,
        first=first,
        tests=tests,
    )

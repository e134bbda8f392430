"""The audit of outcomes in two worlds: a table, and a neighbour of it.

A quarter of the runs looks for the pair of tables that is told apart best, those on it and another
quarter learn a set of outcomes (``statistic``), and half of them, fresh ones, are counted
(``claim``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpcore_lab.audit.claim import ALARM, Claim, Counts
from dpcore_lab.audit.statistic import Statistic, learn, separation

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
    best, seen, first = _scouted(draw, pairs, runs // 4)
    learning = max(_FEWEST, runs // 8 if pairs > 1 else runs // 4)
    here, there = (
        np.concatenate([*seen[world], draw(best, world, first, learning)]) for world in (0, 1)
    )
    counted = (first + learning, max(_FEWEST, runs // 4))
    return count_again(claim, draw, best, learn(claim, here, there), counted, tests)


def _scouted(draw: Draw, pairs: int, runs: int) -> tuple[int, list[list[np.ndarray]], int]:
    """Return the pair of tables that is told apart best, its outcomes on either, and how many those
    are. The better half of the pairs goes on from each round to the next, and all rounds have as
    many runs (Karnin, Koren & Somekh 2013, "Almost Optimal Exploration in Multi-Armed Bandits")."""
    seen: list[list[list[np.ndarray]]] = [[[], []] for _ in range(pairs)]
    left, first, rounds = list(range(pairs)), 0, (pairs - 1).bit_length()
    for _ in range(rounds):
        each = max(_FEWEST, runs // (2 * rounds * len(left)))
        for k in left:
            for world in (0, 1):
                seen[k][world].append(draw(k, world, first, each))
        first += each
        apart = {k: separation(*(np.concatenate(parts) for parts in seen[k])) for k in left}
        left = sorted(left, key=lambda k: -apart[k])[: (len(left) + 1) // 2]
    return left[0], seen[left[0]], first


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

"""Probabilities with which the neighbours that users draw for themselves let a sum be too small.

A user draws k of the other n - 1 users, uniformly; c of all users collude with the server, and were
fixed before (static corruption). A draw fails in two ways.

*Held:* t_s of a user's share holders or more collude. Each user: a hypergeometric tail; all of
them: the union bound.

*Split:* a set S of honest users can be told apart from the others. Two honest users whose vectors
are in the set cannot be, while a mask that both added is unknown; and a user's self mask is
revealed only where ``present`` or more of its own k neighbours are in the set and were masked with.
So if S is opened by itself, each of its users drew ``present`` neighbours or more from S and the c
colluding ones. The draws of different users are independent: a set of s has the probability

    P[Hypergeometric(n - 1, s - 1 + c, k) >= present]^s,

and the union bound over all sets of s among the n - c honest users counts (n - c choose s) times
that. This is the argument of Bell et al. (CCS 2020, section 4) for a malicious server, with the
tails computed rather than bounded.
"""

from __future__ import annotations

import math
from functools import lru_cache

__all__ = ["log_held", "smallest_set"]

_SLACK = 2.0**-20
"""Bits that are added to each base-2 logarithm, a million times what ``math.log2`` may be off."""


def _log_tail(population: int, marked: int, draws: int, least: int) -> float:
    """Return the base-2 logarithm, rounded up, of the probability that ``least`` or more of so many
    draws without replacement are marked. The sum is of whole numbers."""
    if least <= max(0, draws - (population - marked)):
        return 0.0
    if least > min(draws, marked):
        return -math.inf
    others = population - marked
    term = math.comb(marked, least) * math.comb(others, draws - least)
    total = 0
    for i in range(least, min(draws, marked) + 1):
        total += term
        over = (i + 1) * (others - draws + i + 1)
        term = term * (marked - i) * (draws - i) // over if over else 0
    return min(0.0, math.log2(total) - math.log2(math.comb(population, draws)) + _SLACK)


def log_held(users: int, colluding: int, neighbours: int, shares: int) -> float:
    """Return the base-2 logarithm, rounded up, of the probability that some honest user has so many
    colluding share holders that they know its secrets."""
    return math.log2(users) + _SLACK + _log_tail(users - 1, colluding, neighbours, shares)


@lru_cache(maxsize=64)
def smallest_set(users: int, colluding: int, neighbours: int, present: int, bits: int) -> int:
    """Return the smallest number of honest users in a set that can be opened by itself, but with
    a probability of at most ``2**-bits``."""
    honest, sets, spent = users - colluding, 1, 0.0
    for size in range(1, honest + 1):
        sets = sets * (honest - size + 1) // size
        tail = _log_tail(users - 1, size - 1 + colluding, neighbours, present)
        excess = math.log2(sets) + _SLACK + size * tail + bits
        spent += 2.0 ** min(excess, 1.0) * (1 + _SLACK)
        if spent > 1:
            return size
    return honest

"""Tests of samples against independent draws, of both sides: too much in common, and too little."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

__all__ = [
    "MOST_APART",
    "assert_releases_are_apart",
    "assert_rows_are_apart",
    "assert_sizes_vary",
    "most_hits",
]

MOST_APART = 64
"""Releases are compared with those up to an epoch, or so many, later."""

_MATCHINGS = 8
_SEED = 16


@lru_cache
def most_hits(trials: int, p: float, level: float) -> int:
    """Return the most hits that Chernoff's bound gives a probability of ``level`` or more."""
    if not 0 < p < 1:
        return trials if p >= 1 else 0
    hits = np.arange(math.floor(trials * p), trials + 1)
    share = np.clip(hits / trials, 1e-300, 1.0)
    rest = np.clip(1 - share, 1e-300, 1.0)
    excess = share * np.log(share / p) + rest * np.log(rest / (1 - p))
    likely = np.flatnonzero(-trials * excess >= math.log(level))
    return int(hits[likely[-1]]) if likely.size else int(hits[0])


def assert_releases_are_apart(drawn: np.ndarray, p: float, level: float) -> None:
    """Raise AssertionError if a row in one sample is in a later one too often, or too rarely. So it
    would be with the batches of a shuffled table, which have no row in common before the epoch is
    over.

    Each release is in one pair of a distance at most, so that hits are independent; for draws
    without replacement they vary less (Hoeffding 1956, Theorem 3; 1963, section 6).
    """
    releases = len(drawn)
    apart = min(MOST_APART, math.ceil(1 / p), releases // 4)
    pairs = releases // 2 - apart
    for distance in range(1, apart + 1):
        first = np.flatnonzero(np.arange(releases - distance) // distance % 2 == 0)[:pairs]
        both = int(np.count_nonzero(drawn[first] & drawn[first + distance]))
        _assert_usual(
            both, first.size * drawn.shape[1], p * p, level / apart, "two samples have in common"
        )


def assert_rows_are_apart(drawn: np.ndarray, p: float, level: float) -> None:
    """Raise AssertionError if rows of a Poisson sample join together too often, or too rarely:
    neighbours in the table, rows half of it apart, and rows in pairs at random."""
    releases, n = drawn.shape
    rng = np.random.default_rng(_SEED)
    orders = [np.arange(n), np.arange(n).reshape(2, -1).T.ravel()]
    orders += [rng.permutation(n) for _ in range(_MATCHINGS - len(orders))]
    for order in orders:
        both = int(np.count_nonzero(drawn[:, order[::2]] & drawn[:, order[1::2]]))
        _assert_usual(
            both, releases * (n // 2), p * p, level / len(orders), "two rows are drawn together"
        )


def assert_sizes_vary(drawn: np.ndarray, p: float, level: float) -> None:
    """Raise AssertionError if a Poisson sample's size is too often, or too rarely, near its mean:
    the number of samples that are so far from it is compared with its binomial distribution."""
    from scipy.stats import binom

    releases, n = drawn.shape
    far = np.abs(drawn.sum(axis=1) - n * p)
    distribution, distances = binom.pmf(np.arange(n + 1), n, p), np.abs(np.arange(n + 1) - n * p)
    spread = math.sqrt(n * p * (1 - p))
    limits = [spread * factor for factor in (0.5, 1.0, 2.0, 3.0)] + [1e-6 * n]
    for limit in limits:
        share = min(1.0, float(distribution[distances > limit].sum()))
        hits = int((far > limit).sum())
        rare = min(binom.sf(hits - 1, releases, share), binom.cdf(hits, releases, share))
        assert rare >= level / (2 * len(limits)), (
            f"{hits} of {releases} samples have more than {limit:.3g} rows more or fewer than "
            f"usual, where a Poisson sample's would be about {releases * share:.3g}."
        )


def _assert_usual(hits: int, trials: int, p: float, level: float, words: str) -> None:
    fewest = trials - most_hits(trials, 1 - p, level / 2) if p < 1 else 0
    most = most_hits(trials, p, level / 2)
    assert fewest <= hits <= most, (
        f"How often {words} is not as in independent draws: {hits} times, not {fewest} to {most}."
    )

"""Checks of a sampled query: which rows it draws, against the event that it states."""

from __future__ import annotations

import copy
import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import DpcoreError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import (
    GaussianDpEvent,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
)
from dpcore_lab.checks.coverage_text import Tested
from dpcore_lab.checks.guard import require_assertions, require_frozen
from dpcore_lab.made_tables.places import (
    FEW,
    Places,
    hits_of,
    placed_rows,
    rare_order,
    with_units,
)
from dpcore_lab.made_tables.tables import made_of_problem
from dpcore_lab.outcomes.independence import (
    MOST_APART,
    assert_releases_are_apart,
    assert_rows_are_apart,
    assert_sizes_vary,
    most_hits,
)
from dpcore_lab.outcomes.power import PROBABILITY

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin import Problem
    from dpcore.plugin.parts import DpEvent, SampledQuery

__all__ = ["check_sampler"]

_ALARM = 1e-7
"""The chance, over the noise, that an honest sampler fails: all its tests together."""

_ROWS, _COINS = 256, 500_000
_RELATIONS = (NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE)
_TESTS, _LARGER, _LARGEST = 21, 4, 100_000
_MOST_PAIRED = 2048
_SEED = 15


def _made(make: SampledQuery | Callable[[Problem], SampledQuery]) -> Any:
    """Return the query, made from a problem of five features where it is not one yet."""
    if hasattr(make, "sampled_event") and not isinstance(make, type):
        return make
    return made_of_problem(make)


def check_sampler(
    make: SampledQuery | Callable[[Problem], SampledQuery], n_rows: int = _ROWS
) -> Tested:
    """Raise AssertionError unless a sampled query draws the rows as its event states.

    ``make`` : the query, or what makes one from a problem of five features. Another sum, which
    tells the rows apart, takes the place of its own. No row joins twice, nor more often than the
    event's probability; no two rows, and no two releases, have more in common than independent
    draws; no row is drawn again in a later sample, up to an epoch on, more rarely than by those; a
    Poisson sample's size varies as its distribution has it, with the probability that it states and
    no smaller one; and under the same noise rows of any content are drawn at the same places. A row
    may not be drawn by what it holds itself either: with coins of their own, up to the stated
    probability, amplification holds where they are independent between rows and releases, and under
    replace-one where the event covers a row's removal, which these samples do not tell. An honest
    sampler fails with probability 1e-7.

    ``n_rows`` : of the tables, where its event says no number. Of more than 2,048 rows pairs are
    looked at of the first, the last and some others. A Poisson sample is looked at over four times
    as many rows too, 100,000 at most, and, where it states ``draws_units``, over units of several
    rows, which join with all of their rows or with none.
    """
    require_assertions()
    sampler = _made(make)
    require_frozen(sampler)
    stated = _stated(_events(sampler), n_rows)
    places = _with_sum(sampler, Places(stated.n_rows))
    releases = max(40, min(2000, _COINS // stated.n_rows))
    drawn = hits_of(places, placed_rows(stated.n_rows), releases, _SEED)
    assert drawn.max(initial=0) <= 1 and drawn.min(initial=0) >= 0, (
        "A row is in one sample more than once."
    )
    _assert_content_is_ignored(places, stated.n_rows)
    _assert_as_stated(drawn.astype(bool), stated)
    _assert_no_kind_is_favoured(drawn, placed_rows(stated.n_rows).y, stated.p)
    _assert_rare_rows_are_usual(places, stated)
    larger = _looked_at_larger(sampler, stated)
    units = _looked_at_units(sampler, places, stated)
    sizes = "the sizes of samples, " if stated.independent else ""
    factor = _detectable(stated, drawn.size)
    return Tested(
        f"{releases:,} samples of {stated.n_rows:,} rows: how often each row, each two rows, and "
        f"each row in two samples, in a row or up to {MOST_APART} apart, were drawn, at a stated "
        f"probability of {stated.p:.3g}, {sizes}and the places drawn from rows of other content"
        f"{units}",
        f"would have detected, with probability {PROBABILITY}, {factor:.3g} times the stated "
        "probability"
        if math.isfinite(factor)
        else "",
        (
            "tables of other sizes",
            "ties of three rows or more",
            f"what samples more than an epoch, or {MOST_APART} releases, apart have in common",
            "the sum itself: check_query",
        ),
        (
            f"rows {stated.n_rows:,}{larger}",
            f"releases {releases:,}",
            f"probability {stated.p:.3g}",
        ),
    )


@dataclass(frozen=True)
class _Stated:
    """The distribution of a sample by its event: of ``n_rows``, a row is in it with probability
    ``p``, and two rows are with probability ``pair``; ``independent`` of each other or not."""

    n_rows: int
    p: float
    pair: float
    independent: bool


def _events(sampler: Any) -> list[DpEvent]:
    found = []
    for relation in _RELATIONS:
        try:
            found.append(sampler.sampled_event(GaussianDpEvent(1.0), relation))
        except DpcoreError:
            continue
    assert found, "It states no event under add-or-remove-one nor under replace-one."
    return found


def _stated(events: list[DpEvent], n_rows: int) -> _Stated:
    found = set()
    for event in events:
        match event:
            case PoissonSampledDpEvent(sampling_probability=p):
                found.add(_Stated(n_rows, p, p * p, independent=True))
            case SampledWithoutReplacementDpEvent(source_dataset_size=n, sample_size=size):
                pair = size * (size - 1) / (n * (n - 1)) if n > 1 else 0.0
                found.add(_Stated(n, size / n, pair, independent=False))
            case _:
                raise AssertionError(
                    f"It states a {type(event).__name__}, which says of no row how likely it joins."
                )
    assert len(found) == 1, "It states other samples under one relation than under another."
    return found.pop()


def _with_sum(sampler: Any, total: Places) -> Any:
    if dataclasses.is_dataclass(sampler):
        return dataclasses.replace(sampler, query=total)  # type: ignore[type-var]  # an instance
    changed = copy.copy(sampler)
    object.__setattr__(changed, "query", total)
    return changed


def _assert_content_is_ignored(places: Any, n: int) -> None:
    rng, whole = np.random.default_rng(_SEED), np.arange(n)
    first = hits_of(places, placed_rows(n), 30, _SEED + 1)
    half, one = whole.copy(), whole.copy()
    half[::2], one[n // 2] = half[::2][::-1], (n // 2 + 1) % n
    for order in (whole[::-1], rng.permutation(n), np.zeros_like(whole), half, one, rare_order(n)):
        again = hits_of(places, placed_rows(n, order), 30, _SEED + 1)
        assert np.array_equal(first, again), (
            "Under the same noise other rows are drawn where the rows hold something else."
        )


def _assert_no_kind_is_favoured(drawn: np.ndarray, labels: np.ndarray, p: float) -> None:
    """Raise AssertionError if rows of a label, or of a content as ``placed_rows`` has it, are drawn
    too often."""
    turn = np.arange(len(labels)) % 4
    kinds = [labels == label for label in np.unique(labels)] + [turn == k for k in range(4)]
    words = "rows of a kind are drawn more often than the"
    for some in (drawn[:, kind] for kind in kinds if kind.any()):
        _assert_at_most(some.sum(), some.size, p, _ALARM / (6 * _TESTS), words)


def _assert_rare_rows_are_usual(places: Any, stated: _Stated) -> None:
    """Raise AssertionError if the rows of a rare label, or the others, are drawn too often."""
    n, p = stated.n_rows, stated.p
    releases = max(40, min(200, _COINS // n))
    drawn = hits_of(places, placed_rows(n, rare_order(n)), releases, _SEED + 2)
    for some in (drawn[:, :FEW], drawn[:, FEW:]):
        if stated.independent and some.size:
            words = "rows of a rare label, or beside one, are drawn more often than the"
            _assert_at_most(some.sum(), some.size, p, _ALARM / (2 * _TESTS), words)


def _looked_at_larger(sampler: Any, stated: _Stated) -> str:
    """Look at a Poisson sample of more rows than its problem may lead it to expect; return them as
    the end of a range."""
    n = min(_LARGER * stated.n_rows, _LARGEST)
    if not stated.independent or n <= stated.n_rows:
        return ""
    places = _with_sum(sampler, Places(n))
    drawn = hits_of(places, placed_rows(n), max(40, min(200, _COINS // n)), _SEED + 3)
    _assert_as_stated(drawn.astype(bool), dataclasses.replace(stated, n_rows=n))
    return f" and {n:,}"


def _looked_at_units(sampler: Any, places: Any, stated: _Stated) -> str:
    """Look at units of several rows, where the sampler draws such; return that as a clause."""
    if not getattr(type(sampler), "draws_units", False) or not stated.independent:
        return ""
    rows = with_units(placed_rows(stated.n_rows))
    units = np.asarray(rows.units)
    drawn = hits_of(places, rows, max(40, min(200, _COINS // stated.n_rows)), _SEED + 4)
    beside = np.flatnonzero(units[1:] == units[:-1])
    assert np.array_equal(drawn[:, beside], drawn[:, beside + 1]), (
        "It states draws_units, and draws some rows of a unit without the others."
    )
    whole = drawn[:, np.flatnonzero(np.diff(units, prepend=-1))]
    words = "units of several rows are drawn more often than the"
    _assert_at_most(whole.sum(), whole.size, stated.p, _ALARM / _TESTS, words)
    return ", and units, each as a whole"


def _assert_as_stated(drawn: np.ndarray, stated: _Stated) -> None:
    """Compare numbers of hits with what independent draws have, by Chernoff's bound, which holds
    for draws without replacement too (Hoeffding 1963, section 6)."""
    releases, n = drawn.shape
    level = _ALARM / _TESTS
    _assert_at_most(drawn.sum(), drawn.size, stated.p, level, "rows are drawn more often than the")
    _assert_at_most(
        drawn.sum(axis=0), releases, stated.p, level / n, "a row is drawn more often than the"
    )
    twice = np.logical_and(drawn[0:-1:2], drawn[1::2])
    square, words = stated.p**2, "a sample has too much of the one before: not drawn afresh, by the"
    _assert_at_most(twice.sum(), twice.size, square, level, words)
    _assert_at_most(twice.sum(axis=0), len(twice), square, level / n, words)
    some = drawn[:, _places_of_pairs(n)]
    together = some.astype(np.float64).T @ some
    pairs = together[np.triu_indices(some.shape[1], 1)]
    words = "two rows are drawn together too often by the"
    _assert_at_most(pairs, releases, stated.pair, level / max(1, pairs.size), words)
    assert_releases_are_apart(drawn, stated.p, level)
    if stated.independent:
        assert_rows_are_apart(drawn, stated.p, level)
        assert_sizes_vary(drawn, stated.p, level)


def _places_of_pairs(n: int) -> np.ndarray:
    """Return the places of the rows whose pairs are counted."""
    if n <= _MOST_PAIRED:
        return np.arange(n)
    ends = _MOST_PAIRED // 4
    middle = np.random.default_rng(_SEED).choice(n - 2 * ends, 2 * ends, replace=False) + ends
    return np.sort(np.concatenate([np.arange(ends), middle, np.arange(n - ends, n)]))


def _assert_at_most(hits: Any, trials: int, p: float, level: float, words: str) -> None:
    most = most_hits(trials, p, level)
    assert (np.asarray(hits) <= most).all(), f"{words} stated probability allows."


def _detectable(stated: _Stated, trials: int) -> float:
    from scipy.stats import binom

    most = most_hits(trials, stated.p, _ALARM / _TESTS)
    factors = np.geomspace(1.0, max(1.0, 1 / stated.p), 2000)
    found = binom.sf(most, trials, np.minimum(stated.p * factors, 1.0)) >= PROBABILITY
    return float(factors[np.argmax(found)]) if found.any() else math.inf

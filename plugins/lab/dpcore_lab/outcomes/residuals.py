"""Residuals of additive releases: what was released minus the exact answer, which checks know.

An event says more of noise than how likely sets of outcomes are: that no single value of it is too
likely. Let an outcome v - x = z of the noise have probability p, whatever the exact answer x on the
grid. A shift of one coordinate by j steps, up to the D steps that the sensitivity allows, makes
neighbours; between them p becomes g(p) at least, where 1 - g(p) is the largest probability that the
event allows an outcome of probability 1 - p. So the 2 D values next to z have g(p) each, the
2 D behind those g(g(p)), and all of them together with z at most 1:

    p + 2 D (g(p) + g(g(p)) + ...) <= 1.

The p that solves it bounds the chance of a zero, and of two equal residuals: of two coordinates or
two releases, since a shift of one of them alone makes the same 2 D disjoint sets. A set of D values
in a row, as those within half a sensitivity of 0, has 2 such sets at each distance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin.parts import Sensitivity
from dpcore_lab.outcomes.frequencies import largest_probability
from dpcore_lab.outcomes.power import PROBABILITY
from dpcore_lab.recount.ledger import UnknownEventError
from dpcore_lab.replay.recording import QUESTION, REFERENCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dpcore.plugin.parts import DpEvent
    from dpcore_lab.replay.recording import Record, RecordingSession

__all__ = [
    "Residuals",
    "assert_noise_is_fresh",
    "largest_share",
    "faults_found",
    "recorded_residuals",
]

_FINE = 1e-3
"""Releases in which a zero, or a repeat, is likelier than this by right tell too little."""

_WIDE, _OWN = 1000, 0.05
"""Releases of so many coordinates are looked at by themselves too, for values that they have twice,
where that is no likelier by right: among all values of wide releases one comes twice too easily."""

_LAYERS = 60
_TESTS = 5
"""Tests of ``assert_noise_is_fresh``, which share its chance of a false alarm evenly."""


@dataclass(frozen=True)
class Residuals:
    """Residuals of releases under one event.

    Parameters
    ----------
    steps : ``v - x`` in grid steps, a whole number each: float64 of shape (n_releases, n).
    event : what one release costs.
    reach : how many steps one coordinate moves between neighbours.
    """

    steps: np.ndarray
    event: DpEvent
    reach: float

    @property
    def chances(self) -> tuple[float, float, float]:
        """The most likely that one release has a zero, that it repeats a value, and that a given
        coordinate is within half a sensitivity of 0."""
        (n_releases, n), one = self.steps.shape, self._one
        # As large as any value in this release or an earlier one, with either sign.
        pairs = 2 * n * n * n_releases
        return min(1.0, n * one), min(1.0, pairs * one), largest_share(self.event, 2)

    @property
    def chance_of_two_largest(self) -> float:
        """The most likely that one of the values is, with either sign, as large as the largest of
        the others: for each the disjoint sets are those above, with z that largest one."""
        return float(min(1.0, 2 * self.steps.size * self._one))

    @property
    def chance_within(self) -> float:
        """The most likely that one release repeats a value of its own, with either sign."""
        return float(min(1.0, self.steps.shape[1] ** 2 * self._one))

    @property
    def _one(self) -> float:
        return largest_share(self.event, 2 * int(self.reach)) if self.reach >= 1 else 1.0


@lru_cache(maxsize=256)
def largest_share(event: DpEvent, neighbours: int) -> float:
    """Return the largest p with p + neighbours (g(p) + g(g(p)) + ...) <= 1, to 1 %."""
    low, high = 1e-15, 1.0
    while high > 1.01 * low:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if _total(event, middle, neighbours) <= 1 else (low, middle)
    return high


def _total(event: DpEvent, p: float, neighbours: int) -> float:
    total = share = p
    for _ in range(_LAYERS):
        share = min(share, 1 - largest_probability(event, 1 - share))
        total += neighbours * share
        if total > 1 or share < 1e-13:
            break
    return total


def assert_noise_is_fresh(found: Iterable[Residuals], what: str, alarm: float) -> None:
    """Raise AssertionError if residuals are 0, repeat each other or are small more often than their
    events allow. An honest mechanism fails with probability ``alarm`` at most.

    Each release counts at most once, so that nothing is asked of how its coordinates hang together,
    and numbers of them are compared with the binomial distribution of the mean chance, which has
    the heavier tail (Hoeffding 1956, Theorem 4).
    """
    found = [each for each in found if each.steps.size]
    known = [(each, each.chances) for each in found]
    zeros = [((e.steps == 0).any(axis=1), c[0]) for e, c in known]
    repeats = [(_repeats(e.steps), c[1]) for e, c in known]
    small = [(np.abs(_one_each(e.steps)) < e.reach / 2, c[2]) for e, c in known]
    again = "has the noise of another coordinate or release"
    found_again = [
        e
        for e, (seen, chance) in zip(found, repeats, strict=True)
        if chance <= _FINE and seen.any()
    ]
    if all(_is_cut_off(each.steps) for each in found_again):
        again = "has noise of the largest size, as another has: it is cut off there"
    for faults, words in (
        (zeros, "is the exact answer in a coordinate: no noise"),
        (repeats, again),
    ):
        fine = [(seen, chance) for seen, chance in faults if chance <= _FINE]
        _assert_rare(fine, f"{what}: too often a release {words}", alarm / _TESTS)
    _assert_rare(small, f"{what}: the noise is too small for its event", alarm / _TESTS)
    tops = [(_has_two_largest(e.steps), e.chance_of_two_largest) for e in found]
    tops = [(seen, chance) for seen, chance in tops if chance <= _FINE]
    words = "the largest noise of many releases is there twice: it is cut off there"
    _assert_rare(tops, f"{what}: {words}", alarm / _TESTS)
    wide = [e for e, _ in known if e.steps.shape[1] >= _WIDE and e.chance_within <= _OWN]
    own = [(np.concatenate([_repeats(v[None]) for v in e.steps]), e.chance_within) for e in wide]
    again = "too often a release has the noise of another coordinate"
    _assert_rare(own, f"{what}: {again}", alarm / _TESTS)


def faults_found(found: Sequence[Residuals], alarm: float) -> str:
    """Return in words how rare exact answers and repeats may be that ``assert_noise_is_fresh``
    finds with probability .99, nothing where it finds none."""
    level = alarm / _TESTS
    shares = [_rarest([(len(e.steps), e.chances[k]) for e in found], level) for k in (0, 1)]
    words = [
        f"{fault} in one release of {math.floor(1 / share):,}"
        for fault, share in zip(("an exact answer", "repeated noise"), shares, strict=True)
        if share < 1
    ]
    return " and ".join(words)


def _rarest(releases: list[tuple[int, float]], level: float) -> float:
    from scipy.stats import binom

    fine = [(count, chance) for count, chance in releases if chance <= _FINE]
    n = sum(count for count, _ in fine)
    if n == 0:
        return 1.0
    mean = sum(count * chance for count, chance in fine) / n
    least = int(max(binom.isf(level, n, mean) + 1, math.ceil(n * mean + 1)))
    shares = np.geomspace(1 / n, 1, 400)
    return float(shares[np.argmax(binom.sf(least - 1, n, shares) >= PROBABILITY)])


def _assert_rare(seen: list[tuple[np.ndarray, float]], what: str, level: float) -> None:
    from scipy.stats import binom

    n = sum(hits.size for hits, _ in seen)
    if n == 0:
        return
    count = sum(int(hits.sum()) for hits, _ in seen)
    mean = sum(hits.size * chance for hits, chance in seen) / n
    allowed = count < n * mean + 1 or binom.sf(count - 1, n, min(mean, 1.0)) >= level
    assert allowed, f"{what} ({count} of {n} releases, where {n * mean:.2g} are expected at most)."


def _has_two_largest(steps: np.ndarray) -> np.ndarray:
    """Return, as an array of one, whether two values have the largest size."""
    sizes = np.abs(steps)
    return np.array([np.count_nonzero(sizes == sizes.max()) > 1])


def _repeats(steps: np.ndarray) -> np.ndarray:
    """Return which releases have a value, up to its sign, that came before: in their own earlier
    coordinates or in an earlier release."""
    flat = np.abs(steps).ravel()
    first = np.ones(flat.size, dtype=bool)
    order = np.argsort(flat, kind="stable")
    first[order[1:]] = flat[order[1:]] != flat[order[:-1]]
    repeated: np.ndarray = np.any(~first.reshape(steps.shape), axis=1)
    return repeated


def _is_cut_off(steps: np.ndarray) -> bool:
    """Return whether no value comes twice, up to its sign, but the largest, within a step."""
    sizes, counts = np.unique(np.abs(steps), return_counts=True)
    return bool((sizes[counts > 1] >= sizes[-1] - 1).all())


def _one_each(steps: np.ndarray) -> Any:
    """Return one coordinate of each release, another one each time."""
    n_releases, n = steps.shape
    return steps[np.arange(n_releases), np.arange(n_releases) % n]


def recorded_residuals(session: RecordingSession) -> list[tuple[type, Residuals]]:
    """Return the residuals of the additive releases of a run, those of one event together, with the
    class of the mechanism.

    Left out are releases of whose events the checks have no second count, and, since an interactive
    mechanism has no single exact answer, its own.
    """
    alike: dict[tuple[Any, ...], list[np.ndarray]] = {}
    started = [r for r in session.records if r.mechanism not in (QUESTION, REFERENCE)]
    for record, (_, mechanism) in zip(started, session.parts, strict=False):
        each = _residuals(record, mechanism) if hasattr(mechanism, "release") else None
        if each is not None:
            key = type(mechanism), each.event, each.reach, each.steps.size
            alike.setdefault(key, []).append(each.steps)
    return [
        (kind, Residuals(np.concatenate(steps), event, reach))
        for (kind, event, reach, _), steps in alike.items()
    ]


def _residuals(record: Record, mechanism: Any) -> Residuals | None:
    value, exact, known = record.value, record.exact, record.sensitivity
    shaped = isinstance(value, np.ndarray) and value.shape == exact.shape and exact.size > 0
    if not shaped or value.dtype != np.float64:
        return None
    event = mechanism.event(known)
    bound = known.bound if type(known) is Sensitivity else float(mechanism.bound_of(known))
    try:
        largest_probability(event, 0.5)
    except UnknownEventError:
        return None
    steps = np.ldexp(value.ravel(), known.grid_bits)
    if not (np.abs(steps) < 2.0**52).all() or not (np.abs(exact) < 2**52).all():
        return None  # floats of that size are coarser than the grid
    reach = float(np.floor(np.ldexp(bound, known.grid_bits)))
    return Residuals((steps - exact.ravel())[None, :], event, reach)

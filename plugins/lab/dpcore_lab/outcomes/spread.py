"""The audit of how widely noise is spread: in each coordinate, in sums of some, between releases.

Let t be a sum of some coordinates of the noise, each with a sign, and let an answer that moves by k
sensitivities move t by r steps at most: one coordinate by all of it, m of them by an equal share
each in the norm of the sensitivity. The outcomes within r/2 of the exact answer, and those that are
r, 2 r, ... steps away on either side, are disjoint. So their probability p, whatever the answer, is
at most what solves p + 2 (g(p) + g(g(p)) + ...) <= 1 (``dpcore_lab.outcomes.residuals``), g of the
event that k sensitivities have (``dpcore_lab.outcomes.far``).

It holds given the releases before: the number of releases of R in which one t is that small is at
most binomial, and the mean share of many, in [0, 1] each time, deviates as Hoeffding (1963, Theorem
1) has it, however the coordinates of one release hang together.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin.parts import SeededNoise
from dpcore_lab.outcomes.far import groups_of
from dpcore_lab.outcomes.residuals import largest_share
from dpcore_lab.outcomes.settings import Case, draw

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcore.plugin.parts import DpEvent

__all__ = ["audit_spread"]

_SHARES = (1.0, 2.0, 3.0)
"""Of the noise multiplier, how many sensitivities r is: about as many deviations of the noise."""
_MOST, _FEWEST, _AT_A_TIME = 500, 50, 10
"""Releases that are drawn at most, that a verdict needs, and between two looks at the clock."""
_LOOKED_AT = 1536
"""Coordinates that are looked at, at most: the first, the last and some within."""

Sums = tuple[str, int, np.ndarray]
"""In words what was added up, of how many coordinates, and the sums."""


@dataclass(frozen=True)
class _Width:
    """How far answers are apart, in sensitivities, and the share that noise may have within half of
    that."""

    apart: int
    share: float


def audit_spread(
    case: Case, distance: float, base: np.ndarray | None, seed: int, alarm: float, seconds: float
) -> int:
    """Raise AssertionError if noise is within half of what an answer moves by more often than the
    event allows; return the number of releases that were looked at.

    ``base`` : the exact answer, in steps; ``None`` for another one each time. ``seconds`` : of a
    processor, after which no more releases are drawn. An honest mechanism fails with probability
    ``alarm``.
    """
    widths = _widths(case.event, float(case.mechanism.noise_multiplier)) if case.known else []
    steps = math.floor(math.ldexp(distance, case.sensitivity.grid_bits))
    if not widths or steps < 1:
        return 0
    hits: dict[tuple[str, int, int], list[np.ndarray]] = defaultdict(list)
    last: np.ndarray | None = None
    for noise in _releases(case, base, seed, seconds):
        for words, size, sums in _sums(noise, last, case.setting.columns, base is not None):
            twice = 2 * np.abs(sums)
            for width in widths:
                reach = size * _share_of(size, width.apart * steps, case.sensitivity.norm)
                hits[words, size, width.apart].append(twice < reach)
        last = noise
    name = type(case.mechanism).__name__
    allowed = {width.apart: width.share for width in widths}
    level = alarm / max(1, 2 * len(hits))
    for (words, _, apart), found in hits.items():
        if len(found) >= _FEWEST:
            _assert_few(np.array(found), allowed[apart], level, f"{name}: the noise of {words}")
    return max(map(len, hits.values()), default=0)


def _widths(event: DpEvent, multiplier: float) -> list[_Width]:
    apart = dict.fromkeys(max(1, round(share * multiplier)) for share in _SHARES)
    return [_Width(k, largest_share(group, 2)) for k, group in groups_of(event, apart)]


def _releases(
    case: Case, base: np.ndarray | None, seed: int, seconds: float
) -> Iterator[np.ndarray]:
    """Yield the noise of releases from one source, one after the other, in steps."""
    rng, noise = np.random.default_rng(seed), SeededNoise(seed)
    ended = time.process_time() + seconds
    for k in range(_MOST if base is None else _MOST // 2):
        if k % _AT_A_TIME == 0 and time.process_time() > ended:
            return
        size = case.setting.size
        exact = rng.integers(-(1 << 44), 1 << 44, size) if base is None else base
        yield draw(case, exact[None], noise)[0] * 2.0**case.sensitivity.grid_bits - exact


def _sums(noise: np.ndarray, last: np.ndarray | None, columns: int, few: bool) -> Iterator[Sums]:
    """Yield sums of coordinates whose noise is to be wide: each by itself, of two that are beside
    each other, half the answer, a row of a matrix or its whole length apart, of all, and with the
    release before. ``few`` : each by itself, and all."""
    n = noise.size
    some = _some(n)
    yield "a coordinate", 1, noise[some]
    signs = np.where(np.arange(n) % 2, -1.0, 1.0)
    parts = (noise.sum(), (signs * noise).sum(), noise[: n // 2].sum() - noise[n // 2 :].sum())
    yield "all coordinates, their sum,", n, np.array(parts)
    if few:
        return
    if last is not None:
        yield "a release, beside that of the one before,", 1, noise[some] - last[some]
        yield "a release, with that of the one before,", 1, noise[some] + last[some]
    if n == 1:
        return
    partners = {"beside each other": some + 1, "half the answer apart": some + n // 2}
    partners["as far from the ends"] = np.where(2 * some < n - 1, n - 1 - some, n)
    if columns:
        partners["of a column"] = some + columns
    for words, others in partners.items():
        within = others < n
        one, two = noise[some[within]], noise[others[within]]
        yield f"two coordinates {words}, their difference,", 2, one - two
        yield f"two coordinates {words}, their sum,", 2, one + two


@cache
def _some(n: int) -> np.ndarray:
    """Return the places that are looked at of so many coordinates."""
    if n <= _LOOKED_AT:
        return np.arange(n)
    ends = _LOOKED_AT // 3
    within = np.random.default_rng(n).choice(n - 2 * ends, ends, replace=False) + ends
    return np.concatenate([np.arange(ends), np.sort(within), np.arange(n - ends, n)])


def _share_of(size: int, steps: int, norm: str) -> int:
    """Return by how many steps each of so many coordinates moves where all move alike, by ``steps``
    in the norm."""
    of_each = {"l2": math.isqrt(steps * steps // size), "l1": steps // size, "linf": steps}
    return of_each[norm]


def _assert_few(hits: np.ndarray, share: float, level: float, what: str) -> None:
    """Raise AssertionError if one of several sums, or all of them in the mean, is too small in too
    many releases. ``hits`` : bool of shape (n_releases, n_sums)."""
    from scipy.stats import binom

    releases, n = hits.shape
    most = binom.isf(level / n, releases, share)
    mean = float(hits.mean())
    is_much = mean > share and releases * _relative_entropy(mean, share) > -math.log(level)
    assert not is_much and (hits.sum(axis=0) <= most).all(), (
        f"{what} is too small for its event: within what an answer moves in more than "
        f"{share:.3g} of the releases."
    )


def _relative_entropy(a: float, b: float) -> float:
    """Return that of two coins."""
    rest = (1 - a) * math.log((1 - a) / (1 - b)) if a < 1 else 0.0
    return a * math.log(a / b) + rest

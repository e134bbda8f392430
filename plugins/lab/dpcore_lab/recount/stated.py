"""Releases that state a bound counted again, and pure ones by basic composition: in floats, by
brute force where the accountants use closed forms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin.parts import (
    ApproximateDpEvent,
    ComposedDpEvent,
    DominatingPairDpEvent,
    ExponentialMechanismDpEvent,
    ExPostDpEvent,
    LaplaceDpEvent,
    PureDpEvent,
    RenyiDpEvent,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dpcore.plugin.parts import DpEvent

__all__ = [
    "divergence_between_orders",
    "divergence_of_distributions",
    "epsilon_of_distributions",
    "last_order",
    "own_delta",
    "pure_epsilon",
]


def own_delta(event: DpEvent) -> float:
    """Return the delta that a release has by itself, whatever its accountant."""
    if isinstance(event, ComposedDpEvent):
        return math.fsum(map(own_delta, event.events))
    return event.delta if isinstance(event, ApproximateDpEvent) else 0.0


def pure_epsilon(event: DpEvent) -> float:
    """Return the epsilon of a release at its own delta; ``inf`` where it has none."""
    match event:
        case (
            PureDpEvent(epsilon=e)
            | ExponentialMechanismDpEvent(epsilon=e)
            | ExPostDpEvent(epsilon=e)
            | ApproximateDpEvent(epsilon=e)
        ):
            return e
        case LaplaceDpEvent(noise_multiplier=m):
            return 1 / m
        case DominatingPairDpEvent(p=p, q=q):
            return epsilon_of_distributions(p, q, 0.0)
        case ComposedDpEvent(events=events):
            return math.fsum(map(pure_epsilon, events))
    return math.inf


def last_order(events: Iterable[DpEvent]) -> float:
    """Return the largest order at which all events have a Renyi divergence; ``inf`` for any."""
    largest = math.inf
    for event in events:
        if isinstance(event, ComposedDpEvent):
            largest = min(largest, last_order(event.events))
        elif isinstance(event, RenyiDpEvent):
            largest = min(largest, event.orders[-1])
    return largest


def divergence_between_orders(event: RenyiDpEvent, alpha: float) -> float:
    """Return the least of the chords of (order - 1) times the divergence, which is convex and 0 at
    order 1, over all pairs of points around ``alpha``; ``inf`` above the last."""
    points = [(1.0, 0.0)]
    points += [(a, (a - 1) * e) for a, e in zip(event.orders, event.epsilons, strict=True)]
    chords = [math.inf]
    for a, low in points:
        for b, high in points:
            if a < min(alpha, b) and alpha <= b * (1 + 1e-12):
                chords.append(low + (alpha - a) / (b - a) * (high - low))
    return min(chords) / (alpha - 1)


def divergence_of_distributions(event: DominatingPairDpEvent, alpha: float) -> float:
    """Return the larger of the two distributions' Renyi divergences, by sums of logarithms."""
    p, q = _logs(event.p), _logs(event.q)
    if np.isneginf(p).any() or np.isneginf(q).any():
        return math.inf
    both = [_log_sum(alpha * a + (1 - alpha) * b) for a, b in ((p, q), (q, p))]
    return max(both) / (alpha - 1)


def _log_sum(logs: np.ndarray) -> float:
    top = float(logs.max())
    return top + math.log(np.exp(logs - top).sum())


def epsilon_of_distributions(p: Sequence[float], q: Sequence[float], delta: float) -> float:
    """Return the least epsilon >= 0 at which neither distribution has more than ``delta`` above
    e^epsilon times the other, from the corners of their trade-off; ``inf`` if there is none."""
    return max(_epsilon_one_way(_logs(a), _logs(b), delta) for a, b in ((p, q), (q, p)))


def _epsilon_one_way(a: np.ndarray, b: np.ndarray, delta: float) -> float:
    a, b = a[~np.isneginf(a)], b[~np.isneginf(a)]
    order = np.argsort(b - a)  # the largest ratio first
    above, below = np.cumsum(np.exp(a[order])), np.cumsum(np.exp(b[order]))
    # delta(epsilon) is the largest of the lines above - e^epsilon below.
    with np.errstate(divide="ignore", invalid="ignore"):
        lines = np.log((above - delta) / below)
    reached = above > delta * (1 + 1e-12)
    return max(0.0, float(lines[reached].max())) if reached.any() else 0.0


def _logs(weights: Sequence[float]) -> np.ndarray:
    with np.errstate(divide="ignore"):
        logs: np.ndarray = np.log(np.array(weights, float) / math.fsum(weights))
    return logs

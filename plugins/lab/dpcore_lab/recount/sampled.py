"""Sampled Gaussian releases counted again: quadrature and scipy's distributions, in floats, where
the accountants use sums, chords and recurrences."""

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import (
    GaussianDpEvent,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dpcore.plugin.parts import DpEvent

__all__ = ["epsilon_by_hits", "epsilon_composed", "is_sampled", "sampled_divergence"]

_POINTS = 20_001
_MOST_HITS_SUMMED = 4096


def is_sampled(event: DpEvent) -> bool:
    return isinstance(event, PoissonSampledDpEvent | SampledWithoutReplacementDpEvent)


def sampled_divergence(event: DpEvent, alpha: float) -> float:
    """Return the Renyi divergence of a Poisson-sampled Gaussian by the trapezoidal rule, ``inf``
    where the formula does not hold (Mironov, Talwar & Zhang 2019, Theorem 4)."""
    if not (isinstance(event, PoissonSampledDpEvent) and isinstance(event.event, GaussianDpEvent)):
        return math.inf
    if event.relation is NeighboringRelation.REPLACE_ONE:
        return math.inf
    m, p = event.event.noise_multiplier, event.sampling_probability
    if alpha > 500 or alpha < 1 + 1e-4:  # more than it costs
        return max(alpha, 2.0) / (2 * m * m)
    z = np.linspace(-14 * m, alpha + 14 * m, _POINTS)
    log_ratio = np.logaddexp(math.log1p(-p) if p < 1 else -math.inf, math.log(p) + _shift(z, m))
    density = -z * z / (2 * m * m) - math.log(m * math.sqrt(2 * math.pi))
    logs: np.ndarray = alpha * log_ratio + density
    top = float(logs.max())
    total = float(np.exp(logs - top).sum()) * (z[1] - z[0])
    return max(0.0, (top + math.log(total)) / (alpha - 1))


def _shift(z: np.ndarray, m: float) -> np.ndarray:
    return (2 * z - 1) / (2 * m * m)


def _parameters(events: Iterable[DpEvent]) -> Counter[tuple[float, float]]:
    """Return how often each (noise multiplier, probability) occurs."""
    counts: Counter[tuple[float, float]] = Counter()
    for event in events:
        inner = getattr(event, "event", event)
        if not isinstance(inner, GaussianDpEvent):
            return Counter()
        p = getattr(event, "sampling_probability", 1.0)
        if isinstance(event, SampledWithoutReplacementDpEvent):
            p = event.sample_size / event.source_dataset_size
        counts[inner.noise_multiplier, p] += 1
    return counts


def _normal_delta(mu: Any, epsilon: float) -> Any:
    """Return the delta of a normal distribution whose mean moves by ``mu`` deviations, or of
    several."""
    from scipy.special import log_ndtr, ndtr

    a = epsilon / mu - mu / 2
    return ndtr(-a) - np.exp(epsilon + log_ndtr(-a - mu))


def epsilon_by_hits(events: Iterable[DpEvent], delta: float) -> float:
    """Return the epsilon of Theorem 1 of Cheng et al. 2020; ``inf`` for anything but Gaussian
    releases of one noise multiplier and probability."""
    from scipy.stats import binom

    counts = _parameters(events)
    if len(counts) != 1:
        return math.inf
    ((m, p), k), *_ = counts.items()
    low, high = (int(binom.ppf(q, k, p)) for q in (1e-30, 1 - 1e-16))
    hits = np.arange(max(low, 1), min(high + 30, k) + 1)
    if hits.size > _MOST_HITS_SUMMED:
        return math.inf
    weights = binom.pmf(hits, k, p)

    def excess(epsilon: float) -> float:
        return float(weights @ _normal_delta(np.sqrt(hits) / m, epsilon)) - delta

    return _root(excess)


def epsilon_composed(events: Iterable[DpEvent], delta: float) -> float:
    """Return the epsilon of amplification and advanced composition (Balle, Barthe & Gaboardi 2018;
    Kairouz, Oh & Viswanath 2017), half of delta to either part; ``inf`` for other noise."""
    counts = _parameters(events)
    if not counts:
        return math.inf
    share = delta / (2 * sum(counts.values()))
    plain = mean = squares = 0.0
    for (m, p), count in counts.items():
        base = _root(partial(_excess, 1 / m, share / p))
        if base > 300:
            return math.inf
        epsilon = math.log1p(p * math.expm1(base))
        plain += count * epsilon
        mean += count * epsilon * math.tanh(epsilon / 2)
        squares += count * epsilon**2
    return min(plain, mean + math.sqrt(2 * squares * math.log(2 / delta)))


def _excess(mu: float, delta: float, epsilon: float) -> float:
    return float(_normal_delta(mu, epsilon)) - delta


def _root(excess: Callable[[float], float]) -> float:
    from scipy.optimize import brentq

    if excess(0.0) <= 0:
        return 0.0
    high = 1.0
    while excess(high) > 0:
        high *= 2
        if high > 600:
            return math.inf
    return float(brentq(excess, 0.0, high, xtol=1e-13))

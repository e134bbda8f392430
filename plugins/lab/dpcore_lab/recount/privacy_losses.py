"""Privacy losses counted again: probabilities of intervals and plain transforms, in floats without
bounds, on a finer grid than the accountant's."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import (
    ApproximateDpEvent,
    ComposedDpEvent,
    DominatingPairDpEvent,
    ExponentialMechanismDpEvent,
    ExPostDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    PoissonSampledDpEvent,
    PureDpEvent,
    RandomizedSensitivityGaussian,
    SampledWithoutReplacementDpEvent,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dpcore.plugin.parts import DpEvent

    Tails = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

__all__ = ["epsilon_of_losses"]

_FINE = 256
_MOST_POINTS = 2**20
_NONE_ABOVE = 1e-13


def epsilon_of_losses(events: Iterable[DpEvent], delta: float) -> float:
    """Return the epsilon at ``delta`` of all events together, by the distributions of their privacy
    loss.

    Both orders of the neighbours count; the result is ``inf`` where an event has no such
    distribution here.

    Examples
    --------
    >>> from dpcore.plugin.parts import GaussianDpEvent
    >>> from dpcore_lab.checks import epsilon_of_losses
    >>> print(f"{epsilon_of_losses([GaussianDpEvent(5.0)], 1e-6):.2f}")  # an estimate, no bound
    0.83
    """
    counts = Counter(leaf for event in events for leaf in _leaves(event))
    try:
        tails = [(_tails(event), count) for event, count in counts.items()]
    except LookupError:
        return math.inf
    if len(tails) == 1 and tails[0][1] == 1:
        return max(_one_release(each, delta) for each in tails[0][0])
    return max(_one_order([(both[k], n) for both, n in tails], delta) for k in (0, 1))


def _one_release(tails: Tails, delta: float) -> float:
    low, high = 0.0, 900.0
    for _ in range(100):
        middle = (low + high) / 2
        p, q = (float(distribution[0]) for distribution in tails(np.array([middle])))
        fits = p - (math.exp(middle + math.log(q)) if q else 0.0) <= delta
        low, high = (low, middle) if fits else (middle, high)
    return high if low else 0.0


def _leaves(event: DpEvent) -> list[DpEvent]:
    if isinstance(event, ComposedDpEvent):
        return [leaf for part in event.events for leaf in _leaves(part)]
    return [event]


def _one_order(tails: Sequence[tuple[Tails, int]], delta: float) -> float:
    rough = np.concatenate((-np.geomspace(1e-9, 900, 4000)[::-1], np.geomspace(1e-9, 900, 4000)))
    total, squares, mean, most = sum(n for _, n in tails), 0.0, 0.0, 0.0
    for each, count in tails:
        above = each(rough)[0]
        weights = -np.diff(above, append=0.0)
        weights[-1] = 0.0
        squares += count * float(weights @ rough**2)
        mean += count * float(weights @ rough)
        most = max(most, float(rough[np.flatnonzero(above > delta * 1e-7 / total + above[-1])][-1]))
    reach = most + abs(mean) + 12 * math.sqrt(squares)
    step = max(math.sqrt(squares / total) / _FINE, 2 * reach / _MOST_POINTS)
    step = 2.0 ** math.ceil(math.log2(step))  # Finer than a coarser one of that kind everywhere.
    points = 2 ** math.ceil(math.log2(2 * reach / step))
    product, infinite, x = np.ones(points // 2 + 1, complex), 0.0, step * np.arange(points)
    x[points // 2 :] -= points * step
    for each, count in tails:
        distribution, never = _distribution(each, np.sort(x), step)
        infinite += count * never
        product = product * np.fft.rfft(np.roll(distribution, points // 2)) ** count
    return _root(np.fft.irfft(product, points), x, delta - infinite)


def _distribution(each: Tails, x: np.ndarray, step: float) -> tuple[np.ndarray, float]:
    """Return the probabilities at the points, each interval's between its two ends so that both
    distributions keep it, and that of a loss above them."""
    p, q = each(x)
    here, other = -np.diff(p), -np.diff(q)
    with np.errstate(over="ignore", invalid="ignore"):
        shifted = np.where(other > 0, other * np.exp(np.minimum(x[:-1], 700.0)), 0.0)
    right = np.clip((here - shifted) / -math.expm1(-step), 0.0, here)
    distribution = np.append(here - right, 0.0)
    distribution[1:] += right
    distribution[0] += 1 - p[0]
    return distribution, float(p[-1])


def _root(distribution: np.ndarray, x: np.ndarray, delta: float) -> float:
    """Return the least epsilon >= 0 at which the distribution's delta is at most ``delta``."""
    if delta <= 0:
        return math.inf
    order = np.argsort(x)
    x, distribution = x[order], distribution[order]
    above = np.cumsum(distribution[::-1])[::-1]
    below = np.cumsum((distribution * np.exp(-np.clip(x, -30, None)))[::-1])[::-1]
    # delta(epsilon) = P(x > epsilon) - e^epsilon Q(x > epsilon); of the first x at which it fits,
    # the interval before it is a line in e^epsilon.
    start = int(np.searchsorted(x, 0.0))
    at = above[start:] - np.exp(x[start:]) * below[start:]
    first = int(np.argmax(at <= delta))
    if at[0] <= delta:
        return 0.0
    return math.log((above[start + first] - delta) / below[start + first])


def _tails(event: Any) -> tuple[Tails, Tails]:
    """Return P(L > x) and Q(L > x) of a dominating pair, for (P, Q) and for (Q, P)."""
    match event:
        case GaussianDpEvent(noise_multiplier=m):
            return _sampled(m, 1.0)
        case RandomizedSensitivityGaussian(deltas=deltas, weights=weights, sigma=s):
            total = sum(weights)
            return _mixture([(s / d, q / total) for d, q in zip(deltas, weights, strict=True)])
        case PoissonSampledDpEvent(sampling_probability=p, event=GaussianDpEvent() as inner):
            both = _sampled(inner.noise_multiplier, p)
            swapped = event.relation is NeighboringRelation.REPLACE_ONE
            return (_folded(both[0]),) * 2 if swapped else both
        case SampledWithoutReplacementDpEvent(event=GaussianDpEvent() as inner):
            p = event.sample_size / event.source_dataset_size
            if event.relation is NeighboringRelation.REPLACE_SPECIAL and p < 1:
                return _displaced(inner.noise_multiplier, p)
            return (_folded(_sampled(inner.noise_multiplier, p)[0]),) * 2
        case LaplaceDpEvent(noise_multiplier=m):
            return (_laplace(1 / m),) * 2
        case PureDpEvent(epsilon=e) | ExPostDpEvent(epsilon=e):
            return (_atoms((1 / (1 + math.exp(-e)), e), (1 / (1 + math.exp(e)), -e)),) * 2
        case ApproximateDpEvent(epsilon=e, delta=d):
            rest = (1 - d) / (1 + math.exp(-e)), (1 - d) / (1 + math.exp(e))
            return (_atoms((d, math.inf), (rest[0], e), (rest[1], -e)),) * 2
        case ExponentialMechanismDpEvent(epsilon=e):
            return (_bounded_range(e),) * 2
        case DominatingPairDpEvent(p=p, q=q):
            return _pair(p, q), _pair(q, p)
    raise LookupError


def _sampled(m: float, p: float) -> tuple[Tails, Tails]:
    from scipy.special import ndtr

    def where(x: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            u = np.where(x > 1, x + np.log1p(-(1 - p) * np.exp(-x)), np.log(np.expm1(x) + p))
        return m * m * np.where(np.isnan(u), -np.inf, u - math.log(p)) + 0.5

    def forth(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        y = where(x)
        return (1 - p) * ndtr(-y / m) + p * ndtr((1 - y) / m), ndtr(-y / m)

    def back(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        y = where(-x)
        return ndtr(y / m), (1 - p) * ndtr(y / m) + p * ndtr((y - 1) / m)

    return forth, back


def _mixture(parts: Sequence[tuple[float, float]]) -> tuple[Tails, Tails]:
    """Return the tails of a release that draws one of several noises and shows which."""
    each = [(_sampled(m, 1.0)[0], share) for m, share in parts]

    def tails(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p, q = (sum(share * distribution(x)[k] for distribution, share in each) for k in (0, 1))
        return np.asarray(p), np.asarray(q)

    return tails, tails


def _displaced(m: float, p: float) -> tuple[Tails, Tails]:
    """Return the tails of two neighbours as bad as any that are known: the row adds 1, a row in its
    place nothing, every other row -1, and the noise is m. A bound may be above their value, and
    must not be below it."""
    from scipy.special import ndtr

    def above(cut: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        both = (1 - p) * ndtr((-1 - cut) / m)
        return p * ndtr((1 - cut) / m) + both, p * ndtr(-cut / m) + both

    def cuts(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # With u = e^(y / m^2) the ratio is above t = e^x outside the roots of
        # p u^2 - t p e^(1 / 2 m^2) u + (1 - p) (1 - t).
        with np.errstate(all="ignore"):
            half = np.exp(x + 1 / (2 * m * m)) / 2
            rest = (1 - p) / p * -np.expm1(x)
            root = np.sqrt(half * half - rest)
            upper = m * m * np.log(half + root)
            lower = m * m * np.log(np.where(x < 0, rest / (half + root), 0.0))
        none = np.isnan(upper)
        return np.where(none, 0.0, lower), np.where(none, 0.0, upper)

    def forth(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        lower, upper = cuts(x)
        (p_low, q_low), (p_high, q_high) = above(lower), above(upper)
        return 1 - (p_low - p_high), 1 - (q_low - q_high)

    def back(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        lower, upper = cuts(-x)
        (p_low, q_low), (p_high, q_high) = above(lower), above(upper)
        return q_low - q_high, p_low - p_high

    return forth, back


def _folded(forth: Tails) -> Tails:
    """Return the tails of the pair whose curve is that of ``forth`` above 0, and its own other
    half."""

    def both(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p, q = forth(np.abs(x))
        return np.where(x >= 0, p, 1 - q), np.where(x >= 0, q, 1 - p)

    return both


def _laplace(t: float) -> Tails:
    def tails(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        inner = np.clip(x, -t, t)
        p = np.where(x >= t, 0.0, np.where(x < -t, 1.0, 1 - np.exp((inner - t) / 2) / 2))
        q = np.where(x >= t, 0.0, np.where(x < -t, 1.0, np.exp(-(inner + t) / 2) / 2))
        return p, q

    return tails


def _bounded_range(e: float) -> Tails:
    def tails(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        inner = np.clip(x, -e, e)
        q = np.expm1((e - inner) / 2) / math.expm1(e)
        p = -np.expm1((inner - e) / 2) / -math.expm1(-e)
        return np.where(x < -e, 1.0, p), np.where(x < -e, 1.0, q)

    return tails


def _pair(p: Sequence[int], q: Sequence[int]) -> Tails:
    shares = [(a / sum(p), b / sum(q)) for a, b in zip(p, q, strict=True)]
    logs = [(a, math.log(a / b) if b else math.inf) for a, b in shares if a]
    return _atoms(*logs)


def _atoms(*atoms: tuple[float, float]) -> Tails:
    """Return the tails of a loss with so much probability at each value."""

    def tails(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p = sum(share * (value > x) for share, value in atoms)
        q = sum(share * math.exp(-value) * (value > x) for share, value in atoms)
        return np.asarray(p, float), np.asarray(q, float)

    return tails

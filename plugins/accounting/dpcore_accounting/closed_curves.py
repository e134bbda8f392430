"""Curves of privacy losses in closed form, at x >= 0: see ``privacy_loss_curves``.

**Pure** e:  (e^e - e^x) / (1 + e^e)  for 0 <= x <= e, then 0; **(e, d)**:  d + (1 - d) times that
(Kairouz, Oh & Viswanath 2015).

**Bounded range** e:  (e^(e/2) - e^(x/2))^2 / (e^e - 1)  for 0 <= x <= e, then 0. The log-ratio of
two neighbours' distributions is in some [s, s + e], -e <= s <= 0: with a = e^s, E = e^e two
outcomes of ratios a and a E dominate them (``dpcore.accountants.gaussian_mu``), for which, with g =
e^x between, H = (1 - a) (E - g / a) / (E - 1). It is largest at a^2 = g / E, where it is the value
above (Dong, Durfee & Rogers 2020, section 4), convex in g. It is worse than any of them: of many
selections alone zCDP gives less.

**Laplace** noise that moves by t = 1 / noise_multiplier:  1 - e^((x - t) / 2)  for 0 <= x <= t,
then 0. Over coordinates that move by t_1 + t_2 = t, t_1 <= t_2, and so on: these are dominated by
a single one, moving by t. H of the two is the mean of H_2(x - L), L <= t_1 the loss of the first.
For 0 <= x <= t: x - L >= -t_2, where 1 - H_2(y) = min(1, e^((y - t_2) / 2)), at least
e^((x - t) / 2) as y >= x - t_1. Above t both are 0; the other halves follow.

**A pair** of two distributions over a few outcomes:  sum of max(0, p - e^x q), the larger of two
directions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpcore.plugin import ordered_sum
from dpcore.plugin.parts import (
    ApproximateDpEvent,
    DominatingPairDpEvent,
    DpEvent,
    ExponentialMechanismDpEvent,
    ExPostDpEvent,
    LaplaceDpEvent,
    PureDpEvent,
)
from dpcore_accounting.reproducible.array_functions import (
    FUNCTION_ERROR,
    SUM_ERROR,
    array_exp,
    array_expm1,
    array_log,
)

__all__ = ["CLOSED_CURVES", "MARGIN", "Bounds", "Half"]

MARGIN = 2.0**-44
"""Relative, of a closed form: a few operations, each right to 2^-50."""
_PAIR_ERROR = 2.0**-40
"""Of a difference of two logarithms, neither beyond ln 2^1000, and of the bounds' own width."""

Bounds = tuple[np.ndarray, np.ndarray]
Half = tuple[Callable[[np.ndarray], Bounds], float]
"""Bounds of H at an array of x >= 0, and the largest loss."""


def _widened(values: np.ndarray) -> Bounds:
    return values * (1 - MARGIN), values * (1 + MARGIN)


def _pure(event: PureDpEvent | ExPostDpEvent) -> Half:
    e = event.epsilon

    def up(x: np.ndarray) -> Bounds:
        left = np.clip(e - x, 0.0, None)
        return _widened(-array_expm1(-left) / (1 + math.exp(-e)))

    return up, e


def _approximate(event: ApproximateDpEvent) -> Half:
    inner, e = _pure(PureDpEvent(event.epsilon))
    d = event.delta

    def up(x: np.ndarray) -> Bounds:
        low, high = inner(x)
        return (d + (1 - d) * low) * (1 - MARGIN), (d + (1 - d) * high) * (1 + MARGIN)

    return up, e


def _bounded_range(event: ExponentialMechanismDpEvent) -> Half:
    e = event.epsilon

    def up(x: np.ndarray) -> Bounds:
        left = np.clip(e - x, 0.0, None) / 2
        return _widened(array_expm1(-left) ** 2 / -math.expm1(-e))

    return up, e


def _laplace(event: LaplaceDpEvent) -> Half:
    t = 1 / event.noise_multiplier * (1 + 2.0**-52)

    def up(x: np.ndarray) -> Bounds:
        return _widened(-array_expm1(-np.clip(t - x, 0.0, None) / 2))

    return up, t


def _pair(event: DominatingPairDpEvent) -> Half:
    """The larger of the two directions: which one a release has may change from one to the next.

    p and e^x q are right to ``FUNCTION_ERROR``, relative, so that beyond the largest finite ratio
    nothing is left but the outcomes that one distribution alone has.
    """
    p, q = (np.array([weight / sum(each) for weight in each], float) for each in (event.p, event.q))
    ratios = np.abs(array_log(p) - array_log(q))
    most = float(ratios[np.isfinite(ratios)].max(initial=0.0)) * (1 + MARGIN) + _PAIR_ERROR

    def up(x: np.ndarray) -> Bounds:
        factor = array_exp(x)[:, None]
        low, high = (
            np.maximum(*(ordered_sum(_excess(a, factor * b, sign)) for a, b in ((p, q), (q, p))))
            for sign in (-1.0, 1.0)
        )
        return low * (1 - 2 * SUM_ERROR), high * (1 + 2 * SUM_ERROR)

    return up, most


def _excess(here: np.ndarray, there: np.ndarray, sign: float) -> np.ndarray:
    """Return here - there where that is above 0, below it or, for a ``sign`` of 1, above it."""
    off = sign * FUNCTION_ERROR
    return np.clip(here * (1 + off) - there * (1 - off), 0.0, None)


CLOSED_CURVES: dict[type[DpEvent], Callable[[Any], Half]] = {
    PureDpEvent: _pure,
    ExPostDpEvent: _pure,
    ApproximateDpEvent: _approximate,
    ExponentialMechanismDpEvent: _bounded_range,
    LaplaceDpEvent: _laplace,
    DominatingPairDpEvent: _pair,
}

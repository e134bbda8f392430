"""Boundaries of the privacy loss along a path of normal noise: how much noise a level needs.

With noise of variance t the law of the answers on two neighbours, |f - f'| <= Delta in l2, has the
mu of normal laws mu = Delta / sqrt(t) apart, and along the path the privacy loss is, in the clock
u = mu^2 and under the table's own law, u/2 + W(u), W a Brownian motion: with B_t the noise
<f - f', B_t> / (Delta t) is W by inversion of time (Whitehouse, Ramdas, Wu & Rogers, NeurIPS 2022).
Levels may be looked at in order, and left at any of them, chosen from what was seen. What is
promised of loss(level) is: for all sets S of outcomes

    P(S) <= integral over S of e^(loss of the outcome's level) dP'  +  delta.

A pair of answers that are closer has a slower clock, and each boundary grows with u: it holds too.

``levels`` : of T levels each has a part delta / T. Outcomes that end at level t are a set of what
    levels 1..t show, a function of the answer with the noise of level t and of noise that does not
    depend on the rows: mu_t-GDP (Dong, Roth & Su 2022, Corollary 2.13, their delta(epsilon)) with
    that part of delta. The sets of different levels are disjoint: deltas add up.
``linear`` : P(W(u) >= a + b u for some u > 0) <= e^(-2ab), so that u/2 + a + b u with
    2ab = ln(1/delta) is passed with probability delta at most (Ville 1939, for the martingale
    exp(2b W(u) - 2b^2 u)); the set where it is not passed has the integral's bound.
``mixture`` : exp(x W(u) - x^2 u / 2), x ~ N(0, 1/r), is in the mean the martingale
    sqrt(r / (u + r)) exp(W(u)^2 / (2 (u + r))); so |W(u)| stays below
    sqrt(2 (u + r) ln(sqrt((u + r) / r) / delta)) but with probability delta (Ville; Robbins 1970).

A boundary that takes delta at each level by itself is none (a test has it as its broken twin).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import float_down, gaussian_deltas_up, log_up, sqrt_up

__all__ = ["BOUNDARIES", "least_clocks"]

_BISECTIONS = 80
_ROUNDS, _POINTS = 7, 65


@lru_cache(maxsize=32)
def least_clocks(losses: tuple[float, ...], delta: float, boundary: str) -> tuple[Fraction, ...]:
    """Return for each level the largest mu^2 found at which its loss holds, rounded down.

    ``losses`` : increasing, > 0. Raises InvalidInputError for a boundary that does not exist.
    """
    if boundary not in BOUNDARIES:
        raise InvalidInputError(
            f"Expected boundary={boundary!r} to be one of {', '.join(BOUNDARIES)}."
        )
    return BOUNDARIES[boundary](tuple(map(Fraction, losses)), Fraction(delta))


def _levels(losses: tuple[Fraction, ...], delta: Fraction) -> tuple[Fraction, ...]:
    part = float_down(delta / len(losses))
    return tuple(_clock_of_normal(float(loss), part) for loss in losses)


def _clock_of_normal(loss: float, delta: float) -> Fraction:
    """Return mu^2 of the largest mu found at which normal laws have ``delta`` at most, by upper
    bounds of their curve; 0 where none is found."""
    low, high = 0.0, 2.0 * loss**0.5 + 2.0 * loss + 10.0
    for _ in range(_ROUNDS):
        mus = np.linspace(low, high, _POINTS)
        holds = gaussian_deltas_up(mus, loss) <= delta
        last = int(np.flatnonzero(holds)[-1])
        low, high = float(mus[last]), float(mus[min(last + 1, _POINTS - 1)])
    return Fraction(low) ** 2


def _linear(losses: tuple[Fraction, ...], delta: Fraction) -> tuple[Fraction, ...]:
    inverse = log_up(1 / delta)
    # Least at the first level: a = b u there, and u/2 + sqrt(2 u ln(1/delta)) is its loss.
    tuned = _largest(lambda u: u / 2 + sqrt_up(2 * u * inverse), losses[0])
    b = sqrt_up(inverse / (2 * tuned))
    a = inverse / (2 * b)
    return tuple(_floored(max(Fraction(0), loss - a) / (Fraction(1, 2) + b)) for loss in losses)


def _mixture(losses: tuple[Fraction, ...], delta: Fraction) -> tuple[Fraction, ...]:
    inverse = log_up(1 / delta)
    # Between the first level's clock and the last one's, in the ratio that is about the best.
    r = _largest(lambda u: u / 2 + sqrt_up(2 * u * inverse), losses[0]) / (2 * inverse)

    def loss_at(u: Fraction) -> Fraction:
        whole = u + r
        return u / 2 + sqrt_up(2 * whole * (log_up(whole / r) / 2 + inverse))

    return tuple(_largest(loss_at, loss) for loss in losses)


def _largest(loss_at: Callable[[Fraction], Fraction], loss: Fraction) -> Fraction:
    """Return a large u whose loss, rounded up, is at most ``loss``, by bisection."""
    low, high = 0.0, 2.0 * float(loss) + 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2 if low else high / 1024
        if not low < middle < high:
            break
        holds = loss_at(Fraction(middle)) <= loss
        low, high = (middle, high) if holds else (low, middle)
    return Fraction(low)


def _floored(u: Fraction) -> Fraction:
    return Fraction(float_down(u))


BOUNDARIES: dict[str, Callable[[tuple[Fraction, ...], Fraction], tuple[Fraction, ...]]] = {
    "levels": _levels,
    "linear": _linear,
    "mixture": _mixture,
}
"""The boundaries by name, the default first."""

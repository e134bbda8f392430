"""The privacy loss along a path of normal noise: how much noise a level needs.

With noise of variance t the distribution of the answers on two neighbours, |f - f'| <= Delta in l2,
has the mu of normal distributions mu = Delta / sqrt(t) apart; u = mu^2 is the clock. Levels may be
looked at in order, and left at any of them, chosen from what was seen. What is promised of
loss(level) is: for all sets S of outcomes

    P(S) <= integral over S of e^(loss of the outcome's level) dP'  +  delta.

Of T levels each has a part delta / T. Outcomes that end at level t are a set of what levels 1..t
show, a function of the answer with the noise of level t and of noise that does not depend on the
rows: mu_t-GDP (Dong, Roth & Su 2022, Corollary 2.13, their delta(epsilon)) with that part of delta.
The sets of different levels are disjoint: deltas add up. A pair of answers that are closer has a
smaller mu, and the curve grows with mu: it holds too.

A bound that takes delta at each level by itself is none (a test has it as its broken twin). The
boundaries that hold at every moment of the path (Whitehouse, Ramdas, Wu & Rogers, NeurIPS 2022: a
line, a mixture) are tail bounds of a Brownian motion, and give away more.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpcore.plugin.parts import cached_by_value, float_down
from dpcore_accounting.gaussian_floats import gaussian_deltas_up

__all__ = ["least_clocks"]

_ROUNDS, _POINTS = 7, 65


@cached_by_value(maxsize=32)
def least_clocks(losses: tuple[float, ...], delta: float) -> tuple[Fraction, ...]:
    """Return for each level the largest mu^2 found at which its loss holds, rounded down.

    ``losses`` : increasing, > 0.
    """
    part = float_down(Fraction(delta) / len(losses))
    return tuple(_clock_of_normal(float(loss), part) for loss in losses)


def _clock_of_normal(loss: float, delta: float) -> Fraction:
    """Return mu^2 of the largest mu found at which normal distributions have ``delta`` at most, by
    upper bounds of their curve; 0 where none is found."""
    low, high = 0.0, 2.0 * loss**0.5 + 2.0 * loss + 10.0
    for _ in range(_ROUNDS):
        mus = np.linspace(low, high, _POINTS)
        holds = gaussian_deltas_up(mus, loss) <= delta
        last = int(np.flatnonzero(holds)[-1])
        low, high = float(mus[last]), float(mus[min(last + 1, _POINTS - 1)])
    return Fraction(low) ** 2

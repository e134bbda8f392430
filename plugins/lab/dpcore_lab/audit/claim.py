"""The claim that is audited, and what counted outcomes of two neighbouring tables say of it.

Let S be a set of outcomes that was fixed before the outcomes were counted, p and q its
probabilities on two neighbouring tables. Under (epsilon, delta)-differential privacy

    p <= e^epsilon q + delta,                                      (1)

and under mu-GDP, which is the stronger claim (Dong, Roth & Su 2022, Definition 2.1),

    p <= Phi(Phi^-1(q) + mu).                                      (2)

The counts of S are binomial, so Clopper & Pearson's (1934) bounds p- <= p and q <= q+ each fail
with the probability asked for. Both hold with 95 % where each fails with 2.5 %; then

    epsilon >= ln((p- - delta) / q+),    mu >= Phi^-1(p-) - Phi^-1(q+).

The second is used against a claim that is mu-GDP and against no other: of an honest Laplace
release of epsilon .4 it would say more than .4. The epsilon that is then reported is the one of
mu-GDP at the claim's delta (Balle & Wang 2018, Theorem 8).

Where a row takes part with probability r by a coin of its own, its table's distribution is (1 - r)
times the other's and r times that of a run in which it takes part, and (2) holds of that run:

    (p - (1 - r) q) / r <= Phi(Phi^-1(q) + mu),    p of the table that has the row.    (3)

The epsilon of a mu is then log(1 + r (e^e - 1)), e that of mu-GDP at delta / r (Balle, Barthe &
Gaboardi 2018, Theorem 8): it is attained where nobody else is there, and so is a claim, rounded up.

A claim is called violated where p- and q+ contradict (1), (2) or (3) at the level of ``ALARM`` over
the number of tests: false with probability ``ALARM`` at most, over all of them together.

Relation: whatever the two tables are neighbours under. Rounding: lower bounds are floats, brought
down by ``_SLACK`` times themselves, which is more than the error of these functions of scipy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpcore_lab.outcomes.frequencies import intervals

__all__ = ["ALARM", "BEYOND", "Claim", "Counts"]

ALARM = 1e-6
"""The chance that an honest claim is called violated, all tests of an audit together."""

BEYOND = 0.95
"""The share of a sampled row's answer beyond which outcomes are counted. Below 1 the row is counted
however small the noise is; at 1.5 a claim's own noise would show a little more, but a quarter of
it, or none, would never be found."""

_UNSURE = 0.025
_SLACK = 1e-9
_ABOUT = 3.0
_ALL = 1 - 2.0**-40
"""The largest share of a sampled row: it may come out above 1."""


@dataclass(frozen=True)
class Counts:
    """How often a set of outcomes came up, ``hits`` of ``runs``, on either table."""

    hits: int
    runs: int
    other_hits: int
    other_runs: int

    def bounds(self, level: float) -> tuple[float, float]:
        """Return p- and q+, each wrong with probability ``level`` at most."""
        low, _ = intervals(np.array([self.hits]), self.runs, level)
        _, high = intervals(np.array([self.other_hits]), self.other_runs, level)
        return float(low[0]) * (1 - _SLACK), min(1.0, float(high[0]) * (1 + _SLACK))


@dataclass(frozen=True)
class Claim:
    """(epsilon, delta)-differential privacy; with ``mu``, mu-GDP, which implies it, of a row that
    takes part with probability ``sampled``, on the table that ``Counts.hits`` are of."""

    epsilon: float
    delta: float
    mu: float | None = None
    sampled: float = 1.0

    def lower_bound(self, counts: Counts) -> float:
        """Return the mu that the release has at least, with 95 %, where mu is claimed, else its
        epsilon; 0 where nothing is shown."""
        least, most = counts.bounds(_UNSURE)
        if self.mu is not None:
            return self._least_mu(least, most) * (1 - _SLACK)
        shown = least - self.delta
        return max(0.0, math.log(shown / most) * (1 - _SLACK)) if shown > 0 else 0.0

    def least_epsilon(self, counts: Counts) -> float:
        """Return the epsilon of that bound."""
        bound = self.lower_bound(counts)
        if self.mu is None:
            return bound
        whole = _epsilon_of_mu(bound, self.delta / self.sampled)
        return math.log1p(self.sampled * math.expm1(whole)) * (1 - _SLACK)

    def about(self, p: float, q: float, runs: int) -> float:
        """Return about the bound that shares ``p`` and ``q`` of so many runs show, below 0 where
        they show nothing: for choosing a set, of many, so three deviations are taken off. No
        statement rests on it."""
        from scipy.special import ndtri

        least, most = (
            share + sign * _ABOUT * math.sqrt(max(share * (1 - share), 1 / runs) / runs)
            for share, sign in ((p, -1), (q, 1))
        )
        if self.mu is not None:
            inner = np.clip((least, most), 1e-9, 1 - 1e-9)
            return float(ndtri(inner[0]) - ndtri(inner[1]))
        return math.log(max(least - self.delta, 1e-9) / most)

    def is_contradicted(self, counts: Counts, level: float) -> bool:
        """Return whether the counts contradict it, falsely with probability ``level`` at most."""
        least, most = counts.bounds(level / 2)
        if self.mu is not None:
            return self._least_mu(least, most) > self.mu * (1 + _SLACK)
        return least > math.exp(min(self.epsilon, 700.0)) * most + self.delta + _SLACK

    def _least_mu(self, least: float, most: float) -> float:
        """Return the mu of (3), which is (2) of a row that takes part for certain."""
        return _mu((least - (1 - self.sampled) * most) / self.sampled, most)


def _mu(least: float, most: float) -> float:
    """Return the mu that two normals need for ``least`` on one where the other has ``most``."""
    from scipy.special import ndtri

    if least <= 0 or most >= 1:
        return 0.0
    return max(0.0, float(ndtri(min(least, _ALL)) - ndtri(most)))


def _epsilon_of_mu(mu: float, delta: float) -> float:
    """Return the smallest epsilon of mu-GDP at ``delta``, rounded down: of a mu that is smaller by
    more than what rounding up adds."""
    from dpcore.plugin.parts import GdpAccountant

    if mu <= 0 or delta <= 0:
        return 0.0
    return GdpAccountant.epsilon_up(Fraction(mu) ** 2, Fraction(delta)) * (1 - _SLACK)

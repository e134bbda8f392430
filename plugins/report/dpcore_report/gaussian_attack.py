"""Attacks on releases that are known to be mu-GDP: less succeeds than (epsilon, delta) allows.

mu-GDP (Dong, Roth & Su 2022) is (epsilon, delta)-DP at every epsilon >= 0, with the delta of
``GdpAccountant.delta_up`` (Balle & Wang 2018, Theorem 8), certified to be rounded up. So the bounds
of ``dpcore_report.attack_bounds`` hold at every epsilon, and any choice of epsilon is sound: at 0 a
guess is right as often as Phi(mu / 2), and at the epsilon where a normal test has so many false
alarms the bound of what it catches is the test's own. A group of k is (k mu)-GDP (group privacy, in
the same paper)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from dpcore.plugin.parts import GdpAccountant
from dpcore_report.attack_bounds import Promise

__all__ = ["GaussianPromise"]


@dataclass(frozen=True, slots=True)
class GaussianPromise:
    """mu-GDP: its mu, > 0, exact or rounded up."""

    mu: Fraction

    def of_group(self, k: int) -> GaussianPromise:
        """Return what holds for tables that are ``k`` >= 1 neighbours apart."""
        return GaussianPromise(k * self.mu)

    def guessed(self) -> Fraction:
        """Return how often a guess between two tables can be right, rounded up."""
        return self._at(Fraction(0)).guessed()

    def caught(self, false_alarms: Fraction) -> Fraction:
        """Return which share of those in the table a test can name, rounded up, if it names
        ``false_alarms`` of those who are not."""
        # The quantile only steers: a bound follows from any epsilon.
        quantile = Fraction(NormalDist().inv_cdf(1 - float(false_alarms)))
        least = self.mu * quantile - self.mu**2 / 2
        return self._at(max(Fraction(0), least)).caught(false_alarms)

    def _at(self, epsilon: Fraction) -> Promise:
        return Promise(epsilon, GdpAccountant.delta_up(self.mu, epsilon))

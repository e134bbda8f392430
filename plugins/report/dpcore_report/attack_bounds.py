"""The meaning of (epsilon, delta) to someone who wants to find out about a row: beliefs, attacks.

P and Q are the distributions of all that is released, over two neighbouring tables. For every set S
of outcomes P(S) <= e^epsilon Q(S) + delta, and the same with P and Q exchanged. Every number here
is rounded away from what protects: upwards where it is what an attacker can reach.

* *Belief*, delta = 0. By Bayes' theorem the odds of P move by P(o) / Q(o), which is at most
  e^epsilon and at least e^-epsilon: a belief p becomes at most p e^epsilon / (p e^epsilon + 1 - p).
* *Belief*, delta > 0. There are distributions P', Q' within e^epsilon of each other, both ways,
  such that P = (1 - delta) P' + delta P'' and Q = (1 - delta) Q' + delta Q'' (Kairouz, Oh &
  Viswanath 2015, "The Composition Theorem for Differential Privacy"; Murtagh & Vadhan 2016). So the
  release tells no more than a game does in which a coin of probability delta, the same for both
  tables, gives everything away, and otherwise the bound of delta = 0 holds: "except with
  probability delta". That is exact for the game; the outcome alone, without its coin, may go
  somewhat beyond the bound more often. Beyond odds of e^(epsilon + s) it goes with probability at
  most delta / (1 - e^-s): for the set S of such outcomes Q(S) <= e^-(epsilon + s) P(S), and P(S) <=
  e^epsilon Q(S) + delta.
* *Attacks* (Kairouz, Oh & Viswanath 2015; Wasserman & Zhou 2010, for delta = 0). A
  test says "P" on a set S; a = Q(S) are its false alarms. The two inequalities, for S and for what
  is not S, say P(S) <= e^epsilon a + delta and 1 - P(S) >= e^-epsilon (1 - a - delta). Their sum,
  the second as 1 - Q(S) <= e^epsilon (1 - P(S)) + delta, gives for a fair coin between the tables
  (P(S) + 1 - Q(S)) / 2 <= (e^epsilon + delta) / (e^epsilon + 1): how often a guess is right.
* *Groups*. Tables k neighbours apart: (k epsilon, delta (1 + e^epsilon + ... + e^((k-1) epsilon)))
  (Dwork & Roth 2014, Theorem 2.2, for delta = 0; induction on k for the delta: each step multiplies
  what it is given by e^epsilon and adds delta). Under add-or-remove-one a row replaced is a row
  removed and another added: a *value* is k = 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import exp_down, exp_up

__all__ = ["Promise", "percent_down", "percent_up", "steps_of_a_value"]

_MOST = 700
"""Above this epsilon e^epsilon exceeds all floats: attackers are taken to reach everything."""


@dataclass(frozen=True, slots=True)
class Promise:
    """(epsilon, delta), each exact or rounded up."""

    epsilon: Fraction
    delta: Fraction

    def of_group(self, k: int) -> Promise:
        """Return what holds for tables that are ``k`` >= 1 neighbours apart, delta rounded up."""
        delta = self.delta
        for _ in range(k - 1 if self.delta else 0):
            if self.epsilon > _MOST or delta >= 1:
                delta = Fraction(1)
                break
            delta = _shortened_up(exp_up(self.epsilon) * delta + self.delta)
        return Promise(k * self.epsilon, min(Fraction(1), delta))

    def surest(self, prior: Fraction) -> Fraction:
        """Return how sure someone can become who was sure to ``prior``, rounded up; with delta > 0
        but for a probability of delta."""
        if not 0 < prior < 1 or self.epsilon > _MOST:
            return Fraction(prior > 0)
        odds = exp_up(self.epsilon) * prior / (1 - prior)
        return odds / (1 + odds)

    def least_sure(self, prior: Fraction) -> Fraction:
        """Return how little sure they can become, rounded down; likewise."""
        return 1 - self.surest(1 - prior)

    def guessed(self) -> Fraction:
        """Return how often a guess between two tables, after a fair coin chose one, can be right,
        rounded up."""
        if self.epsilon > _MOST:
            return Fraction(1)
        # (x + delta) / (x + 1) increases in x, since delta <= 1.
        factor = exp_up(self.epsilon)
        return (factor + self.delta) / (factor + 1)

    def caught(self, false_alarms: Fraction) -> Fraction:
        """Return which share of those who are in the table a test can name, rounded up, if it names
        ``false_alarms`` of those who are not."""
        if self.epsilon > _MOST:
            return Fraction(1)
        few = exp_up(self.epsilon) * false_alarms + self.delta
        many = 1 - exp_down(-self.epsilon) * (1 - false_alarms - self.delta)
        return min(Fraction(1), few, many)


def steps_of_a_value(relation: NeighboringRelation) -> int:
    """Return how many neighbours apart two tables are that differ in one row's value alone."""
    return 1 if relation is NeighboringRelation.REPLACE_ONE else 2


def percent_up(share: Fraction) -> str:
    """Return a share in percent to a decimal, rounded up; below a tenth, to four at most."""
    return _percent(share, up=True)


def percent_down(share: Fraction) -> str:
    """Return a share in percent to a decimal, rounded down; below a tenth, to four at most."""
    return _percent(share, up=False)


def _percent(share: Fraction, *, up: bool) -> str:
    digits = 1
    while 0 < 100 * share * 10**digits < 1 and digits < 4:
        digits += 1
    scaled = 100 * share * 10**digits
    whole, part = divmod(int(-(-scaled // 1) if up else scaled // 1), 10**digits)
    return f"{whole}.{part:0{digits}} %" if part else f"{whole} %"


def _shortened_up(x: Fraction) -> Fraction:
    """Return a fraction of fewer digits that is no smaller: a group of thousands stays quick."""
    return Fraction(-(-(x * 2**1200) // 1), 2**1200)

"""Costs that a release states as a bound: the events of mechanisms that dpcore has no rule for.

Whoever states one has the proof of it. Each is about both orders of two neighbours: of tables D and
D' under the run's relation it bounds the distribution of the release on D against that on D', and
the other way round, whatever was released before. Values are rounded up.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpcore.errors import InvalidInputError
from dpcore.privacy.events import DpEvent, PositiveDpEvent
from dpcore.privacy.exact_copies import cached_by_value
from dpcore.privacy.renyi_conversion import (
    best_order,
    best_order_for_budget,
    best_order_for_report,
    budget_down,
    epsilon_up,
    slack,
)

__all__ = ["ApproximateDpEvent", "DominatingPairDpEvent", "RenyiDpEvent", "Shares", "ZcdpDpEvent"]

_LARGEST_TOTAL = 2**1000

Shares = tuple[tuple[Fraction, Fraction], ...]


@dataclass(frozen=True, slots=True)
class ZcdpDpEvent(PositiveDpEvent):
    """Any release that is ``rho``-zCDP (Bun & Steinke 2016, Definition 1.1): its Renyi divergence
    is at most ``alpha rho`` at every order alpha > 1.

    Examples
    --------
    >>> from dpcore.accountants.zcdp import ZcdpAccountant
    >>> from dpcore.plugin.parts import ZcdpDpEvent
    >>> float(ZcdpAccountant.from_budget(1.0, 1e-6).cost(ZcdpDpEvent(0.01)))
    0.01
    """

    rho: float


@dataclass(frozen=True, slots=True)
class RenyiDpEvent(DpEvent):
    """Any release whose Renyi divergence is at most ``epsilons[i]`` at order ``orders[i]``, with
    nothing known above the last order. Its static methods turn a divergence at an order into
    (epsilon, delta), and back (``dpcore.privacy.renyi_conversion``).

    Parameters
    ----------
    orders : finite, > 1, increasing; each exactly the order that its epsilon is about.
    epsilons : one for each order, finite and > 0.
    """

    orders: tuple[float, ...]
    epsilons: tuple[float, ...]

    best_order_for_budget = staticmethod(best_order_for_budget)
    best_order_for_report = staticmethod(best_order_for_report)
    best_order, budget_down = staticmethod(best_order), staticmethod(budget_down)
    epsilon_up, slack = staticmethod(epsilon_up), staticmethod(slack)

    def __post_init__(self) -> None:
        _require_pairs("orders", self.orders, "epsilons", self.epsilons)
        for name, values in (("order", self.orders), ("epsilon", self.epsilons)):
            for value in values:
                DpEvent.require_positive(name, value)
        if not all(low < high for low, high in zip((1.0, *self.orders), self.orders, strict=False)):
            raise InvalidInputError("Expected orders to increase, from above 1.")


@dataclass(frozen=True, slots=True)
class ApproximateDpEvent(DpEvent):
    """Any release that is (``epsilon``, ``delta``)-DP, with nothing more known of it.

    Parameters
    ----------
    epsilon : finite and > 0.
    delta : in (0, 1). Deltas add up, in a part of the budget's delta that was kept for them before
        the first release (``dpcore.accountants.delta_reserve``).

    Examples
    --------
    >>> from dpcore.plugin.parts import ApproximateDpEvent, PureAccountant
    >>> accountant = PureAccountant.with_reserve(1.0, 1e-6, 1e-7)
    >>> float(accountant.cost(ApproximateDpEvent(0.5, 1e-8)))
    0.5
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        DpEvent.require_positive("epsilon", self.epsilon)
        DpEvent.require_positive("delta", self.delta)
        if self.delta >= 1:
            raise InvalidInputError(f"Expected delta={self.delta!r} < 1.")


@dataclass(frozen=True, slots=True)
class DominatingPairDpEvent(DpEvent):
    """Any release that two distributions P and Q over a few outcomes dominate (Zhu, Dong & Wang
    2022, section 3). Of every two neighbours, in one of their two orders, the distributions M and
    M' of the release have

        H_g(M || M') <= H_g(P || Q)  for every g > 0,  H_g(A || B) = sup over S of A(S) - g B(S).

    The order may be the same for all, as "with the row" and "without" under add-or-remove-one, or
    any: an accountant takes the larger of what (P, Q) and (Q, P) come to. H_g(Q || P) follows from
    H_(1/g)(P || Q), so that (Q, P) dominates (M', M).

    A filter uses it by an additive value of its own alone, which is charged release by release:
    the convolution of privacy losses (PLD) is about releases that were fixed beforehand. So an
    accountant that convolves pairs states ``fully_adaptive = False``, and holds them on a fixed
    schedule.

    Parameters
    ----------
    p, q : whole numbers >= 0, one of each for every outcome, not both 0. An outcome's shares are
        ``p[i] / sum(p)`` and ``q[i] / sum(q)``, exactly; the sums are below 2^1000, so that every
        share is a float64 with all of its bits.
    """

    p: tuple[int, ...]
    q: tuple[int, ...]

    def __post_init__(self) -> None:
        _require_pairs("p", self.p, "q", self.q)
        if not all(type(weight) is int and weight >= 0 for weight in (*self.p, *self.q)):
            raise InvalidInputError("Expected p and q to be whole numbers >= 0.")
        if not all(map(any, zip(self.p, self.q, strict=True))):
            raise InvalidInputError("Expected p or q of every outcome to be > 0.")
        total_p, total_q = sum(self.p), sum(self.q)
        if not total_p or not total_q:
            raise InvalidInputError("Expected p and q to have weights > 0.")
        if max(total_p, total_q) >= _LARGEST_TOTAL:
            raise InvalidInputError(
                "Expected the weights of p and of q to sum to less than 2^1000."
            )
        if all(a * total_q == b * total_p for a, b in zip(self.p, self.q, strict=True)):
            raise InvalidInputError(
                "Expected p and q to be two distributions: a release has a cost."
            )

    def directions(self) -> tuple[Shares, Shares]:
        """Return the exact probabilities of each outcome under both distributions, both ways
        round."""
        pairs = _shares(self)
        return pairs, tuple((b, a) for a, b in pairs)


@cached_by_value(maxsize=64)
def _shares(event: DominatingPairDpEvent) -> Shares:
    """Return the exact probabilities of each outcome under both distributions."""
    total_p, total_q = sum(event.p), sum(event.q)
    return tuple(
        (Fraction(p, total_p), Fraction(q, total_q)) for p, q in zip(event.p, event.q, strict=True)
    )


def _require_pairs(name: str, values: Any, other: str, others: Any) -> None:
    if not type(values) is type(others) is tuple:
        raise InvalidInputError(f"Expected {name} and {other} to be tuples.")
    if not values or len(values) != len(others):
        raise InvalidInputError(f"Expected one of {name} or more, and as many {other}.")

"""Events of other shapes than the usual ones, and other budgets: a few of each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from dpcore.errors import BudgetExceededError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import (
    DominatingPairDpEvent,
    GaussianDpEvent,
    PoissonSampledDpEvent,
    RenyiDpEvent,
)
from dpcore_lab.recount.event_kinds import EVENT_KINDS
from dpcore_lab.recount.least_noise import MARGIN, assert_within, least_noise
from dpcore_lab.recount.ledger import recounted_epsilon

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin.parts import DpEvent

__all__ = ["LARGEST", "check_other_events"]

LARGEST = 50.0
_FACTORS = (3.0, 14.0)
"""Noise of one event among several, times that of one alone."""
_MOST = 60
_PRECISION = 1e-3


def _rare(m: float, swapped: bool = False) -> DominatingPairDpEvent:
    """Return a pair whose one order costs far more than the other: what is rare under one
    distribution is up to 10,000 times as likely under the other."""
    p = (2**36, 2**16, 2**30)
    q = (2**36, 2**16 + max(1, int(2**26 / m)), 2**30 - max(1, int(2**24 / m)))
    return DominatingPairDpEvent(q, p) if swapped else DominatingPairDpEvent(p, q)


def _short_curve(m: float) -> RenyiDpEvent:
    orders = (1.5, 2.0, 4.0)
    return RenyiDpEvent(orders, tuple(order / (2 * m * m) for order in orders))


def _sampled(p: float, m: float) -> PoissonSampledDpEvent:
    return PoissonSampledDpEvent(p, GaussianDpEvent(m), NeighboringRelation.ADD_OR_REMOVE_ONE)


_SHAPES: dict[str, Callable[[float], DpEvent]] = {
    "pair of a rare outcome": _rare,
    "pair of a rare outcome, the other order": partial(_rare, swapped=True),
    "Renyi curve up to order 4": _short_curve,
    **{f"Poisson sample of {p:g}": partial(_sampled, p) for p in (0.001, 0.6, 0.99)},
}
_SIMPLE = ("Gaussian", "Laplace", "pure", "bounded range")
_SETTINGS = (
    (0.5, 1e-6, tuple(_SHAPES)),
    (LARGEST, 1e-6, ("Gaussian", "pure")),
    (LARGEST, 0.1, (*_SIMPLE, "Renyi curve up to order 4")),
)


def check_other_events(accountant: Any, several: bool) -> int:
    """Return the number of kinds of events that an accountant holds; each is let pass and counted
    again. One event of each kind has the least noise, at small and large budgets; an accountant
    that holds several gets as many as it takes of less costly ones."""
    kinds = {**_SHAPES, **{name: EVENT_KINDS[name] for name in _SIMPLE}}
    held = set()
    for epsilon, delta, names in _SETTINGS:
        empty = accountant.from_budget(epsilon, delta)
        for kind in names:
            make = kinds[kind]
            least = least_noise(empty, make, _PRECISION) if empty.supports(make(1.0)) else None
            if least is None:
                continue
            held.add(kind)
            counted = recounted_epsilon([make(least)], delta, epsilon)
            assert_within(counted, epsilon, f"one event ({kind}) at delta={delta:g}")
            if several and not kind.startswith("Poisson"):
                for factor in _FACTORS:
                    _check_alike(empty, make(least * factor), kind)
    return len(held)


def _check_alike(empty: Any, event: DpEvent, kind: str) -> None:
    """Compose one event until it is refused."""
    current, count = empty, 0
    while count < _MOST:
        try:
            current = current.compose(event)
        except BudgetExceededError:
            break
        count += 1
    told = current.get_epsilon(empty.delta)
    counted = recounted_epsilon([event] * count, empty.delta, min(told, empty.epsilon))
    what = f"{count} events alike ({kind}) at delta={empty.delta:g}"
    assert_within(counted, empty.epsilon, what)
    assert counted <= told * MARGIN, f"get_epsilon is less than {what} come to."

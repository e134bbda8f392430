"""Checks of an accountant: what it lets pass, counted again by other formulas."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.accountants.schedule import planned_accountant, schedule_noise_multiplier
from dpcore.errors import (
    BudgetExceededError,
    DpcoreError,
    InvalidInputError,
    UnsupportedEventError,
)
from dpcore.privacy.events import ComposedDpEvent, NonPrivateDpEvent
from dpcore.privacy.stated_events import ApproximateDpEvent
from dpcore.registry.declarations import accountant_facts, fault_of_part
from dpcore.testing.canonical import canonical
from dpcore.testing.event_kinds import EVENT_KINDS
from dpcore.testing.guard import require_assertions
from dpcore.testing.recount import recounted_epsilon
from dpcore.testing.tested import Tested

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.privacy.events import DpEvent

__all__ = ["check_accountant"]

_BUDGETS = ((0.5, 1e-6), (4.0, 1e-5))
_MARGIN = 1 + 1e-6
"""The recount is in floats, and takes orders from a grid."""
_LOUDEST, _QUIETEST = 0.1, 1e9
_PLANNED = ("Gaussian", "pure", "Poisson sample of a Gaussian")
_MOST = 120
"""Events in a list at most: each costs more than a hundredth of the budget or so."""


def check_accountant(accountant: Any) -> Tested:
    """Raise AssertionError unless what the accountant lets pass stays within its budget.

    ``accountant`` : the class. It is given events of every kind that it holds, one alone with the
    least noise that it lets pass, and random lists of them until it refuses: counted again by other
    formulas (``dpcore.testing.recount``) they come to no more than the budget's epsilon. More noise
    costs less; what it says of itself is consistent, before and after each event; a refusal, and a
    composition, leave the old one as it was; if it is fully adaptive, what it refuses would not fit
    and the order of events does not matter.
    """
    require_assertions()
    fault = fault_of_part("accountant", accountant)
    assert not fault, f"{accountant.__name__} {fault}"
    facts = accountant_facts(accountant)
    if not facts.private:
        return Tested("that its declarations are in order", not_tested=("it promises no privacy",))
    _check_bad_budgets(accountant)
    found: dict[str, float] = {}
    for k, (epsilon, delta) in enumerate(_BUDGETS):
        empty = accountant.from_budget(epsilon, delta)
        _check_empty(empty, epsilon, delta)
        least = _least_noise(empty)
        for kind, multiplier in least.items():
            counted = recounted_epsilon([EVENT_KINDS[kind](multiplier)], delta)
            _assert_within(counted, epsilon, f"one event ({kind})")
            found[kind] = max(found.get(kind, 0.0), counted / epsilon)
        if facts.holds_several and least:
            lists = _check_lists(empty, least, np.random.default_rng(16 + k))
            found |= {kind: max(found[kind], lists[kind]) for kind in least}
    planned = _check_schedules(accountant, *_BUDGETS[0])
    planned += _check_deltas(accountant, *_BUDGETS[0])
    return _tested(found, planned, facts.holds_several)


def _check_schedules(accountant: Any, epsilon: float, delta: float) -> list[str]:
    """Plan it for a dozen of each of a few kinds, with the least noise that fits; return the kinds
    that it can be planned for."""
    planned = []
    for kind in _PLANNED:
        make = EVENT_KINDS[kind]

        def schedule(m: float, make: Callable[[float], DpEvent] = make) -> dict[DpEvent, int]:
            return {make(m): 12}

        try:
            fitted = planned_accountant(accountant, epsilon, delta, None, schedule)
            multiplier = schedule_noise_multiplier(fitted, schedule)
        except (InvalidInputError, UnsupportedEventError):
            continue
        counted = recounted_epsilon([make(multiplier)] * 12, delta)
        _assert_within(counted, epsilon, f"a schedule of 12 events ({kind})")
        planned.append(kind)
    return planned


def _check_deltas(accountant: Any, epsilon: float, delta: float) -> list[str]:
    """Plan it for releases whose own deltas are three quarters of delta, or more than all of it,
    beside the least noise that fits; return the kind if it holds them."""
    event, planned = ApproximateDpEvent(epsilon / 100, delta / 8), []
    if not accountant.supports(event):
        return []
    for kind in ("Gaussian", "pure"):
        for count in (6, 9):
            schedule = partial(_with_deltas, EVENT_KINDS[kind], event, count)
            try:
                fitted = planned_accountant(accountant, epsilon, delta, None, schedule)
                events = schedule(schedule_noise_multiplier(fitted, schedule))
            except (InvalidInputError, UnsupportedEventError):
                continue
            counted = recounted_epsilon([e for e, n in events.items() for _ in range(n)], delta)
            _assert_within(counted, epsilon, f"a schedule of {count} events with a delta")
            planned.append("(epsilon, delta)")
    return planned[:1]


def _with_deltas(
    make: Callable[[float], DpEvent], event: DpEvent, count: int, multiplier: float
) -> dict[DpEvent, int]:
    return {make(multiplier): 4, event: count}


def _tested(found: dict[str, float], planned: list[str], several: bool) -> Tested:
    left_out = [f"events that it does not hold: {', '.join(EVENT_KINDS.keys() - found.keys())}"]
    if not several:
        left_out.append("lists of events, which it does not hold")
    lists = " and random lists of them until they were refused" if several else ""
    lists += f", and schedules of {len(planned)} kinds"
    power = ""
    if found:
        power = (
            f"would have detected, with certainty, a cost of {1 / min(found.values()):.2g} times "
            "the charge of an event"
        )
    return Tested(
        f"events of {len(found)} kinds, one alone{lists}, at {len(_BUDGETS)} budgets",
        power,
        tuple(left_out),
    )


def _check_bad_budgets(accountant: Any) -> None:
    bad = [(math.nan, 1e-6), (math.inf, 1e-6), (0.0, 1e-6), (-1.0, 1e-6), (1.0, math.nan)]
    for epsilon, delta in [*bad, (1.0, -1e-6), (1.0, 1.0)]:
        try:
            accountant.from_budget(epsilon, delta)
        except (DpcoreError, ValueError):
            continue
        raise AssertionError(f"A budget of epsilon={epsilon}, delta={delta} was accepted.")


def _check_empty(empty: Any, epsilon: float, delta: float) -> None:
    assert (empty.epsilon, empty.delta) == (epsilon, delta), "It has another budget than it got."
    assert empty.spent == 0 and empty.get_epsilon(delta) == 0, "It is not empty at first."
    assert not empty.supports(NonPrivateDpEvent()), "It holds an exact answer."
    try:
        empty.compose(NonPrivateDpEvent())
    except UnsupportedEventError:
        return
    raise AssertionError("It lets an exact answer pass.")


def _least_noise(empty: Any) -> dict[str, float]:
    """Return the least noise of each kind with which an event passes alone, to 1e-6; kinds that are
    refused with any noise are left out."""
    return {
        kind: least
        for kind, make in EVENT_KINDS.items()
        if empty.supports(make(1.0)) and (least := _least(empty, make)) is not None
    }


def _least(empty: Any, make: Callable[[float], DpEvent]) -> float | None:
    low, high = _LOUDEST, _QUIETEST
    try:
        if not _passes(empty, make(high)):
            return None
    except UnsupportedEventError:  # not without a part of the budget that nobody has set aside
        return None
    while high > low * (1 + 1e-6):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if _passes(empty, make(middle)) else (middle, high)
    first, second = empty.cost(make(high)), empty.cost(make(2 * high))
    assert 0 <= second <= first, "More noise costs more."
    return high


def _passes(accountant: Any, event: DpEvent) -> bool:
    try:
        accountant.compose(event)
    except BudgetExceededError:
        return False
    return True


def _check_lists(empty: Any, least: dict[str, float], rng: np.random.Generator) -> dict[str, float]:
    """Fill it with events of each kind, and with those of random kinds where it is a filter for
    events that are chosen along the way; return which share of the budget each kind came to."""
    shares: dict[str, float] = {}
    lists = [[kind] for kind in least]
    if empty.fully_adaptive:
        lists += [list(rng.permutation(list(least))[:3]) for _ in range(2)]
    for kinds in lists:
        passed, full = _filled(empty, least, kinds, rng)
        counted = recounted_epsilon(passed, empty.delta)
        _assert_within(counted, empty.epsilon, f"{len(passed)} events ({', '.join(kinds)})")
        shares[kinds[0]] = max(shares.get(kinds[0], 0.0), counted / empty.epsilon)
        told = full.get_epsilon(empty.delta)
        assert counted <= told * _MARGIN <= empty.epsilon * _MARGIN**2, (
            "get_epsilon is less than the events come to, or more than the budget."
        )
        assert full.get_epsilon(empty.delta / 10) >= told, "A smaller delta has a smaller epsilon."
        if empty.fully_adaptive:
            _check_order(empty, full, passed, rng)
    return shares


def _filled(
    empty: Any, least: dict[str, float], kinds: list[str], rng: np.random.Generator
) -> tuple[list[DpEvent], Any]:
    """Return the events that passed, in order, and the accountant after them. Noise is that of an
    event alone times one of a few factors, and more after a refusal; one figure under a filter that
    is about schedules fixed beforehand, until it refuses."""
    passed: list[DpEvent] = []
    current, more = empty, 1.0
    factors = [1.5, 3.0, 6.0] if empty.fully_adaptive else [2.0]
    while more < 40 and len(passed) < _MOST:
        kind = str(rng.choice(kinds))
        event = EVENT_KINDS[kind](least[kind] * more * float(rng.choice(factors)))
        after = _composed(current, event)
        if after is None and not empty.fully_adaptive:
            break
        if after is None:
            more *= 2
        else:
            current = after
            passed.append(event)
    return passed, current


def _composed(current: Any, event: DpEvent) -> Any:
    """Return the accountant after an event, ``None`` if it is refused, having checked that what it
    says before and after is consistent."""
    before, cost = canonical(current), current.cost(event)
    slack = 1e-9 * current.budget
    try:
        after = current.compose(event)
    except BudgetExceededError:
        after = None
    assert canonical(current) == before, "An event changes the accountant that it is put to."
    if after is None:
        fits = current.fully_adaptive and cost <= current.remaining - slack
        assert not fits, "It refuses an event whose cost is within what remains."
        return None
    assert 0 <= cost and current.spent <= after.spent <= after.budget + slack, (
        "An event that passed lowers what is spent, or is beyond the budget."
    )
    same = ("epsilon", "delta", "conversion", "budget")
    assert all(getattr(after, n) == getattr(current, n) for n in same), (
        "An event alters the budget."
    )
    assert abs(after.spent + after.remaining - after.budget) <= slack, (
        "What is spent and what remains are not the budget."
    )
    if current.fully_adaptive:
        assert after.spent - current.spent <= float(cost) + slack, "It spends more than the cost."
        assert float(cost) <= after.spent - current.spent + slack, "It spends less than the cost."
    return after


def _check_order(empty: Any, full: Any, passed: list[DpEvent], rng: np.random.Generator) -> None:
    slack = 1e-9 * empty.budget
    again = empty
    for k in rng.permutation(len(passed)):
        again = again.compose(passed[k])
    assert abs(again.spent - full.spent) <= slack, "The order of the events matters."
    if len(passed) > 1 and empty.supports(ComposedDpEvent(tuple(passed))):
        at_once = empty.cost(ComposedDpEvent(tuple(passed)))
        assert abs(float(at_once) - full.spent) <= slack, (
            "Events that are composed cost something else than one by one."
        )


def _assert_within(counted: float, epsilon: float, what: str) -> None:
    assert counted <= epsilon * _MARGIN, (
        f"It lets pass {what} that come to epsilon={counted:.6g}, of a budget of {epsilon}."
    )

"""Checks of an accountant: what it lets pass, counted again by other formulas."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import (
    BudgetExceededError,
    DpcoreError,
    UnsupportedEventError,
)
from dpcore.plugin.parts import Account, ComposedDpEvent, NonPrivateDpEvent, Registry, load_registry
from dpcore_lab.checks.coverage_text import Tested
from dpcore_lab.checks.guard import require_assertions
from dpcore_lab.recount.event_kinds import EVENT_KINDS
from dpcore_lab.recount.least_noise import MARGIN, assert_within, least_noise
from dpcore_lab.recount.ledger import recounted_epsilon
from dpcore_lab.recount.other_events import LARGEST, check_other_events
from dpcore_lab.recount.planned import check_deltas, check_schedules
from dpcore_lab.replay.canonical import canonical

if TYPE_CHECKING:
    from dpcore.plugin.parts import DpEvent

__all__ = ["check_accountant"]

_BUDGETS = ((0.5, 1e-6), (4.0, 1e-5))
_MOST = 120
"""Events in a list at most: each costs more than a hundredth of the budget or so."""


def check_accountant(accountant: Any) -> Tested:
    """Raise AssertionError unless what the accountant lets pass stays within its budget.

    ``accountant`` : the class. It is given events of every kind that it holds, one alone with the
    least noise that it lets pass, and random lists of them until it refuses: counted again by other
    formulas (``recount/ledger.py``) they come to no more than the budget's epsilon. More noise
    costs less; what it says of itself is consistent, before and after each event; a refusal, and a
    composition, leave the old one as it was; if it is fully adaptive, what it refuses would not fit
    and the order of events does not matter.
    """
    require_assertions()
    fault = load_registry().fault_of("accountant", accountant)
    assert not fault, f"{accountant.__name__} {fault}"
    facts = Registry.facts_of("accountant", accountant)
    if not facts.private:
        return Tested("that its declarations are in order", not_tested=("it promises no privacy",))
    _check_bad_budgets(accountant)
    found: dict[str, float] = {}
    for k, (epsilon, delta) in enumerate(_BUDGETS):
        empty = accountant.from_budget(epsilon, delta)
        _check_empty(empty, epsilon, delta)
        _check_parts(empty)
        least = _least_noise(empty)
        for kind, multiplier in least.items():
            counted = recounted_epsilon([EVENT_KINDS[kind](multiplier)], delta, epsilon)
            assert_within(counted, epsilon, f"one event ({kind})")
            found[kind] = max(found.get(kind, 0.0), counted / epsilon)
        if facts.holds_several and least:
            lists = _check_lists(empty, least, np.random.default_rng(16 + k))
            found |= {kind: max(found[kind], lists[kind]) for kind in least}
    planned = check_schedules(accountant, *_BUDGETS[0])
    planned += check_deltas(accountant, *_BUDGETS[0])
    others = check_other_events(accountant, facts.holds_several)
    return _tested(found, planned, others, facts.holds_several)


def _tested(found: dict[str, float], planned: list[str], others: int, several: bool) -> Tested:
    absent = sorted(EVENT_KINDS.keys() - found.keys() - set(planned))
    left_out = [f"events that it does not hold: {', '.join(absent)}"] if absent else []
    left_out.append("an event's cost at other sizes than those that were let pass")
    if not several:
        left_out.append("lists of events, which it does not hold")
    lists = " and random lists of them until they were refused" if several else ""
    lists += f", and schedules of {len(planned)} kinds"
    more = f"; {others} kinds of other shapes, or at budgets of up to epsilon={LARGEST:g}"
    power = ""
    if found:
        power = (
            f"would have detected, with certainty, a cost of {1 / min(found.values()):.2g} times "
            "the charge of an event"
        )
    return Tested(
        f"events of {len(found)} kinds, one alone{lists}, at {len(_BUDGETS)} budgets{more}",
        power,
        tuple(left_out),
        (f"kinds of event {len(found)}", f"budgets {len(_BUDGETS)}", f"epsilon up to {LARGEST:g}"),
    )


def _check_bad_budgets(accountant: Any) -> None:
    bad = [(math.nan, 1e-6), (math.inf, 1e-6), (0.0, 1e-6), (-1.0, 1e-6), (1.0, math.nan)]
    for epsilon, delta in [*bad, (1.0, -1e-6), (1.0, 1.0)]:
        try:
            accountant.from_budget(epsilon, delta)
        except (DpcoreError, ValueError):
            continue
        raise AssertionError(f"A budget of epsilon={epsilon}, delta={delta} was accepted.")


def _check_parts(empty: Any) -> None:
    """Split the budget, where the class says how, and hold the parts to it: what each lets pass
    goes through the whole filter too."""
    if not Registry.facts_of("accountant", empty).splits:
        return
    for parts in (2, 3, 7):
        part = empty.split(parts)
        Account.require_within(part, empty, parts)
        for kind, multiplier in _least_noise(part).items():
            event = EVENT_KINDS[kind](multiplier)
            rest = empty
            for _ in range(parts):
                rest = rest.compose(event)


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
        if empty.supports(make(1.0)) and (least := least_noise(empty, make)) is not None
    }


def _check_lists(empty: Any, least: dict[str, float], rng: np.random.Generator) -> dict[str, float]:
    """Fill it with events of each kind, and with those of random kinds where it is a filter for
    events that are chosen along the way; return which share of the budget each kind came to."""
    shares: dict[str, float] = {}
    lists = [[kind] for kind in least]
    if empty.fully_adaptive:
        lists += [list(rng.permutation(list(least))[:3]) for _ in range(2)]
    for kinds in lists:
        passed, full = _filled(empty, least, kinds, rng)
        told = full.get_epsilon(empty.delta)
        counted = recounted_epsilon(passed, empty.delta, min(told, empty.epsilon))
        assert_within(counted, empty.epsilon, f"{len(passed)} events ({', '.join(kinds)})")
        shares[kinds[0]] = max(shares.get(kinds[0], 0.0), counted / empty.epsilon)
        assert counted <= told * MARGIN <= empty.epsilon * MARGIN**2, (
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
    event alone times one of a few factors, and more after a refusal; one value under a filter that
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

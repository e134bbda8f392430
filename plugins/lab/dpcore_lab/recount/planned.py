"""Accountants that are planned for a schedule: with the least noise that fits, and until they
refuse."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from dpcore.errors import BudgetExceededError, InvalidInputError, UnsupportedEventError
from dpcore.plugin import FixedSchedule
from dpcore.plugin.parts import ApproximateDpEvent
from dpcore_lab.recount.event_kinds import EVENT_KINDS
from dpcore_lab.recount.least_noise import assert_within
from dpcore_lab.recount.ledger import recounted_epsilon

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin.parts import DpEvent

__all__ = ["check_deltas", "check_schedules"]

_PLANNED = ("Gaussian", "pure", "Poisson sample of a Gaussian")
_MOST = 40


def check_schedules(accountant: Any, epsilon: float, delta: float) -> list[str]:
    """Plan it for a dozen of each of a few kinds, with the least noise that fits; return the kinds
    that it can be planned for."""
    planned = []
    for kind in _PLANNED:
        make = EVENT_KINDS[kind]

        def schedule(m: float, make: Callable[[float], DpEvent] = make) -> dict[DpEvent, int]:
            return {make(m): 12}

        try:
            fitted = FixedSchedule.planned_accountant(accountant, epsilon, delta, None, schedule)
            multiplier = FixedSchedule.noise_multiplier(fitted, schedule)
        except (InvalidInputError, UnsupportedEventError):
            continue
        counted = recounted_epsilon([make(multiplier)] * 12, delta, epsilon)
        assert_within(counted, epsilon, f"a schedule of 12 events ({kind})")
        planned.append(kind)
    return planned


def check_deltas(accountant: Any, epsilon: float, delta: float) -> list[str]:
    """Return the kinds of releases with deltas of their own that the accountant holds, planned for
    them and charged one by one until it refuses. Their deltas are three quarters of delta, or more
    than all of it, beside the least noise that fits."""
    event, planned = ApproximateDpEvent(epsilon / 100, delta / 8), []
    if not accountant.supports(event):
        return []
    for kind in ("Gaussian", "pure"):
        for count in (6, 9):
            schedule = partial(_with_deltas, EVENT_KINDS[kind], event, count)
            try:
                fitted = FixedSchedule.planned_accountant(
                    accountant, epsilon, delta, None, schedule
                )
                events = schedule(FixedSchedule.noise_multiplier(fitted, schedule))
            except (InvalidInputError, UnsupportedEventError):
                continue
            every = [e for e, n in events.items() for _ in range(n)]
            counted = recounted_epsilon(every, delta, epsilon)
            assert_within(counted, epsilon, f"a schedule of {count} events with a delta")
            passed = _until_refused(fitted, event)
            counted = recounted_epsilon(passed, delta, epsilon)
            assert_within(counted, epsilon, f"{len(passed)} events with a delta, one by one,")
            planned.append("(epsilon, delta)")
    return planned[:1]


def _with_deltas(
    make: Callable[[float], DpEvent], event: DpEvent, count: int, multiplier: float
) -> dict[DpEvent, int]:
    return {make(multiplier): 4, event: count}


def _until_refused(fitted: Any, event: DpEvent) -> list[DpEvent]:
    """Return so many of an event as the accountant lets pass, one by one."""
    passed: list[DpEvent] = []
    while len(passed) < _MOST:
        try:
            fitted = fitted.compose(event)
        except (BudgetExceededError, UnsupportedEventError):
            break
        passed.append(event)
    return passed

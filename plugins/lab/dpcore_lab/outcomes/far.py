"""The audit of much noise: on answers that are many sensitivities apart.

Between neighbours a mechanism of a large noise multiplier tells next to nothing, and so would one
whose noise is a tenth of it: no number of draws that a check can make finds that. Answers that are
k sensitivities apart are k neighbours apart, and whatever an event allows between neighbours it
allows k times over between these (group privacy: a hybrid for each step, ``ComposedDpEvent`` of
``dpcore_lab.outcomes.frequencies``; Gaussian k mu, Dong, Roth & Su 2022, Theorem 2.14; pure and
bounded range k epsilon; zCDP k^2 rho, Bun & Steinke 2016, Proposition 1.9). At k about the
multiplier, noise that is too small is plain to see.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpcore.plugin.parts import (
    ComposedDpEvent,
    ExponentialMechanismDpEvent,
    ExPostDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    PureDpEvent,
    ZcdpDpEvent,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpcore.plugin.parts import DpEvent
    from dpcore_lab.outcomes.settings import Case

__all__ = ["far_cases", "groups_of", "of_group"]

_LEAST = 4.0
"""Multipliers below are told from smaller ones between neighbours."""
_SHARES = (0.5, 1.0, 2.0, 3.0)
"""Of the multiplier, how many sensitivities apart: noise by a half too small shows at the last."""
_MOST_STEPS = 12
"""Hybrids of an event without a closed form; k is smaller there."""


def of_group(event: DpEvent, k: int) -> DpEvent:
    """Return an event that allows what ``event`` allows between answers k sensitivities apart."""
    match event:
        case GaussianDpEvent(noise_multiplier=m):
            return GaussianDpEvent(m / k)
        case LaplaceDpEvent(noise_multiplier=m):
            return LaplaceDpEvent(m / k)
        case PureDpEvent(epsilon=epsilon) | ExPostDpEvent(epsilon=epsilon):
            return PureDpEvent(k * epsilon)
        case ExponentialMechanismDpEvent(epsilon=epsilon):
            return ExponentialMechanismDpEvent(k * epsilon)
        case ZcdpDpEvent(rho=rho):
            return ZcdpDpEvent(k * k * rho)
        case _:
            return ComposedDpEvent((event,) * k)


def far_cases(case: Case) -> list[tuple[int, Case]]:
    """Return how many sensitivities apart answers are to be looked at, and the case with what its
    event allows there; none where its noise is little or its event unknown."""
    mechanism: Any = case.mechanism
    multiplier = float(mechanism.noise_multiplier)
    if not case.known or multiplier < _LEAST:
        return []
    steps = dict.fromkeys(max(2, round(share * multiplier)) for share in _SHARES)
    found = groups_of(case.event, steps)
    return [(k, replace(case, event=event)) for k, event in found]


def groups_of(event: DpEvent, sizes: Iterable[int]) -> list[tuple[int, DpEvent]]:
    """Return for numbers of sensitivities what the event allows there, where that is known."""
    is_closed = not isinstance(of_group(event, 2), ComposedDpEvent)
    return [(k, of_group(event, k)) for k in sizes if is_closed or k <= _MOST_STEPS]

"""The order of events: an event known to cost no more than another may take its place, and all
that was proved of the other, under any accountant, holds of it.

Every event costs no more than itself. Another one may take the place of one of the same type whose
values are no smaller on the side that costs more, the rest of them equal:

* the same distribution with more noise is post-processing of the distribution with less: normal
  distributions add up, so do Skellam distributions, and a Laplace distribution of scale b is one of
  scale a < b plus independent noise (its characteristic function, over the other's, is
  a^2/b^2 + (1 - a^2/b^2) / (1 + b^2 t^2));
* a smaller bound of a release (its epsilon, rho, delta, Renyi divergence) implies the larger;
* a smaller sampling probability is a choice, independent of the rows, not to take a row that was
  drawn at the larger one.
"""

from dataclasses import fields
from typing import Any

from dpcore.privacy.events import (
    ComposedDpEvent,
    DpEvent,
    ExponentialMechanismDpEvent,
    ExPostDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    PoissonSampledDpEvent,
    PureDpEvent,
    RandomizedSensitivityGaussian,
    SampledWithoutReplacementDpEvent,
    SkellamDpEvent,
)
from dpcore.privacy.stated_events import ApproximateDpEvent, RenyiDpEvent, ZcdpDpEvent

__all__ = ["costs_no_more"]

# Values that cost less when they grow.
_LESS = {
    GaussianDpEvent: ("noise_multiplier",),
    LaplaceDpEvent: ("noise_multiplier",),
    SkellamDpEvent: ("variance",),
    RandomizedSensitivityGaussian: ("sigma",),
}
# Values that cost more when they grow: numbers, events, or several of them one by one.
_MORE = {
    SkellamDpEvent: ("l1_bound", "l2_bound"),
    PureDpEvent: ("epsilon",),
    ExponentialMechanismDpEvent: ("epsilon",),
    ExPostDpEvent: ("epsilon",),
    RandomizedSensitivityGaussian: ("deltas",),
    ZcdpDpEvent: ("rho",),
    RenyiDpEvent: ("epsilons",),
    ApproximateDpEvent: ("epsilon", "delta"),
    PoissonSampledDpEvent: ("sampling_probability", "event"),
    SampledWithoutReplacementDpEvent: ("event",),
    ComposedDpEvent: ("events",),
}


def costs_no_more(event: DpEvent, stated: DpEvent) -> bool:
    """Return whether an event is another, or is known to cost no more than it."""
    kind: type[Any] = type(event)
    if type(stated) is not kind:  # whatever it says that it equals
        return False
    less, more = _LESS.get(kind, ()), _MORE.get(kind, ())
    if not (less or more):
        return bool(event == stated)
    for name in (field.name for field in fields(kind)):
        here, there = getattr(event, name), getattr(stated, name)
        if name in less:
            here, there = there, here
        if here != there and not (name in (*less, *more) and _is_no_more(here, there)):
            return False
    return True


def _is_no_more(here: Any, there: Any) -> bool:
    if isinstance(here, tuple):
        pairs = zip(here, there, strict=False)
        return len(here) == len(there) and all(_is_no_more(a, b) for a, b in pairs)
    return costs_no_more(here, there) if isinstance(here, DpEvent) else bool(here <= there)

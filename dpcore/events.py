"""What a release costs, as data. Accountants interpret events; an event never changes its meaning.

Every number in an event is rounded to the side that costs more: a ``noise_multiplier`` down,
an ``epsilon`` up.
"""

import math
from dataclasses import dataclass

from dpcore.errors import InvalidInputError

__all__ = [
    "ComposedDpEvent",
    "DpEvent",
    "ExPostDpEvent",
    "ExponentialMechanismDpEvent",
    "GaussianDpEvent",
    "LaplaceDpEvent",
    "PureDpEvent",
    "RandomizedSensitivityGaussian",
    "SkellamDpEvent",
]


def _require_positive(name: str, value: float) -> None:
    if not (isinstance(value, float) and math.isfinite(value) and value > 0):
        raise InvalidInputError(f"Expected {name}={value!r} to be a finite float > 0.")


@dataclass(frozen=True, slots=True)
class DpEvent:
    """Base of all events."""


@dataclass(frozen=True, slots=True)
class GaussianDpEvent(DpEvent):
    """Normal noise of standard deviation ``noise_multiplier`` times the l2 sensitivity."""

    noise_multiplier: float

    def __post_init__(self) -> None:
        _require_positive("noise_multiplier", self.noise_multiplier)


@dataclass(frozen=True, slots=True)
class LaplaceDpEvent(DpEvent):
    """Continuous Laplace noise, floored or not, of scale ``noise_multiplier`` times the l1
    sensitivity (pure epsilon = 1 / noise_multiplier)."""

    noise_multiplier: float

    def __post_init__(self) -> None:
        _require_positive("noise_multiplier", self.noise_multiplier)


@dataclass(frozen=True, slots=True)
class SkellamDpEvent(DpEvent):
    """Symmetric Skellam noise in each coordinate of an integer vector (Agarwal, Kairouz & Liu
    2021): of the whole sum, where users draw it in shares.

    Parameters
    ----------
    variance : of the noise, in squared grid steps, rounded down.
    l1_bound, l2_bound : how far the vector moves between neighbours, in grid steps, rounded up.
    """

    variance: float
    l1_bound: float
    l2_bound: float

    def __post_init__(self) -> None:
        for name in ("variance", "l1_bound", "l2_bound"):
            _require_positive(name, getattr(self, name))


@dataclass(frozen=True, slots=True)
class PureDpEvent(DpEvent):
    """Any release that is ``epsilon``-DP, and of which nothing more is known."""

    epsilon: float

    def __post_init__(self) -> None:
        _require_positive("epsilon", self.epsilon)


@dataclass(frozen=True, slots=True)
class ExponentialMechanismDpEvent(DpEvent):
    """A release of bounded range ``epsilon`` (Dong, Durfee & Rogers 2020): the log-ratio of two
    outcomes' probabilities moves by at most ``epsilon`` between neighbours."""

    epsilon: float

    def __post_init__(self) -> None:
        _require_positive("epsilon", self.epsilon)


@dataclass(frozen=True, slots=True)
class ExPostDpEvent(DpEvent):
    """A release whose privacy loss is a function of its outcome (ex-post privacy: Ligett, Neel,
    Roth, Waggoner & Wu 2017, Definition 2.3), and at most ``epsilon`` whatever the outcome: the
    release is ``epsilon``-DP, and that cap is its cost. The figure of the outcome is known when the
    release has ended; it is reported beside the guarantee and never charged less."""

    epsilon: float

    def __post_init__(self) -> None:
        _require_positive("epsilon", self.epsilon)


@dataclass(frozen=True, slots=True)
class ComposedDpEvent(DpEvent):
    """Several events charged as one: at least one, none of them free."""

    events: tuple[DpEvent, ...]

    def __post_init__(self) -> None:
        whole = isinstance(self.events, tuple) and len(self.events) > 0
        if not whole or not all(isinstance(event, DpEvent) for event in self.events):
            raise InvalidInputError("Expected events to be a tuple of one DpEvent or more.")


@dataclass(frozen=True, slots=True)
class RandomizedSensitivityGaussian(DpEvent):
    """Normal noise of standard deviation ``sigma`` on an answer that a secret random choice, made
    without looking at the rows, moves by at most ``deltas[j]`` in l2 with probability
    ``weights[j] / sum(weights)`` (Chen, Lee & Kifer 2019, section 4.2). What the release shows may
    tell j.

    Parameters
    ----------
    deltas : finite, > 0, rounded up; in the unit of ``sigma``.
    weights : whole numbers >= 1, one for each delta: the shares are exact.
    sigma : rounded down.
    """

    deltas: tuple[float, ...]
    weights: tuple[int, ...]
    sigma: float

    def __post_init__(self) -> None:
        if not (isinstance(self.deltas, tuple) and isinstance(self.weights, tuple)):
            raise InvalidInputError("Expected deltas and weights to be tuples.")
        if not self.deltas or len(self.deltas) != len(self.weights):
            raise InvalidInputError("Expected one delta or more, and a weight for each.")
        for delta in self.deltas:
            _require_positive("delta", delta)
        if not all(type(weight) is int and weight >= 1 for weight in self.weights):
            raise InvalidInputError("Expected weights to be whole numbers >= 1.")
        _require_positive("sigma", self.sigma)

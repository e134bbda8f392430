"""Costs of releases as data. Accountants interpret events; an event never changes its meaning.
Those that state a bound, and no distribution of the noise, are in ``dpcore.privacy.stated_events``.

Every number in an event is rounded to the side that costs more: a ``noise_multiplier`` down,
an ``epsilon`` and a ``sampling_probability`` up.
"""

import math
import sys
from dataclasses import dataclass
from typing import Any

from dpcore.errors import InvalidInputError
from dpcore.privacy.exact_copies import plain_counts
from dpcore.privacy.sensitivity import NeighboringRelation

__all__ = [
    "ComposedDpEvent",
    "DpEvent",
    "ExPostDpEvent",
    "ExponentialMechanismDpEvent",
    "GaussianDpEvent",
    "LaplaceDpEvent",
    "NonPrivateDpEvent",
    "PositiveDpEvent",
    "PoissonSampledDpEvent",
    "PureDpEvent",
    "RandomizedSensitivityGaussian",
    "SampledWithoutReplacementDpEvent",
    "SkellamDpEvent",
]


# Of a type that is written in C, as float and NumPy's float64 are: a number of a class that is
# written in Python may equal one number, and be another to an accountant.
_IN_PYTHON = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_FLAGS: Any = vars(type)["__flags__"]  # Python's own, of which no metaclass says another.


@dataclass(frozen=True, slots=True)
class DpEvent:
    """Base of all events. ``counted(events)`` : how many of each event a schedule has, with exact
    copies of those of dpcore (``dpcore.privacy.exact_copies.plain_counts``)."""

    counted = staticmethod(plain_counts)

    @staticmethod
    def require_positive(name: str, value: float) -> None:
        """Raise InvalidInputError unless a value of an event is a finite float > 0."""
        if _FLAGS.__get__(type(value)) & _IN_PYTHON or not (
            isinstance(value, float) and math.isfinite(value) and value > 0
        ):
            raise InvalidInputError(f"Expected {name}={value!r} to be a finite float > 0.")


@dataclass(frozen=True, slots=True)
class PositiveDpEvent(DpEvent):
    """Base of events whose every value is a finite float > 0."""

    def __post_init__(self) -> None:
        for name in map(str, type(self).__slots__):
            DpEvent.require_positive(name, getattr(self, name))


@dataclass(frozen=True, slots=True)
class GaussianDpEvent(PositiveDpEvent):
    """Normal noise of standard deviation ``noise_multiplier`` times the l2 sensitivity.

    Examples
    --------
    >>> from dpcore.accountants.zcdp import ZcdpAccountant
    >>> from dpcore.plugin.parts import GaussianDpEvent
    >>> float(ZcdpAccountant.from_budget(1.0, 1e-6).cost(GaussianDpEvent(10.0)))
    0.005
    """

    noise_multiplier: float


@dataclass(frozen=True, slots=True)
class LaplaceDpEvent(PositiveDpEvent):
    """Continuous Laplace noise, floored or not, of scale ``noise_multiplier`` times the l1
    sensitivity (pure epsilon = 1 / noise_multiplier).

    Examples
    --------
    >>> from dpcore.plugin.parts import LaplaceDpEvent, PureAccountant
    >>> float(PureAccountant.from_budget(1.0, 0).cost(LaplaceDpEvent(4.0)))
    0.25
    """

    noise_multiplier: float


@dataclass(frozen=True, slots=True)
class SkellamDpEvent(PositiveDpEvent):
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


@dataclass(frozen=True, slots=True)
class PureDpEvent(PositiveDpEvent):
    """Any release that is ``epsilon``-DP, with nothing more known of it.

    Examples
    --------
    >>> from dpcore.plugin.parts import PureAccountant, PureDpEvent
    >>> PureAccountant.from_budget(1.0, 0).compose(PureDpEvent(0.25)).remaining
    0.75
    """

    epsilon: float


@dataclass(frozen=True, slots=True)
class ExponentialMechanismDpEvent(PositiveDpEvent):
    """A release of bounded range ``epsilon`` (Dong, Durfee & Rogers 2020): the log-ratio of two
    outcomes' probabilities moves by at most ``epsilon`` between neighbours."""

    epsilon: float


@dataclass(frozen=True, slots=True)
class ExPostDpEvent(PositiveDpEvent):
    """A release whose privacy loss is a function of its outcome, and at most ``epsilon`` whatever
    the outcome (ex-post privacy: Ligett, Neel, Roth, Waggoner & Wu 2017, Definition 2.3). The
    release is ``epsilon``-DP, and that cap is its cost. The value of the outcome is known when the
    release has ended; it is reported beside the guarantee and never charged less."""

    epsilon: float


@dataclass(frozen=True, slots=True)
class NonPrivateDpEvent(DpEvent):
    """An exact answer, as a baseline without privacy makes it. It has no cost: every accountant
    that guarantees anything refuses it, and a run whose ledger has one is not private."""


@dataclass(frozen=True, slots=True)
class ComposedDpEvent(DpEvent):
    """Several events charged as one: at least one, none of them free.

    Examples
    --------
    >>> from dpcore.plugin.parts import ComposedDpEvent, PureAccountant, PureDpEvent
    >>> both = ComposedDpEvent((PureDpEvent(0.25), PureDpEvent(0.5)))
    >>> float(PureAccountant.from_budget(1.0, 0).cost(both))
    0.75
    """

    events: tuple[DpEvent, ...]

    def __post_init__(self) -> None:
        whole = type(self.events) is tuple and len(self.events) > 0
        if not whole or not all(isinstance(event, DpEvent) for event in self.events):
            raise InvalidInputError("Expected events to be a tuple of one DpEvent or more.")


@dataclass(frozen=True, slots=True)
class RandomizedSensitivityGaussian(DpEvent):
    """Normal noise on an answer whose sensitivity a secret random choice sets, made without looking
    at the rows (Chen, Lee & Kifer 2019, section 4.2). The noise has standard deviation ``sigma``;
    the answer moves by at most ``deltas[j]`` in l2 with probability ``weights[j] / sum(weights)``.
    What the release shows may tell j.

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
        if not type(self.deltas) is type(self.weights) is tuple:
            raise InvalidInputError("Expected deltas and weights to be tuples.")
        if not self.deltas or len(self.deltas) != len(self.weights):
            raise InvalidInputError("Expected one delta or more, and a weight for each.")
        for delta in self.deltas:
            DpEvent.require_positive("delta", delta)
        if not all(type(weight) is int and weight >= 1 for weight in self.weights):
            raise InvalidInputError("Expected weights to be whole numbers >= 1.")
        DpEvent.require_positive("sigma", self.sigma)


@dataclass(frozen=True, slots=True)
class PoissonSampledDpEvent(DpEvent):
    """A release over a sample that each row joined by a coin of its own, drawn afresh and kept
    secret.

    Parameters
    ----------
    sampling_probability : of each row, from 2^-1022, below which a float has fewer bits, to 1;
        rounded up.
    event : what the release costs a row that is in the sample: its noise multiplier is relative to
        the sensitivity under ``relation``. Under replace-one that covers a row's removal too: the
        sample holds the row's place on both tables or on neither.
    relation : which bounds hold depends on it.
    """

    sampling_probability: float
    event: DpEvent
    relation: NeighboringRelation

    def __post_init__(self) -> None:
        DpEvent.require_positive("sampling_probability", self.sampling_probability)
        if not sys.float_info.min <= self.sampling_probability <= 1:
            raise InvalidInputError(
                f"Expected 2^-1022 <= sampling_probability={self.sampling_probability!r} <= 1."
            )
        _require_one_release(self.event)
        if not isinstance(self.relation, NeighboringRelation):
            raise InvalidInputError(f"Expected relation={self.relation!r} to be a relation.")


@dataclass(frozen=True, slots=True)
class SampledWithoutReplacementDpEvent(DpEvent):
    """A release over ``sample_size`` of ``source_dataset_size`` rows, every choice equally likely,
    drawn afresh and kept secret.

    Parameters
    ----------
    source_dataset_size, sample_size : the public number of rows, and how many take part.
    event : what the release costs a row that is in the sample, under ``relation``.
    relation : replace-one or replace-special, under which the number of rows is public. Under the
        latter the noise need not cover that another row takes a row's place in the sample.
    """

    source_dataset_size: int
    sample_size: int
    event: DpEvent
    relation: NeighboringRelation

    def __post_init__(self) -> None:
        n, size = self.source_dataset_size, self.sample_size
        if type(n) is not int or type(size) is not int or not 1 <= size <= n:
            raise InvalidInputError(
                f"Expected 1 <= sample_size={size!r} <= source_dataset_size={n!r}, whole numbers."
            )
        if not isinstance(self.relation, NeighboringRelation) or not self.relation.size_is_public:
            raise InvalidInputError(
                f"Expected relation={self.relation!r} to be one with a public number of rows."
            )
        _require_one_release(self.event)


def _require_one_release(event: DpEvent) -> None:
    composed = ComposedDpEvent, PoissonSampledDpEvent, SampledWithoutReplacementDpEvent
    if not isinstance(event, DpEvent) or isinstance(event, composed):
        raise InvalidInputError("Expected the event of one release that is not sampled itself.")

"""Noise by an author's sum of exact deviates, whose cost the author states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import ScaledNoise, sealed
from dpcore_accounting.distributions.continuous_distribution import ContinuousDistribution
from dpcore_accounting.distributions.old_names import take_old_name

if TYPE_CHECKING:
    from dpcore.plugin.parts import NoiseSource, Sensitivity

__all__ = ["AddedDeviates", "require_distribution"]


@sealed
@dataclass(frozen=True, slots=True)
class AddedDeviates(ScaledNoise):
    """Base of mechanisms that add floor(s X) to each coordinate of an answer on the grid, X an
    independent deviate of a continuous distribution, and s the noise multiplier times the
    sensitivity.

    For x on the grid x + floor(s X) is floor(x + s X): post-processing of the continuous mechanism,
    so that a theorem about s X holds of what is released. The floor is of the whole sum, decided by
    as many digits as it takes. (A sum of the floors of its terms has another distribution.)

    A subclass states the distribution and the cost: ``distribution``, ``needs`` ("l1", "l2" or
    "linf"), ``name`` and ``event(sensitivity)``, whose theorem is about noise of
    ``exact_multiplier(sensitivity)`` times the sensitivity. That is its author's claim, and the
    privacy statement names the class.

    Parameters
    ----------
    noise_multiplier : s over the sensitivity, > 0.

    Raises InvalidInputError for a ``distribution`` that is no ContinuousDistribution, or of one
    normal or Laplace deviate: the mechanisms of these have a cost that nobody has to claim.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from dpcore.plugin import NeighboringRelation
    >>> from dpcore.plugin.parts import LaplaceDpEvent, Sensitivity, float_down
    >>> from dpcore_accounting.distributions import AddedDeviates, ContinuousDistribution
    >>> @dataclass(frozen=True)
    ... class TwoLaplaces(AddedDeviates):
    ...     name = "two-laplaces"
    ...     needs = "l1"
    ...     distribution = ContinuousDistribution((("laplace", 1.0), ("laplace", 0.5)))
    ...     def event(self, sensitivity):
    ...         # The second deviate is added to what the first has made private.
    ...         return LaplaceDpEvent(float_down(self.exact_multiplier(sensitivity)))
    >>> one = Sensitivity("l1", 1.0, NeighboringRelation.ADD_OR_REMOVE_ONE)
    >>> TwoLaplaces(4.0).event(one)
    LaplaceDpEvent(noise_multiplier=4.0)
    """

    distribution: ClassVar[ContinuousDistribution]

    def __init_subclass__(cls) -> None:
        take_old_name(cls)

    def __post_init__(self) -> None:
        ScaledNoise.__post_init__(self)
        require_distribution(self, {"normal": "gaussian", "laplace": "laplace"})

    def release(
        self, exact: np.ndarray, sensitivity: Sensitivity, noise: NoiseSource
    ) -> np.ndarray:
        drawn = self.distribution.draw(noise, self.scale(sensitivity), np.size(exact))
        floors = np.array([each.floor() % 2**64 for each in drawn], dtype=np.uint64)
        return self.add_modulo(
            exact, floors.view(np.int64).reshape(np.shape(exact)), sensitivity.grid_bits
        )


def require_distribution(mechanism: ScaledNoise, others: dict[str, str]) -> None:
    """Raise InvalidInputError unless a mechanism's distribution is a ContinuousDistribution, of
    several terms or of a kind that none of the ``others``, registered mechanisms, is of."""
    take_old_name(type(mechanism), mechanism)  # It may have been stated since.
    distribution = getattr(type(mechanism), "distribution", None)
    name = type(mechanism).__name__
    if type(distribution) is not ContinuousDistribution:
        raise InvalidInputError(f"Expected distribution of {name} to be a ContinuousDistribution.")
    if distribution.only in others:
        raise InvalidInputError(
            f"{name} has a distribution of one {distribution.only} deviate: take the mechanism "
            f"{others[distribution.only]}, whose cost is known and is no claim."
        )

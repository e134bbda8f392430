"""Selections of the largest score after noise of an author's distribution, one deviate a
candidate."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin.parts import ScaledNoise, sealed
from dpcore_accounting.distributions.added_deviates import require_distribution
from dpcore_accounting.distributions.continuous_distribution import ContinuousDistribution, Deviate
from dpcore_accounting.distributions.old_names import take_old_name
from dpcore_accounting.distributions.table_noise import TableNoise
from dpcore_accounting.selections.utilities import require_utilities

if TYPE_CHECKING:
    from dpcore.plugin.parts import NoiseSource, Sensitivity

__all__ = ["NoisyMaximum", "TableMaximum"]


@sealed
@dataclass(frozen=True, slots=True)
class NoisyMaximum(ScaledNoise):
    """Base of selections of argmax(u_i + s X_i): u_i exact integer scores, the largest the best,
    X_i independent deviates of a continuous distribution, s the noise multiplier times the
    sensitivity.

    Nothing is rounded: the deviates are compared to as many digits as the comparison takes, so that
    no two are equal, and a theorem about the continuous argmax holds of what is released.

    A subclass states the distribution and the cost: ``distribution``, ``needs`` ("range", of the
    scores' change, or their "linf"), ``name`` and ``event(sensitivity)``. That is its author's
    claim, and the privacy statement names the class. Three distributions need none, and are other
    mechanisms: exponential deviates are ``permute-and-flip``, Laplace ones ``report-noisy-max``,
    Gumbel ones ``exponential``.

    Parameters
    ----------
    noise_multiplier : s over the sensitivity, > 0.

    Raises InvalidInputError for a ``distribution`` that is no ContinuousDistribution, or one of
    these.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from dpcore.plugin import NeighboringRelation
    >>> from dpcore.plugin.parts import PureDpEvent, SeededNoise, Sensitivity, float_up
    >>> from dpcore_accounting.distributions import ContinuousDistribution, NoisyMaximum
    >>> @dataclass(frozen=True)
    ... class GammaMaximum(NoisyMaximum):
    ...     name = "gamma-maximum"
    ...     needs = "range"
    ...     distribution = ContinuousDistribution((("gamma", 1.0, 2),))
    ...     def event(self, sensitivity):
    ...         # A gamma deviate's upper tail falls by exp(-t) at most over a length t.
    ...         return PureDpEvent(float_up(1 / self.exact_multiplier(sensitivity)))
    >>> add = NeighboringRelation.ADD_OR_REMOVE_ONE
    >>> scores = Sensitivity("linf", 1.0, add, change_range=1.0)
    >>> GammaMaximum(2.0).event(scores)
    PureDpEvent(epsilon=0.5)
    >>> GammaMaximum(2.0).release(np.array([3, 9, 1]), scores, SeededNoise(0))
    1
    """

    distribution: ClassVar[ContinuousDistribution]
    compares_answers: ClassVar[bool] = True
    """Answers that wrap around are compared as they are: the promise is for tables of at most as
    many rows as the schema's capacity, which the statement says."""

    def __init_subclass__(cls) -> None:
        take_old_name(cls)

    def __post_init__(self) -> None:
        ScaledNoise.__post_init__(self)
        require_distribution(
            self, {"exponential": "permute-and-flip", "laplace": "report-noisy-max"}
        )

    def release(self, exact: np.ndarray, sensitivity: Sensitivity, noise: NoiseSource) -> int:
        require_utilities(exact)
        drawn = self.distribution.draw(noise, self.scale(sensitivity), exact.size)
        return _largest(exact.tolist(), list(drawn))


def _largest(scores: list[int], deviates: list[Deviate]) -> int:
    """Return the index of the largest sum of a score and its deviate."""
    left = list(range(len(scores)))
    for digits in count(1):
        bounds = {}
        for i in left:
            low, high, shift = deviates[i].bounds(digits)
            bounds[i] = low + (scores[i] << shift), high + (scores[i] << shift)
        best = max(low for low, _ in bounds.values())
        left = [i for i, (_, high) in bounds.items() if high > best]
        if len(left) == 1:
            return left[0]
    raise AssertionError("unreachable")


@sealed
@dataclass(frozen=True, slots=True)
class TableMaximum(TableNoise):
    """Selects argmax(u_i + Z_i), Z_i independent deviates of an integer distribution; the lowest
    index among equals.

    The choice is a function of the whole noisy vector, so it costs at most what that does, as
    ``TableNoise`` counts it, and is charged so. (The theorems for an argmax compare continuous
    deviates, which are never equal; those of a table often are.)

    Parameters
    ----------
    distribution, delta : as of ``TableNoise``.
    coordinates : how many candidates there are, a public value.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.plugin import NeighboringRelation
    >>> from dpcore.plugin.parts import SeededNoise, Sensitivity
    >>> from dpcore_accounting.distributions import IntegerDistribution, TableMaximum
    >>> scores = Sensitivity("linf", 1.0, NeighboringRelation.ADD_OR_REMOVE_ONE)
    >>> chosen = TableMaximum(IntegerDistribution(-1, (1, 2, 1)), coordinates=3)
    >>> chosen.release(np.array([3, 9, 1]), scores, SeededNoise(0))
    1
    """

    name: ClassVar[str] = "table-maximum"
    compares_answers: ClassVar[bool] = True

    def release(  # type: ignore[override]
        self, exact: np.ndarray, sensitivity: Sensitivity, noise: NoiseSource
    ) -> int:
        require_utilities(exact)
        self._require_coordinates(exact)
        # Python integers: a sum that wraps around would be the least, which nobody wants.
        return int(
            np.argmax(exact.astype(object) + self.distribution.draw(noise, self.coordinates))
        )

"""The exponential mechanism: selects an index, likelier the larger its utility."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcore.plugin.parts import (
    ExponentialMechanismDpEvent,
    NoiseSource,
    PureNoise,
    ScaledNoise,
    Sensitivity,
    sealed,
)
from dpcore_accounting.selections.utilities import shortfalls

__all__ = ["Exponential"]

_FIRST_BATCH = 32
_LARGEST_BATCH = 1 << 15


@sealed
@dataclass(frozen=True, slots=True)
class Exponential(ScaledNoise):
    """Selects i with probability proportional to exp(u_i / s) (McSherry & Talwar 2007).

    Between neighbours log p_i - log p_j moves by at most R/s, R the range of the change of the
    utilities, under the sensitivity's own relation: a bounded range of epsilon = R/s =
    1/noise_multiplier (Durfee & Rogers 2019; Dong, Durfee & Rogers 2020). That is epsilon-DP and
    epsilon^2/8-zCDP (Cesar & Rogers 2021, by Hoeffding's lemma).

    Drawn exactly, by rejection: i uniform, kept if E > (max u - u_i)/s for an exponential deviate
    E, that is if floor(s E) >= max u - u_i, since utilities are whole grid steps. Trials are drawn
    in batches and the first that is kept wins: at most n_candidates trials on average.

    Parameters
    ----------
    noise_multiplier : s over the range of the change, > 0.

    Examples
    --------
    >>> from dpcore_accounting.selections.exponential import Exponential
    >>> Exponential.nominal_event(2.0)  # of utilities that move by 1, and a scale of 2
    ExponentialMechanismDpEvent(epsilon=0.5)
    """

    name: ClassVar[str] = "exponential"
    needs: ClassVar[str] = "range"

    @classmethod
    def nominal_event(cls, noise_multiplier: float) -> ExponentialMechanismDpEvent:
        """Return the event of the multiplier as given; the grid can only lower its cost."""
        return ExponentialMechanismDpEvent(PureNoise.pure_epsilon(noise_multiplier))

    def event(self, sensitivity: Sensitivity) -> ExponentialMechanismDpEvent:
        return ExponentialMechanismDpEvent(
            PureNoise.pure_epsilon(self.exact_multiplier(sensitivity))
        )

    def release(self, exact: np.ndarray, sensitivity: Sensitivity, noise: NoiseSource) -> int:
        scale, missing = self.scale(sensitivity), shortfalls(exact)
        batch = _FIRST_BATCH
        while True:
            trials = noise.integers_below(missing.size, batch)
            kept = np.flatnonzero(noise.exponential(scale, batch) >= missing[trials])
            if kept.size:
                return int(trials[kept[0]])
            batch = min(2 * batch, _LARGEST_BATCH)

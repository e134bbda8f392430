"""Permute-and-flip: selects an index by a coin for each candidate, in random order."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcore.plugin.parts import NoiseSource, PureNoise, Sensitivity, sealed
from dpcore_accounting.selections.utilities import shortfalls

__all__ = ["PermuteAndFlip"]


@sealed
@dataclass(frozen=True, slots=True)
class PermuteAndFlip(PureNoise):
    """Selects the first i, in random order, whose coin of probability exp(-(max u - u_i)/s) falls.

    It has the distribution of argmax(u_i + s E_i), E_i exponential (Ding et al. 2021, "The
    permute-and-flip mechanism is identical to report-noisy-max with exponential noise"). Given the
    other deviates i wins if E_i exceeds a threshold, which moves by at most R/s between neighbours,
    R the range of the change of the utilities; and P(E > t) <= exp(R/s) P(E > t + R/s). So it is
    epsilon-DP with epsilon = R/s = 1/noise_multiplier (McKenna & Sheldon 2020, for R twice the
    change of one utility), under the sensitivity's own relation. It is not of bounded range: no
    epsilon^2/8 in zCDP. The one-sided deviate is added to utilities; on losses it must be
    subtracted.

    Drawn exactly: the coin is floor(s E) >= max u - u_i, since utilities are whole grid steps.

    Parameters
    ----------
    noise_multiplier : s over the range of the change, > 0.

    Examples
    --------
    >>> from dpcore_accounting.selections.permute_and_flip import PermuteAndFlip
    >>> PermuteAndFlip.nominal_event(2.0)  # of utilities that move by 1, and a scale of 2
    PureDpEvent(epsilon=0.5)
    """

    name: ClassVar[str] = "permute-and-flip"
    needs: ClassVar[str] = "range"

    def release(self, exact: np.ndarray, sensitivity: Sensitivity, noise: NoiseSource) -> int:
        scale, missing = self.scale(sensitivity), shortfalls(exact)
        order = noise.permutation(missing.size)
        falls = noise.exponential(scale, missing.size) >= missing[order]
        return int(order[np.argmax(falls)])

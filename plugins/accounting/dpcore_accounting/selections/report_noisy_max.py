"""Report noisy max: selects the largest utility after Laplace noise."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcore.plugin.parts import NoiseSource, PureNoise, Sensitivity, sealed
from dpcore_accounting.selections.utilities import require_utilities

__all__ = ["ReportNoisyMax"]


@sealed
@dataclass(frozen=True, slots=True)
class ReportNoisyMax(PureNoise):
    """Selects argmax(u_i + floor(b L_i)), L_i Laplace deviates; the lowest index among equals.

    epsilon-DP with epsilon = R/b = 1/noise_multiplier, R the range of the change of the utilities,
    under the sensitivity's own relation (Dwork & Roth 2014, Claim 3.9, where all utilities move the
    same way and R is the change of one).

    Floors and ties keep the proof. Fix all noise but Z_i = floor(b L_i). Then i wins if and only if
    Z_i >= t with the integer t = max over j != i of (u_j + Z_j + [j < i]) - u_i; the term for ties
    is the same for both neighbours, so t grows by at most R steps. And P(Z_i >= t) = P(L >= t/b) is
    at most exp(R/b) P(L >= (t + R)/b), for integers t and R as for any. The sums are Python
    integers: were they reduced modulo 2^64, to win would not be to pass a threshold.

    It has no bound of epsilon^2/8 in zCDP: its cost there is that of any epsilon-DP release.

    Parameters
    ----------
    noise_multiplier : b over the range of the change, > 0.

    Examples
    --------
    >>> from dpcore_accounting.selections.report_noisy_max import ReportNoisyMax
    >>> ReportNoisyMax.nominal_event(2.0)  # of utilities that move by 1, and a scale of 2
    PureDpEvent(epsilon=0.5)
    """

    name: ClassVar[str] = "report-noisy-max"
    needs: ClassVar[str] = "range"

    def release(self, exact: np.ndarray, sensitivity: Sensitivity, noise: NoiseSource) -> int:
        require_utilities(exact)
        drawn = noise.unwrapped_laplace(self.scale(sensitivity), exact.size)
        return int(np.argmax(exact.astype(object) + drawn))

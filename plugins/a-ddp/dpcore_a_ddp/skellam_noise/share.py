"""A user's share of the Skellam noise on a sum that nobody sees in parts."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import (
    NoiseSource,
    Sensitivity,
    SkellamDpEvent,
    sealed,
)
from dpcore_a_ddp.skellam_noise.distribution import draw_skellam
from dpcore_a_ddp.skellam_noise.mechanism import Skellam, skellam_event

__all__ = ["SkellamShare"]


@sealed
@dataclass(frozen=True, slots=True)
class SkellamShare(Skellam):
    """Adds one of ``honest`` shares of Skellam noise: a part of a sum, never to be seen by itself.

    The sum of the answers of at least ``honest`` users who keep to it carries Skellam noise of the
    standard deviation ``noise_multiplier`` times the sensitivity, or more (Agarwal, Kairouz & Liu
    2021, section 4: Skellam numbers add up; more noise is post-processing). That sum is what is
    charged, whoever else is in it.

    .. warning::
       A share alone hides next to nothing. Only masked, by secure aggregation, may it leave a user:
       a session that was not opened for shares refuses it.

    Parameters
    ----------
    noise_multiplier : of the sum of ``honest`` shares, > 0.
    honest : how many shares make up the noise: users in any sum that is opened, less those who may
        collude and give their shares away.
    n_features : length of the answer, which bounds its l1 sensitivity.
    """

    honest: int = 1
    n_features: int = 1

    name: ClassVar[str] = "skellam-share"
    is_share: ClassVar[bool] = True

    def __post_init__(self) -> None:
        Skellam.__post_init__(self)
        if self.honest < 1 or self.n_features < 1:
            raise InvalidInputError("Expected one honest user and one feature, or more.")

    def variance(self, sensitivity: Sensitivity) -> Fraction:
        """Return the variance of one share, in squared steps."""
        return self.scale(sensitivity).steps ** 2 / self.honest

    def event(self, sensitivity: Sensitivity) -> SkellamDpEvent:
        steps = Fraction(self.bound_of(sensitivity)) * Fraction(2) ** sensitivity.grid_bits
        return skellam_event(self.scale(sensitivity).steps ** 2, steps, self.n_features)

    def release(
        self, exact: np.ndarray, sensitivity: Sensitivity, noise: NoiseSource
    ) -> np.ndarray:
        drawn = draw_skellam(noise, self.variance(sensitivity), np.shape(exact))
        return self.add_modulo(exact, drawn, sensitivity.grid_bits)

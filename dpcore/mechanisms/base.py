"""The common base of the built-in mechanisms: one noise multiplier, scaled to one bound."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.exact.rounding import float_up
from dpcore.moved import renamed_method
from dpcore.noise.scale import GridScale
from dpcore.privacy.events import PureDpEvent
from dpcore.privacy.immutable import sealed
from dpcore.privacy.sensitivity import Sensitivity

__all__ = [
    "PureNoise",
    "ScaledNoise",
]


@sealed
@dataclass(frozen=True, slots=True)
class ScaledNoise:
    """Noise of scale ``noise_multiplier`` times the bound of the sensitivity that ``needs`` names.

    Raises InvalidInputError if ``noise_multiplier`` is not a finite float > 0.
    """

    noise_multiplier: float

    name: ClassVar[str]
    needs: ClassVar[str]

    def __post_init__(self) -> None:
        value = self.noise_multiplier
        is_float = type(value) is float or type(value) is np.float64
        if not (is_float and math.isfinite(value) and value > 0):
            raise InvalidInputError(
                f"Expected noise_multiplier={value!r} to be a finite float > 0."
            )
        object.__setattr__(self, "noise_multiplier", float(value))

    def scale(self, sensitivity: Sensitivity) -> GridScale:
        """Return the noise scale in grid steps, rounded up.

        Raises InvalidInputError for a sensitivity without the bound, or noise beyond the grid.
        """
        return GridScale.at_least(
            self.noise_multiplier, self.bound_of(sensitivity), sensitivity.grid_bits
        )

    def exact_multiplier(self, sensitivity: Sensitivity) -> Fraction:
        """Return the scale that is really drawn over the sensitivity: at least what was asked."""
        return self.scale(sensitivity).over(self.bound_of(sensitivity), sensitivity.grid_bits)

    @staticmethod
    def require_steps(exact: np.ndarray) -> None:
        """Raise InvalidInputError for an exact answer that is not int64."""
        if not isinstance(exact, np.ndarray) or exact.dtype != np.int64:
            raise InvalidInputError("Expected the exact answer as an int64 array of grid steps.")

    @staticmethod
    def add_modulo(exact: np.ndarray, noise: np.ndarray, grid_bits: int) -> np.ndarray:
        """Return ``exact + noise`` modulo 2^64, in the answer's unit: float64 of the same shape.

        ``exact``, ``noise`` : int64 arrays of one shape, in steps of ``2**-grid_bits``. A sum that
        leaves 64 bits wraps around: a function of x + Z, so post-processing; it costs utility only.

        Raises InvalidInputError for an exact answer that is not int64, or noise of another shape,
        which would be that of one entry for several.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.plugin.parts import ScaledNoise
        >>> ScaledNoise.add_modulo(np.array([2**63 - 1]), np.array([1]), 0)  # wraps around
        array([-9.22337204e+18])
        """
        ScaledNoise.require_steps(exact)
        if np.shape(noise) != exact.shape:
            raise InvalidInputError(
                f"Expected noise of shape {exact.shape}, not {np.shape(noise)}."
            )
        return np.asarray(np.ldexp(np.add(exact, noise).astype(np.float64), -grid_bits))

    def bound_of(self, sensitivity: Sensitivity) -> float:
        """Return the bound of the sensitivity that this noise is scaled to, in the answer's unit.

        Raises InvalidInputError for a sensitivity without it, and for a class that overrides
        ``figure``, this method's old name: it would have less noise than it says.
        """
        if (kind := type(self)).figure is not ScaledNoise.figure:
            raise InvalidInputError(
                f"{kind.__name__}.figure is bound_of now: noise is scaled by that."
            )
        if self.needs == "range":
            if sensitivity.change_range is None:
                raise InvalidInputError(
                    f"The {self.name} mechanism needs the range of the change of scores, and this "
                    f"{sensitivity.norm} sensitivity states none."
                )
            return sensitivity.change_range
        if sensitivity.norm != self.needs:
            raise InvalidInputError(
                f"The {self.name} mechanism needs an {self.needs} sensitivity, and this one is in "
                f"{sensitivity.norm}."
            )
        return sensitivity.bound

    figure = renamed_method("figure", "bound_of")


@sealed
@dataclass(frozen=True, slots=True)
class PureNoise(ScaledNoise):
    """Noise whose release is known to be (1 / noise_multiplier)-DP, and no more: a subclass
    says by which theorem."""

    @staticmethod
    def pure_epsilon(multiplier: Fraction | float) -> float:
        """Return 1 / multiplier, rounded up: the epsilon of noise of that multiple of a change."""
        return float_up(1 / Fraction(multiplier))

    @classmethod
    def nominal_event(cls, noise_multiplier: float) -> PureDpEvent:
        """Return the event of the multiplier as given; the grid can only lower its cost."""
        return PureDpEvent(PureNoise.pure_epsilon(noise_multiplier))

    def event(self, sensitivity: Sensitivity) -> PureDpEvent:
        return PureDpEvent(PureNoise.pure_epsilon(self.exact_multiplier(sensitivity)))

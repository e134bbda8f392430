"""Losses whose slopes exceed what is declared of them, beyond the margins that are usual."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcore.plugin import option
from dpcore.plugin.parts import Logistic
from dpcore_baselines.losses.quantile import Quantile

FAR = 2.0**14


class SteepFarOut(Logistic):
    """Rises twice as fast beyond margins of 16,384, and says so of its slope."""

    convex = True

    def value(self, z, y, out):
        super().value(z, y, out)
        out += np.maximum(-y * z - FAR, 0.0)

    def dvalue(self, z, y, out):
        super().dvalue(z, y, out)
        out -= np.where(-y * z > FAR, y, 0.0)


class SteepUnsaid(SteepFarOut):
    """The same, and its slope does not say so."""

    def dvalue(self, z, y, out):
        Logistic.dvalue(self, z, y, out)


class JumpsFarOut(Logistic):
    """Its slope, declared smooth, jumps at 2^40."""

    def value(self, z, y, out):
        super().value(z, y, out)
        out[:] = np.where(-y * z > 2.0**40, 2.0**40 + 0.5 * (-y * z - 2.0**40), out)

    def dvalue(self, z, y, out):
        super().dvalue(z, y, out)
        out *= np.where(-y * z > 2.0**40, 0.5, 1.0)


class WritesMargins(Logistic):
    """Writes the margins of each call to a file."""

    def value(self, z, y, out):
        np.save("margins.npy", z)
        super().value(z, y, out)


@dataclass(frozen=True)
class SteepAtOtherLevels(Quantile):
    """States the slope of one side alone: at the default level both are alike."""

    name: ClassVar[str] = "steep-at-other-levels"

    @property
    def lipschitz(self):
        return self.tau


@dataclass(frozen=True)
class SmoothAtHalf(Quantile):
    """Its smoothness is upside down, which is the same at the default width alone."""

    name: ClassVar[str] = "smooth-at-half"
    half_width: float = option(0.5, "half of the bend", range=(2.0**-10, 2.0))

    @property
    def smoothness(self):
        return 2.0 * self.half_width

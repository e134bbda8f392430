"""Propose, test, release: a deep point, if the models are far from any that are not safe."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError, Problem
from dpcore.plugin.parts import (
    ApproximateDpEvent,
    GridScale,
    Sensitivity,
    exp_down,
    log_up,
    sealed,
)
from dpcore_tukey.boxes import Boxes, DepthDistribution
from dpcore_tukey.part_models import PartModels

if TYPE_CHECKING:
    from dpcore.plugin.parts import NoiseSource

__all__ = ["ProposeTestRelease"]


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class ProposeTestRelease:
    """First whether the test is passed, then, asked for it, a point drawn by ``DepthDistribution``:
    together (``epsilon``, ``delta``)-DP, under the relations of ``PartModels``.

    The test: h + X >= tau, h the distance of ``DepthDistribution`` and X two-sided geometric noise
    of scale b = 1 / epsilon_1, P(X = x) proportional to q^|x|, q = e^(-epsilon_1). tau is the least
    whole number with q^tau / (1 + q) <= delta: the probability that X >= tau. With epsilon_2 =
    epsilon - epsilon_1 - delta for the draw:

    * h moves by at most 1 between neighbours, so the outcome of the test is epsilon_1-DP.
    * Models D that are safe: P(F) <= e^(epsilon_2) (1 + delta) P'(F) + delta of the points drawn.
      So a set S of outcomes, those that fail and, passed, points of F, has on D at most
      e^(epsilon_1) P'(fails) + P(passes) (e^(epsilon_2 + delta) P'(F) + delta), at most
      e^epsilon P'(S) + delta.
    * Models D that are not: h = 0, and they pass with probability delta at most. So S has on D at
      most P(fails) + delta <= e^(epsilon_1) P'(fails) + delta.

    Either holds of D alone, whatever D' is, so both orders of two neighbours are covered. Propose,
    test, release is Dwork & Lei's (2009); delta is spent once, on whichever of the two it is.

    Parameters
    ----------
    base : the models. ``epsilon`` : of all. ``delta`` : below ``epsilon`` / 2.
    test_share : of ``epsilon`` for the test. ``least`` : depth of the points drawn, >= 1, below
        half of the models.
    """

    base: PartModels
    epsilon: float
    delta: float
    test_share: float
    least: int

    kind: ClassVar[str] = "depth"
    reference: ClassVar[None] = None
    most_questions: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if type(self.base) is not PartModels:
            raise InvalidInputError("Expected base to be PartModels, where a row moves one model.")
        for name in ("epsilon", "delta", "test_share"):
            object.__setattr__(self, name, float(getattr(self, name)))
        if not (0 < self.delta < self.epsilon / 2 < math.inf and self.delta < 0.5):
            raise InvalidInputError(
                f"Expected delta={self.delta!r} > 0, below 1/2 and half of "
                f"epsilon={self.epsilon!r}."
            )
        if not 0.001 <= self.test_share <= 0.999:
            raise InvalidInputError(f"Expected test_share={self.test_share!r} within .001 to .999.")
        if type(self.least) is not int or not 1 <= self.least < self.distribution.deepest:
            raise InvalidInputError(f"Expected least={self.least!r} of at least 1, below m / 2.")

    @property
    def question(self) -> Sensitivity:
        return self.base.sensitivity(self.base.problem.relation)

    @property
    def scale(self) -> GridScale:
        """b, the scale of the test's noise."""
        of_test = Fraction(self.test_share) * (Fraction(self.epsilon) - Fraction(self.delta))
        return GridScale.at_least(float(1 / of_test) * (1 + 2.0**-50), 1.0, 0)

    @property
    def distribution(self) -> DepthDistribution:
        left = Fraction(self.epsilon) - Fraction(self.delta) - 1 / self.scale.steps
        return DepthDistribution(self.base.models, self.least, left)

    @property
    def threshold(self) -> int:
        """tau: at least ln(1 / (delta (1 + q))) b."""
        b = self.scale.steps
        return math.ceil(b * log_up(1 / (Fraction(self.delta) * (1 + exp_down(-1 / b)))))

    def event(self, sensitivity: Sensitivity, reference: Sensitivity | None) -> ApproximateDpEvent:
        return ApproximateDpEvent(self.epsilon, self.delta)

    def narrowed(self, index: int, query: Any) -> PartModels:
        """Return the models again: the one question is for the point."""
        return self.base

    def begin(
        self, exact: np.ndarray, sensitivity: Sensitivity, reference: Any, noise: NoiseSource
    ) -> TestedModels:
        return TestedModels(self, Boxes(exact), noise)


class TestedModels:
    """The state: the models' boxes, and whether they passed."""

    __test__ = False  # for pytest
    epsilon = None

    def __init__(self, mechanism: ProposeTestRelease, boxes: Boxes, noise: NoiseSource) -> None:
        self._distribution, self._boxes, self._noise = mechanism.distribution, boxes, noise
        distance = self._distribution.distance(boxes, Fraction(mechanism.delta))
        drawn = int(noise.geometric(mechanism.scale, 1)[0])
        self.first = distance + drawn >= mechanism.threshold
        self.halted = not self.first

    def reply(self, exact: np.ndarray) -> np.ndarray:
        """Return the point, float64 of shape (n_features,)."""
        if self.halted:
            raise InvalidInputError("The mechanism has halted.")
        self.halted = True
        point = self._distribution.draw(self._boxes, self._noise)
        return np.ldexp(point.astype(np.float64), -Problem.PARAMETER_BITS)

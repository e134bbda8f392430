"""The Brownian mechanism: an answer with normal noise that is taken off step by step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import (
    ApproximateDpEvent,
    GridScale,
    cached_by_value,
    float_up,
    sealed,
    sqrt_up,
)
from dpcore_accuracy_first.brownian_noise.boundary import least_clocks
from dpcore_accuracy_first.brownian_noise.path import normal_path

if TYPE_CHECKING:
    from dpcore.plugin.parts import DerivedQuery, NoiseSource, Query, Sensitivity

__all__ = ["Brownian", "BrownianPath", "increments"]

_WRAP = 1 << 64


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class Brownian:
    """Releases an answer with less and less normal noise, for as long as it is asked (Whitehouse,
    Ramdas, Wu & Rogers, NeurIPS 2022, "Brownian noise reduction").

    Level t adds a sum of independent exact normal deviates, those of the levels from t on; the
    levels' sums are floored to the answer's grid together (``normal_path``). So levels 1..t are a
    function of the continuous answer at level t and of noise that no row has a part in. Which
    level is the last may be chosen from what was seen: the outcome costs the loss of the last level
    that was looked at (``dpcore_accuracy_first.brownian_noise.boundary``), and the whole (loss of
    the last level, ``delta``), under the relation of the base's sensitivity. The loss at an
    earlier, noisier one would be too small.

    Parameters
    ----------
    base : the query whose noisy answers are released; its sensitivity in l2. Asked for again by
        every question, which is the next level.
    losses : epsilon of each level, increasing: the noise of each follows.
    delta : of all levels together, in (0, 1).
    question : the sensitivity of ``base``.
    """

    base: Query | DerivedQuery
    losses: tuple[float, ...]
    delta: float
    question: Sensitivity

    kind: ClassVar[str] = "brownian"
    compares_answers: ClassVar[bool] = False
    reference: ClassVar[None] = None

    def __post_init__(self) -> None:
        require_losses(self.losses, self.delta)

    @property
    def most_questions(self) -> int:
        return len(self.losses) - 1

    def event(self, sensitivity: Sensitivity, reference: Sensitivity | None) -> ApproximateDpEvent:
        increments(self.losses, self.delta, sensitivity)
        return ApproximateDpEvent(self.losses[-1], self.delta)

    def begin(
        self,
        exact: np.ndarray,
        sensitivity: Sensitivity,
        reference: tuple[np.ndarray, Sensitivity] | None,
        noise: NoiseSource,
    ) -> _Descent:
        scales = increments(self.losses, self.delta, sensitivity)
        return _Descent(
            BrownianPath(exact.reshape(-1), scales, sensitivity.grid_bits, noise), self.losses
        )


class BrownianPath:
    """An exact answer at every level, walked from the noisiest to the most accurate.

    Levels that were not looked at are as private as the exact answer itself: this object stays
    inside the session.
    """

    def __init__(
        self,
        exact: np.ndarray,
        scales: tuple[GridScale, ...],
        grid_bits: int,
        noise: NoiseSource,
    ) -> None:
        whole = normal_path(noise, scales, exact.size) + exact.astype(object)
        # Modulo 2^64, a homomorphism, as all noise.
        wrapped = (whole + _WRAP // 2) % _WRAP - _WRAP // 2
        self._levels = list(wrapped.astype(np.int64)[::-1])
        self._grid_bits = grid_bits

    def next(self) -> np.ndarray:
        """Return the next level's value, float64, the noisiest first."""
        value: np.ndarray = np.ldexp(self._levels.pop().astype(np.float64), -self._grid_bits)
        return value


class _Descent:
    """The state: an InteractiveState."""

    def __init__(self, path: BrownianPath, losses: tuple[float, ...]) -> None:
        self._path, self._losses, self._level = path, losses, 0
        self.first = path.next()

    @property
    def halted(self) -> bool:
        return self._level == len(self._losses) - 1

    @property
    def epsilon(self) -> Fraction:
        return Fraction(self._losses[self._level])

    def reply(self, exact: np.ndarray) -> np.ndarray:
        if self.halted:
            raise InvalidInputError("The mechanism has halted.")
        self._level += 1
        return self._path.next()


def require_losses(losses: tuple[float, ...], delta: float) -> None:
    """Raise InvalidInputError unless the losses increase from above 0, and 0 < delta < 1."""
    if not losses or not all(math.isfinite(loss) and loss > 0 for loss in losses):
        raise InvalidInputError("Expected losses that are finite and > 0, one or more.")
    if any(a >= b for a, b in zip(losses, losses[1:], strict=False)):
        raise InvalidInputError("Expected losses that increase.")
    if not 0 < delta < 1:
        raise InvalidInputError(f"Expected 0 < delta={delta!r} < 1.")


@cached_by_value(maxsize=8)
def increments(
    losses: tuple[float, ...], delta: float, sensitivity: Sensitivity
) -> tuple[GridScale, ...]:
    """Return the scale of each level's own deviates, the noisiest level's first, rounded up. The
    variance of a level is the sum of the squares from its own on, at least Delta^2 / mu^2.

    Raises InvalidInputError for a sensitivity that is not in l2, or noise that does not fit.
    """
    if sensitivity.norm != "l2":
        raise InvalidInputError(
            f"Brownian noise needs an l2 sensitivity, and this one is in {sensitivity.norm}."
        )
    clocks = least_clocks(losses, delta)
    if not clocks[0]:
        raise InvalidInputError(f"No noise makes a first loss of {losses[0]:.3g} hold.")
    steps = Fraction(sensitivity.bound) * Fraction(2) ** sensitivity.grid_bits
    scales: list[GridScale] = []
    variance = Fraction(0)
    for clock in reversed(clocks):
        missing = max(Fraction(0), steps**2 / clock - variance)
        # Never none: a level of its own has a deviate of its own.
        scale = GridScale.at_least(1.0, max(1.0, float_up(sqrt_up(missing))), 0)
        scales.append(scale)
        variance += scale.steps**2
    return tuple(reversed(scales))

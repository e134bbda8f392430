"""A loss of classes, each row's multiplied by a public weight of its class."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.plugin.parts import LossFacts, float_up, sealed
from dpcore_tables.weights.values import MOST_WEIGHT

if TYPE_CHECKING:
    from dpcore.plugin import Loss

__all__ = ["ClassWeighted", "times_up"]


@sealed
@dataclass(frozen=True, slots=True)
class ClassWeighted:
    """``c_y loss(z, y)``, c_y > 0 the public weight of the row's class.

    Slopes are c_y times those of the loss. So every bound of slopes, of their change with z, and of
    its ``radial_slope`` is c times that of the loss, c the largest weight (rounded up); convexity
    and the slopes' signs stay. The weight is part of the loss: it multiplies a row's gradient
    before it is clipped, and whatever the weights are, the clip bounds what a row contributes.

    The objective is the mean of the weighted losses, beside the same regulariser as without them:
    weights of about 1 in the mean over rows leave it as strong as it was.

    Parameters
    ----------
    loss : of classes, and safe to call from several threads at once, which this one says it is.
    weights : of the classes in their order, of two that of -1.0 first.

    Raises InvalidInputError for a loss or weights that are none of these.
    """

    loss: Loss
    weights: tuple[float, ...]

    classification: ClassVar[bool] = True
    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        inner = self._inner
        object.__setattr__(self, "weights", tuple(float(weight) for weight in self.weights))
        if not (inner.classification and inner.thread_safe) or inner.weighs_rows:
            raise InvalidInputError(
                "Weights of classes need a loss of classes that declares thread_safe = True and "
                f"has no weights of rows, and {inner.name} is none."
            )
        if len(self.weights) < 2 or (len(self.weights) > 2 and not inner.multiclass):
            raise InvalidInputError(
                f"Expected a weight for each of the classes of the loss {inner.name}, not "
                f"{len(self.weights)}."
            )
        if not all(1 / MOST_WEIGHT <= weight <= MOST_WEIGHT for weight in self.weights):
            raise InvalidInputError("Expected weights of classes from 2^-20 to 2^20.")

    @property
    def _inner(self) -> LossFacts:
        return LossFacts.of(self.loss)

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def multiclass(self) -> bool:
        return self._inner.multiclass

    @property
    def convex(self) -> bool:
        return self._inner.convex

    @property
    def nonincreasing(self) -> bool:
        return self._inner.nonincreasing

    @property
    def largest_weight(self) -> float:
        """Above every weight, and 1.0 of no weighted loss: products are rounded."""
        return above(times_up(self._inner.largest_weight, max(self.weights)))

    @property
    def lipschitz(self) -> float:
        return times_up(self._inner.lipschitz, max(self.weights))

    @property
    def smoothness(self) -> float:
        return times_up(self._inner.smoothness, max(self.weights))

    @property
    def radial_slope(self) -> float | None:
        radial_slope = self._inner.radial_slope
        return None if radial_slope is None else times_up(radial_slope, max(self.weights))

    @property
    def precise_dvalue(self) -> Callable[..., None] | None:
        return None if self._inner.precise_dvalue is None else self._fill_precise_slopes

    def value(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        self.loss.value(z, y, out)
        out *= self._of_rows(y)

    def dvalue(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        self.loss.dvalue(z, y, out)
        out *= self._of_rows(y)

    def _fill_precise_slopes(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        fill = self._inner.precise_dvalue
        assert fill is not None
        fill(z, y, out)
        out *= self._of_rows(y)

    def _of_rows(self, y: np.ndarray) -> np.ndarray:
        """Return each row's weight: a label is a class by its sign or its place, as for the loss,
        and one beyond the last place, which no table has, is of the last class."""
        if not self.multiclass:
            return np.where(y > 0.0, self.weights[1], self.weights[0])
        places = np.clip(y, 0.0, len(self.weights) - 1.0).astype(np.int64)
        weights: np.ndarray = np.array(self.weights)[places]
        return weights


def above(weight: float) -> float:
    """Return the next number above a weight that is not 1.0."""
    found = math.nextafter(weight, math.inf)
    return math.nextafter(found, math.inf) if found == 1.0 else found


def times_up(bound: float, weight: float) -> float:
    """Return a bound times a weight, rounded up; ``inf`` stays that."""
    return bound if math.isinf(bound) else float_up(Fraction(bound) * Fraction(weight))

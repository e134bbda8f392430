"""A loss whose rows have weights of their own, private ones, up to a public bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.plugin.columns import transforms
from dpcore.plugin.parts import LossFacts, Table, sealed
from dpcore_tables.weights.class_weighted import above, times_up
from dpcore_tables.weights.values import MOST_WEIGHT

if TYPE_CHECKING:
    from dpcore.plugin import Loss

__all__ = ["SampleWeighted"]

_GRID_BITS, _LEAST_BITS = 16, 20
"""Of the grid of an exposure's logarithm, and of the least exposure, as a part of its bound."""


@sealed
@dataclass(frozen=True, slots=True)
class SampleWeighted:
    """``v loss(z, y)``, v the row's weight, held to [0, bound] here.

    A weight is a row's own cell, as its label is: neighbouring tables may differ in it. As it is at
    most the public bound, every fact is that of the loss times the bound, rounded up
    (``ClassWeighted``), and whatever it is, the clip bounds what a row contributes.

    Of a loss that states ``exposure`` it is ``loss(z + log v, v y)``, v the row's exposure and its
    target v times that of the label: the count over a span of v, where the label is the rate. log v
    is rounded down to the grid of 2^-16, and margins are on a finer one: the sum is exact. v is
    held to at least bound 2^-20. A shift of z bounds slopes as before, and a target of up to
    max(1, bound) times as much makes Lipschitz and smoothness constants at most so many times as
    large, as the loss states.

    ``y`` : pairs of label and weight (``dpcore.data.weighted_labels``); InvalidInputError for
    plain labels, whose weights somebody left out.

    Parameters
    ----------
    loss : safe to call from several threads at once, which this one says it is.
    bound : from 2^-20 to 2^20.
    """

    loss: Loss
    bound: float

    thread_safe: ClassVar[bool] = True
    weighs_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        inner = self._inner
        object.__setattr__(self, "bound", float(self.bound))
        if not inner.thread_safe or inner.weighs_rows:
            raise InvalidInputError(
                f"Weights of rows need a loss that declares thread_safe = True, and {inner.name} "
                "does not, or has such weights already."
            )
        if not 1 / MOST_WEIGHT <= self.bound <= MOST_WEIGHT:
            raise InvalidInputError(f"Expected weight_bound={self.bound!r} from 2^-20 to 2^20.")

    @property
    def _inner(self) -> LossFacts:
        return LossFacts.of(self.loss)

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def classification(self) -> bool:
        return self._inner.classification

    @property
    def log_link(self) -> bool:
        return self._inner.log_link

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
        return above(times_up(self._inner.largest_weight, self._most))

    @property
    def lipschitz(self) -> float:
        return times_up(self._inner.lipschitz, self._most)

    @property
    def smoothness(self) -> float:
        return times_up(self._inner.smoothness, self._most)

    @property
    def radial_slope(self) -> float | None:
        radial_slope = self._inner.radial_slope
        if radial_slope is None or self._inner.exposure:  # A shift of z is no factor of z.
            return None
        return times_up(radial_slope, self.bound)

    @property
    def _most(self) -> float:
        """The most that slopes are multiplied by."""
        return max(1.0, self.bound) if self._inner.exposure else self.bound

    @property
    def precise_dvalue(self) -> Callable[..., None] | None:
        return None if self._inner.precise_dvalue is None else self._fill_precise_slopes

    def value(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        self._fill(self.loss.value, z, y, out)

    def dvalue(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        self._fill(self.loss.dvalue, z, y, out)

    def _fill_precise_slopes(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        fill = self._inner.precise_dvalue
        assert fill is not None
        self._fill(fill, z, y, out)

    def _fill(
        self, fill: Callable[..., None], z: np.ndarray, y: np.ndarray, out: np.ndarray
    ) -> None:
        weights, labels = self._of_rows(y), Table.plain_labels(y)
        if self._inner.exposure:
            exposures = np.maximum(weights, self.bound * 2.0**-_LEAST_BITS)
            # By sums, products and quotients alone: a row has the same bits wherever it stands.
            steps = np.floor(transforms.Log.of(exposures) * (math.log(2.0) * 2.0**_GRID_BITS))
            fill(z + np.ldexp(steps, -_GRID_BITS), exposures * (1.0 + labels) - 1.0, out)
            return
        fill(z, labels, out)
        out *= weights

    def _of_rows(self, y: np.ndarray) -> np.ndarray:
        if Table.plain_labels(y) is y:
            raise InvalidInputError(
                "This loss is of weighted rows, and is asked of labels without their weights."
            )
        weights: np.ndarray = np.clip(y["weight"], 0.0, self.bound)
        return weights

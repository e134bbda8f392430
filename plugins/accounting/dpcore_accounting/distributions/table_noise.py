"""Noise by an author's table of weights, whose cost follows from the table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import (
    ApproximateDpEvent,
    ComposedDpEvent,
    DominatingPairDpEvent,
    ScaledNoise,
    float_up,
    log_up,
    sealed,
)
from dpcore_accounting.distributions.integer_distribution import IntegerDistribution
from dpcore_accounting.distributions.old_names import warn_of_old_name
from dpcore_accounting.distributions.shifted_pair import Point, hull_of_shifts

if TYPE_CHECKING:
    from dpcore.plugin.parts import DpEvent, NoiseSource, Sensitivity

__all__ = ["TableNoise", "most_moved", "whole_steps"]

_MOST_COORDINATES = 1 << 20
_MOST_OUTCOMES = 1 << 13
_ROUNDING = Fraction(1, 1024)
_LEAST_RATIO = 1 + Fraction(1, 2**40)


@sealed
@dataclass(frozen=True, slots=True)
class TableNoise:
    """Adds an independent deviate of an integer distribution to each coordinate of an answer on the
    grid.

    The cost follows from the distribution's weights, under the sensitivity's own relation. Between
    neighbours coordinate i moves by a whole d_i, |d_i| <= D (``whole_steps``), whichever way each
    of them goes. Its release is dominated by the pair of
    ``dpcore_accounting.distributions.shifted_pair``, which holds all of these moves in both orders.
    D is about the l-infinity norm, which no other exceeds: ||x||_inf <= ||x||_2 <= ||x||_1.

    The deviates are independent, so that the whole answer is dominated by the product of the pairs
    of the coordinates that move (Zhu, Dong & Wang 2022, Theorem 10): the distributions of all
    others are the same on both tables, and drop out. At most ``most_moved`` of them do, whichever
    these are.

    A finite table ends, and a move beyond its end is seen: some delta is always among the cost.

    Parameters
    ----------
    distribution : of one deviate, in steps of the answer's grid.
    coordinates : how many numbers the answer has, a public value, 1 to 2^20. An answer of another
        number is refused.
    delta : ``None``: the cost is the pair itself, for an accountant of fixed schedules such as
        ``pld``. Else each coordinate is charged as an (epsilon, ``delta``)-DP release, with the
        least epsilon that the pair has at that delta, for a filter that keeps a part of its delta
        for such releases.

    Raises InvalidInputError for anything else.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.plugin import NeighboringRelation
    >>> from dpcore.plugin.parts import SeededNoise, Sensitivity
    >>> from dpcore_accounting.distributions import IntegerDistribution, TableNoise
    >>> one = Sensitivity("linf", 1.0, NeighboringRelation.ADD_OR_REMOVE_ONE)
    >>> noise = TableNoise(IntegerDistribution(-1, (1, 2, 1)), coordinates=1)
    >>> noise.event(one)  # 1/4 of delta, and 1/2 against 1/4
    DominatingPairDpEvent(p=(1, 2, 1, 0), q=(0, 1, 2, 1))
    >>> TableNoise(IntegerDistribution(-1, (1, 2, 1)), 1, delta=0.25).event(one)
    ApproximateDpEvent(epsilon=0.6931471805599454, delta=0.25)
    >>> noise.release(np.array([5]), one, SeededNoise(0))
    array([6.])
    """

    distribution: IntegerDistribution
    coordinates: int
    delta: float | None = None

    name: ClassVar[str] = "table-noise"
    needs: ClassVar[str] = "linf"

    def __new__(cls, *given: Any, **named: Any) -> Self:
        if "law" in named:
            raise InvalidInputError(f"law= of {cls.__name__} is distribution= now.")
        return object.__new__(cls)

    @property
    def law(self) -> IntegerDistribution:
        """The distribution, by the name that it had."""
        warn_of_old_name("law of a table", "distribution", 3)
        return self.distribution

    def __post_init__(self) -> None:
        if type(self.distribution) is not IntegerDistribution:
            raise InvalidInputError(
                "Expected distribution to be an IntegerDistribution, and of no class of its own."
            )
        n = self.coordinates
        if type(n) is not int or not 1 <= n <= _MOST_COORDINATES:
            raise InvalidInputError(f"Expected coordinates={n!r} to be an int from 1 to 2^20.")
        if self.delta is not None and not (type(self.delta) is float and 0 < self.delta < 1):
            raise InvalidInputError(f"Expected delta={self.delta!r} to be a float in (0, 1).")

    def event(self, sensitivity: Sensitivity) -> DpEvent:
        """Return the cost of the whole answer: of one coordinate, composed over all that move.

        Raises InvalidInputError for a sensitivity that the table hides no move of, or a ``delta``
        below what the table's ends cost.
        """
        hull = hull_of_shifts(self.distribution.weights, whole_steps(sensitivity))
        one: DpEvent = _pair(hull) if self.delta is None else _approximate(hull, self.delta)
        moved = min(self.coordinates, most_moved(sensitivity))
        return one if moved == 1 else ComposedDpEvent((one,) * moved)

    def release(
        self, exact: np.ndarray, sensitivity: Sensitivity, noise: NoiseSource
    ) -> np.ndarray:
        self._require_coordinates(exact)
        drawn = self.distribution.draw(noise, self.coordinates).reshape(np.shape(exact))
        return ScaledNoise.add_modulo(exact, drawn, sensitivity.grid_bits)

    def _require_coordinates(self, exact: np.ndarray) -> None:
        """Raise InvalidInputError for an answer of another size, which is not said: where a query
        declares none beforehand, it may be the rows'."""
        if np.size(exact) != self.coordinates:
            raise InvalidInputError(
                f"{type(self).__name__} is for answers of {self.coordinates} coordinates, and was "
                "charged for so many: the answer has another number of them."
            )


def whole_steps(sensitivity: Sensitivity) -> int:
    """Return D, by how many grid steps a coordinate moves at most between neighbours, at least 1.

    Exact answers are whole numbers of steps, so that the largest whole number up to the bound is
    enough. A bound below a whole number by less than 1/1024 counts as that one: it is taken for the
    rounding of a float.
    """
    return max(1, math.floor(_steps(sensitivity) + _ROUNDING))


def most_moved(sensitivity: Sensitivity) -> int:
    """Return how many coordinates move at most between neighbours, at least 1. A coordinate that
    moves does so by a whole step or more, which adds 1 or more to the l1 norm, and to the square of
    the l2 norm. Under an l-infinity bound all of them may: 2^20, the most that there are."""
    if sensitivity.norm == "linf":
        return _MOST_COORDINATES
    steps = _steps(sensitivity)
    norm = steps if sensitivity.norm == "l1" else steps * steps
    return max(1, math.floor(norm + _ROUNDING))


def _steps(sensitivity: Sensitivity) -> Fraction:
    return Fraction(sensitivity.bound) * Fraction(2) ** sensitivity.grid_bits


def _pair(hull: tuple[Point, ...]) -> DominatingPairDpEvent:
    """Return the pair whose outcomes are the edges of the hull.

    Raises InvalidInputError for more of them than a convolution of losses ends with in seconds.
    """
    if len(hull) > _MOST_OUTCOMES:
        raise InvalidInputError(
            f"The cost of this table is a pair of distributions over {len(hull) - 1:,} outcomes, "
            f"more than {_MOST_OUTCOMES - 1:,}: state a delta (delta=), or take a shorter table."
        )
    edges = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(hull)]
    return DominatingPairDpEvent(tuple(p for _, p in edges), tuple(q for q, _ in edges))


def _approximate(hull: tuple[Point, ...], delta: float) -> ApproximateDpEvent:
    """Return (epsilon, delta) with the least epsilon, rounded up: h(g) <= delta for g = e^epsilon
    and above, that is A - g B <= delta at every vertex. h is about both orders."""
    kept = Fraction(delta) * hull[-1][0]
    over = [(a - kept, b) for b, a in hull if a > kept]
    if not all(b for _, b in over):
        least = float_up(Fraction(hull[1][1], hull[-1][0]))
        raise InvalidInputError(
            f"The ends of the table alone cost a delta of {least!r} for each coordinate, and "
            f"delta={delta!r} was given. Raise it, or take a longer table with smaller ends."
        )
    ratio = max(_LEAST_RATIO, *(a / b for a, b in over))
    return ApproximateDpEvent(float_up(log_up(ratio)), delta)

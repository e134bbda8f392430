"""The spreads of numbers between bounds about their means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError, NeighboringRelation
from dpcore.plugin.parts import Sensitivity, sealed
from dpcore_adassp.row_map import LARGEST_SCALE, lengths_of

if TYPE_CHECKING:
    from dpcore.plugin import Problem
    from dpcore.plugin.parts import Block

__all__ = ["Spreads", "scales_within"]

_BITS = 20
_UP = 1 + 2.0**-50
_NORMAL = 1.4
"""The standard deviation of a normal distribution over the square of the mean root of its size:
about 1 / 0.822^2; of a uniform one 1.3."""
_LEAST_VARIANCE = 2.0**-8


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class Spreads:
    """``sum_i v_i / clip``, v_ij = |x_ij - m_j c_i|^1/2 of every column j of numbers, c the
    intercept's column. Each v_i is held to the length ``clip``, half of the root of their number.
    Truncated to 2^-20.

    The root tells small spreads from none: noise of deviation s hides those below s^2, not s, and a
    few far cells count for little.

    A row's part u has no entry below 0 and a length of at most 1. So a row more moves the sum by 1,
    and a row replaced by the root of ||u||^2 + ||v||^2 - 2 u.v <= 2. Middles are public or were
    released before the rows are asked.

    Parameters
    ----------
    problem : public facts; the places of the numbers, one at least, and the intercept are among
        them.
    middles : m of every column but the intercept's, in [0, 1].
    """

    problem: Problem
    middles: tuple[float, ...]

    kind: ClassVar[str] = "spreads"
    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        middles = tuple(float(m) for m in self.middles)
        if not (self.problem.intercept and self.problem.numbers):
            raise InvalidInputError("Spreads are of numbers beside an intercept.")
        if len(middles) != self.problem.n_features - 1 or not all(0 <= m <= 1 for m in middles):
            raise InvalidInputError("Expected a middle in [0, 1] for every column but the last.")
        object.__setattr__(self, "middles", middles)

    @property
    def clip(self) -> float:
        """The length to which a row's roots are held, the unit of the answer."""
        return math.sqrt(len(self.problem.numbers)) / 2

    def start(self) -> np.ndarray:
        return np.zeros(len(self.problem.numbers), dtype=np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        rows, places = block.rows(), list(self.problem.numbers)
        roots = np.sqrt(np.abs(rows[:, places] - rows[:, -1:] * np.array(self.middles)[places]))
        longest = np.maximum(lengths_of(roots), self.clip)
        roots *= ((1 - 2.0**-40) / longest)[:, np.newaxis]
        return np.asarray(np.trunc(np.ldexp(roots, _BITS)).astype(np.int64).sum(axis=0))

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        bound = math.sqrt(2) if relation is NeighboringRelation.REPLACE_ONE else 1.0
        return Sensitivity("l2", bound * _UP, relation, grid_bits=_BITS)


def scales_within(
    query: Spreads, answer: np.ndarray, rows: float, deviation: float, off: float
) -> tuple[float, ...]:
    """Return the scale of every column but the intercept's: one over its standard deviation, as
    large as that may be. Post-processing.

    A column that is not of numbers is taken for one of zeros and ones, whose variance its mean
    tells.

    Parameters
    ----------
    answer : as released, with noise of this ``deviation``. ``rows`` : how many, >= 1.
    off : the deviation of the middles' noise.
    """
    middles = np.array(query.middles)
    sizes = np.sqrt(np.maximum(middles * (1 - middles), max(off, _LEAST_VARIANCE)))
    roots = query.clip * (np.maximum(answer, 0.0) + deviation) / rows
    sizes[list(query.problem.numbers)] = _NORMAL * np.square(roots)
    scales = 1 / np.maximum(sizes, 1 / LARGEST_SCALE)
    return tuple(float(s) for s in np.clip(scales, 1.0, LARGEST_SCALE))

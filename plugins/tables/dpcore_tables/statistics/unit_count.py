"""The number of units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from dpcore.plugin.parts import Sensitivity, sealed

if TYPE_CHECKING:
    from dpcore.plugin import NeighboringRelation
    from dpcore.plugin.parts import Block

__all__ = ["UnitCount"]


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class UnitCount:
    """The number of units that have a row, of rows where each is a unit by itself.

    Sensitivity between tables that differ in one unit, however many rows it has: 1. The rows of a
    unit are in one block (``Table.from_matrix``), so that the numbers of different units in each
    block add up to the number of units, and a unit is 1 of it or, without rows, 0. Under
    replace-one a unit of rows takes the place of another, and the count does not change; the bound
    is 1 there too, so that the release stays defined.
    """

    norm: Literal["l1", "l2"] = "l2"

    kind: ClassVar[str] = "units"
    thread_safe: ClassVar[bool] = True
    clips_units: ClassVar[bool] = True

    def start(self) -> np.ndarray:
        return np.zeros(1, dtype=np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        units = block.units
        n_units = block.n_rows if units is None else np.unique(units).size
        return np.array([n_units], dtype=np.int64)

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        # One coordinate: the bound is the same in every norm.
        return Sensitivity(self.norm, 1.0, relation)

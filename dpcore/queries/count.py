"""The number of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.privacy.immutable import sealed
from dpcore.privacy.sensitivity import NeighboringRelation, Norm, Sensitivity

if TYPE_CHECKING:
    from dpcore.data.blocks.block import Block

__all__ = ["RowCount"]


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class RowCount:
    """The number of rows, a private value under add-or-remove-one.

    A row counts 1 (add-or-remove-one, replace-special: 1). Under replace-one the count does not
    change; the bound is 1 there too, so that the release stays defined.

    Examples
    --------
    >>> from dpcore.plugin import NeighboringRelation, RowCount
    >>> RowCount().sensitivity(NeighboringRelation.ADD_OR_REMOVE_ONE).bound
    1.0
    """

    norm: Norm = "l2"

    kind: ClassVar[str] = "count"
    thread_safe: ClassVar[bool] = True

    def start(self) -> np.ndarray:
        return np.zeros(1, dtype=np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        return np.array([block.n_rows], dtype=np.int64)

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        # One coordinate: the bound is the same in every norm.
        return Sensitivity(self.norm, 1.0, relation)

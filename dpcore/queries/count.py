"""The number of rows, and the sensitivity of counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from dpcore.exact.rounding import float_up, sqrt_up
from dpcore.privacy.immutable import sealed
from dpcore.privacy.sensitivity import NeighboringRelation, Sensitivity

if TYPE_CHECKING:
    from dpcore.data.blocks.block import Block

__all__ = ["RowCount", "sensitivity_of_bins"]


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class RowCount:
    """The number of rows, a private figure under add-or-remove-one.

    A row counts 1 (add-or-remove-one, replace-special: 1). Under replace-one the count does not
    change; the bound is 1 there too, so that the release stays defined.

    Examples
    --------
    >>> from dpcore.plugin import NeighboringRelation, RowCount
    >>> RowCount().sensitivity(NeighboringRelation.ADD_OR_REMOVE_ONE).bound
    1.0
    """

    norm: Literal["l1", "l2"] = "l2"

    kind: ClassVar[str] = "count"
    thread_safe: ClassVar[bool] = True

    def start(self) -> np.ndarray:
        return np.zeros(1, dtype=np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        return np.array([block.n_rows], dtype=np.int64)

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        # One coordinate: the bound is the same in every norm.
        return Sensitivity(self.norm, 1.0, relation)


def sensitivity_of_bins(
    norm: Literal["l1", "l2"], relation: NeighboringRelation, grid_bits: int = 0
) -> Sensitivity:
    """Return how far counts move where a row counts 1 in one of them at most: by 1 in every norm
    under add-or-remove-one and replace-special; under replace-one a row may leave one count for
    another, 2 in l1 and the square root of 2 in l2 (Dwork, McSherry, Nissim & Smith 2006, section
    3)."""
    bound = 1.0
    if relation is NeighboringRelation.REPLACE_ONE:
        bound = 2.0 if norm == "l1" else float_up(sqrt_up(2))  # type: ignore[arg-type]
    return Sensitivity(norm, bound, relation, grid_bits)

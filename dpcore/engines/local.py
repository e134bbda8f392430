"""The engine of one process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpcore.data.table import Table
    from dpcore.protocols import Query

__all__ = ["LocalEngine"]


class LocalEngine:
    """Sums the blocks' answers one after the other, in int64 modulo 2^64."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def answer(self, query: Query) -> np.ndarray:
        total = query.start()
        for block in self._table.blocks:
            part = query.answer_block(block)
            if part.dtype != np.int64 or part.shape != total.shape:
                name = type(query).__name__
                raise TypeError(f"{name}.answer_block must return int64 of the shape of start().")
            total += part
        return total

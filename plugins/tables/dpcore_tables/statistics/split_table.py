"""The rows of a table in parts: each row in the part that a public function of it alone names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin.parts import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin.parts import Block

__all__ = ["split_table"]


def split_table(table: Table, code: Callable[[Block], np.ndarray], n_parts: int) -> list[Table]:
    """Return the table of each part: norms, factors and bounds of its rows are as they were.

    ``code`` : returns the part of every row of a block, int64 of shape (n_rows,) from 0 to
    n_parts - 1, a function of the row alone. Rows of a store are read into memory.
    """
    blocks: list[list[Block]] = [[] for _ in range(n_parts)]
    for block in table.blocks:
        codes = code(block)
        for part in range(n_parts):
            blocks[part].append(block.take(np.flatnonzero(codes == part)))
    return [table.with_blocks(taken) for taken in blocks]

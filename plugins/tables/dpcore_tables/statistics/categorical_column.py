"""A column of levels as queries read it: each row's cell as one whole number.

It reads a block through its contract alone, so that it serves every layout. Whatever the features
hold, a row has one number, within the stated limits: sensitivities rest on that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import Table, sealed

if TYPE_CHECKING:
    from dpcore.plugin.parts import Block
    from dpcore_tables.kinds.categorical import Value

__all__ = ["CategoricalColumn", "picked"]


@sealed
@dataclass(frozen=True, slots=True)
class CategoricalColumn:
    """A column of public levels: a row's code is the place of its level, or the number of levels
    for a value that is none of them.

    Parameters
    ----------
    features : the place of each level's feature; empty for a label, whose levels are classes.
    levels : one value of each level.

    Examples
    --------
    >>> from dpcore_tables.statistics import CategoricalColumn
    >>> city = CategoricalColumn(features=(3, 4), levels=("Bern", "Basel"))
    >>> city.levels
    ('Bern', 'Basel')
    """

    features: tuple[int, ...]
    levels: tuple[Value, ...]

    def __post_init__(self) -> None:
        if not self.levels or len(self.features) not in (0, len(self.levels)):
            raise InvalidInputError("Expected levels, and of a feature one for each place.")

    def codes(self, block: Block) -> np.ndarray:
        """Return the code of every row, int64 of shape (n_rows,)."""
        if not self.features:
            k, y = len(self.levels), Table.plain_labels(block.y)
            places = y > 0 if k == 2 else np.trunc(np.clip(y, 0, k - 1))
            return places.astype(np.int64)
        # One feature is 1 and the others 0: the sum is exact, and 0 for a value of no level.
        places = {feature: code + 1 for code, feature in enumerate(self.features)}
        known = np.trunc(np.clip(picked(block, places), 0, len(self.features))).astype(np.int64)
        return np.where(known > 0, known - 1, len(self.features))


def picked(block: Block, weights: dict[int, int]) -> np.ndarray:
    """Return the weighted sum of a few raw features of every row, float64 of shape (n_rows,)."""
    w, out = np.zeros(block.n_features), np.empty(block.n_rows)
    for feature, weight in weights.items():
        w[feature] = weight
    block.raw_rows().fill_margins(0, block.n_rows, w, out)
    return out

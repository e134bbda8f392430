"""Which rows of which users a round takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpcore.plugin.parts import NoiseSource
    from dpcore_a_ddp.pools.round_rules import GradientRounds

__all__ = ["Samples"]


class Samples:
    """Draws rows of users who own one run of rows after the other. Inside the trust boundary.

    ``sizes`` : rows of each user, int64 of shape (n_users,).
    """

    def __init__(self, sizes: np.ndarray) -> None:
        self._sizes, self._starts = sizes, np.cumsum(sizes) - sizes
        self._distinct = np.unique(sizes).tolist()

    def draw(
        self, rules: GradientRounds, joined: np.ndarray, visits: np.ndarray, noise: NoiseSource
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows in the samples, and for each the place of its user in ``joined``.

        ``joined`` : places of users. ``visits`` : how many rounds each of them joined before.
        """
        starts, sizes = self._starts[joined], self._sizes[joined]
        places = np.arange(joined.size)
        if rules.sampling == "pass":
            return starts + visits % sizes, places
        if rules.rate is None:
            rows = np.empty(joined.size, dtype=np.int64)
            for size in self._distinct:
                same = np.flatnonzero(sizes == size)
                rows[same] = noise.integers_below(size, same.size)
            return starts + rows, places
        heads = np.flatnonzero(noise.coins(int(sizes.sum()), rules.coin_weight))
        ends = np.cumsum(sizes)
        places = np.searchsorted(ends, heads, side="right")
        return starts[places] + heads - (ends - sizes)[places], places

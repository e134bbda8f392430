"""One answer at many noise levels, so that any run of levels costs what its least noisy one costs.

Koufogiannis, Han & Pappas 2017, "Gradual release of sensitive data under differential privacy", in
whole numbers (``dpcore_accuracy_first.noise_chain.coupling``). The chain is drawn from the most
accurate level down, all levels at once: a level is a randomised function of the next more accurate
one and of nothing else, which is the proof. Noise is added modulo 2^64, a homomorphism, so the
proof carries over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore.plugin.parts import GridScale, NoiseSource
    from dpcore_accuracy_first.noise_chain.coupling import Coupling

__all__ = ["NoiseChain"]


class NoiseChain:
    """An exact answer at every level, walked from the noisiest to the most accurate.

    ``value`` : int64, of the exact answer's shape (d,), at the level that the walk has reached.
    Other levels are as private as the exact answer itself: this object stays inside the session.

    Parameters
    ----------
    exact : int64 of shape (d,), in grid steps.
    coupling, scales : of the levels, the noisiest first; two-sided geometric noise.
    noise : where all of it is drawn, here.
    """

    def __init__(
        self, exact: np.ndarray, coupling: Coupling, scales: Sequence[GridScale], noise: NoiseSource
    ) -> None:
        top = len(scales) - 1
        coordinates, levels = _draw_changes(exact.size, top, coupling, noise)
        order = np.argsort(levels, kind="stable")
        levels = levels[order]
        ends = np.searchsorted(levels, np.arange(top + 1))
        value = exact + noise.geometric(scales[top], exact.size)
        self._undo: list[tuple[np.ndarray, np.ndarray]] = []
        for level in range(top - 1, -1, -1):
            at = coordinates[order[ends[level] : ends[level + 1]]]
            self._undo.append((at, value[at]))
            if at.size:
                value[at] += noise.geometric(scales[level], at.size)
        self.value = value

    def advance(self) -> np.ndarray:
        """Step to the next more accurate level; return the coordinates that changed, int64."""
        at, values = self._undo.pop()
        self.value[at] = values
        return at


def _draw_changes(
    size: int, top: int, coupling: Coupling, noise: NoiseSource
) -> tuple[np.ndarray, np.ndarray]:
    """Return coordinates and levels of all changes below the top, int64 each: for each coordinate
    a falling row of levels, its values not being looked at."""
    coordinates, levels = [], []
    active, standing = np.arange(size), np.full(size, top, dtype=np.int64)
    while active.size:
        words = noise.words(active.size)
        found = coupling.next_changes(standing, words, lambda: int(noise.words(1)[0]))
        changed = found >= 0
        active, standing = active[changed], found[changed]
        coordinates.append(active)
        levels.append(standing)
    return np.concatenate(coordinates), np.concatenate(levels)

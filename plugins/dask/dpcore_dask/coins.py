"""The coins of a partition's rows, by which at most k rows of each unit are kept."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from typing import Self

import numpy as np

__all__ = ["PartCoins"]

_UNITS = 2
"""The stream of a run's seed for units, as in ``dpcore.data.units.coins_of``."""


@dataclass(frozen=True)
class PartCoins:
    """The random bytes of a partition's rows, the same however often and wherever it is read.

    Without a seed they are SHAKE-256 of 32 fresh bytes, drawn for this partition alone: as good as
    the system's own, and independent of those of every other. With a run's ``seed`` they are those
    that its rows get in one table, where ``n_before`` rows come before them.
    """

    seed: int | None
    n_before: int
    key: bytes = field(repr=False)

    @classmethod
    def drawn(cls, seed: int | None, n_before: int) -> Self:
        return cls(seed, n_before, os.urandom(32))

    def __call__(self, size: int) -> bytes:
        if self.seed is None:
            return hashlib.shake_256(self.key).digest(size)
        stream = np.random.default_rng((self.seed, _UNITS))
        # A step of the generator is 64 bits, which is a row's word.
        stream.bit_generator.advance(self.n_before)  # type: ignore[attr-defined]
        return stream.bytes(size)

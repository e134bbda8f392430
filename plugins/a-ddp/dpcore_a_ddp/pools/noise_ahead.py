"""Noise of the rounds to come, drawn by another thread while this one goes on."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpcore.plugin.parts import NoiseSource
    from dpcore_a_ddp.pools.round_rules import GradientRounds

__all__ = ["NoiseAhead"]

_VALUES = 1 << 19
"""Of a batch: so many that the two threads seldom meet."""

_Shape = tuple[int, int]


class NoiseAhead:
    """Noise of messages under the rules, each array handed out once and in memory of its own.

    Noise follows from random words and from public rules alone. So it may be drawn before the round
    that it is for, as the words may: a round is charged before it takes its noise. What is
    left over when a run ends is of no use to anyone.
    """

    def __init__(self, rules: GradientRounds, noise: NoiseSource) -> None:
        self._rules, self._noise = rules, noise
        self._shape: _Shape | None = None
        self._ready: list[np.ndarray] = []
        self._coming: Future[list[np.ndarray]]
        self._thread = ThreadPoolExecutor(1, "dpcore-users")

    @classmethod
    def of(
        cls, rules: GradientRounds, noise: NoiseSource, users: int, threads: int
    ) -> NoiseAhead | None:
        """Return where rounds take their noise from, where another thread can draw it ahead and
        rounds are so short that several make a batch."""
        short = 2 * users * rules.n_features <= _VALUES
        plain = not (noise.seeded or rules.is_secure or rules.noise_multiplier == 0)
        return cls(rules, noise) if plain and short and threads > 1 else None

    def take(self, shape: _Shape) -> np.ndarray:
        """Return noise of so many users and features that was never handed out: int64."""
        if not shape[0]:
            return np.empty(shape, dtype=np.int64)
        if shape != self._shape:
            # An interrupt leaves no shape, so that the next round begins anew.
            self._shape = None
            self._ready, self._coming = [], self._begun(shape)
            self._shape = shape
        if not self._ready:
            # An interrupt from here on loses a batch, and hands none out twice.
            done, self._coming = self._coming, self._begun(shape)
            self._ready = done.result()
        return self._ready.pop()

    def _begun(self, shape: _Shape) -> Future[list[np.ndarray]]:
        return self._thread.submit(self._batch, shape)

    def _batch(self, shape: _Shape) -> list[np.ndarray]:
        """Return arrays that share no memory: who holds one must not find the next in it."""
        n_rounds = _VALUES // (shape[0] * shape[1])
        drawn = self._rules.draw(self._noise, (n_rounds, *shape))
        return [of_round.copy() for of_round in drawn]

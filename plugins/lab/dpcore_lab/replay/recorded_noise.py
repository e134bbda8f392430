"""The random choices behind a recorded exact answer, to be made once more in a replay."""

from __future__ import annotations

import numpy as np

from dpcore.plugin.parts import NoiseSource, Unshareable

__all__ = ["ReplayedWords", "ReplayedNoise", "WordRecorder", "NoiseRecorder"]


class WordRecorder(Unshareable):
    """Words from a source, kept while an exact answer is worked out."""

    def __init__(self, source: NoiseSource) -> None:
        self._source = source
        self.seeded = source.seeded
        self.kept: list[np.ndarray] | None = None

    def words(self, n: int) -> np.ndarray:
        fresh = self._source.words(n)
        if self.kept is not None:
            self.kept.append(fresh.copy())
        return fresh


class NoiseRecorder(NoiseSource):
    """Noise whose tape keeps coins as coins: one for each row, however many words they take."""

    def __init__(self, tape: WordRecorder) -> None:
        super().__init__(tape)
        self._tape = tape

    def coins(self, n: int, weight: int) -> np.ndarray:
        kept, self._tape.kept = self._tape.kept, None
        try:
            drawn = super().coins(n, weight)
        finally:
            self._tape.kept = kept
        if kept is not None:
            kept.append(drawn.copy())
        return drawn


class ReplayedWords(Unshareable):
    """The words of a recorded answer once more, to be asked for in the same portions."""

    seeded = True

    def __init__(self) -> None:
        self.left: list[np.ndarray] = []

    def words(self, n: int) -> np.ndarray:
        assert self.left and self.left[0].size == n and self.left[0].dtype == np.uint64, (
            "The replay draws other random words than the recorded run: its random choices depend "
            "on something that was not released."
        )
        return self.left.pop(0).copy()


class ReplayedNoise(NoiseSource):
    """Gives each row the coin it had: row i of the recorded table is at i + ``shift``.

    Rows that were not there come up True: they join the sample, which is the case that a
    sensitivity is about. So a table of another number of rows can be replayed too.
    """

    def __init__(self, replayed: ReplayedWords, shift: int = 0) -> None:
        super().__init__(replayed)
        self._played, self._shift = replayed, shift

    def coins(self, n: int, weight: int) -> np.ndarray:
        left = self._played.left
        assert left and left[0].dtype == bool, (
            "The replay draws coins where the recorded run drew none."
        )
        recorded = left.pop(0)
        places = np.arange(n) - self._shift
        known = (places >= 0) & (places < recorded.size)
        coins = np.ones(n, dtype=bool)
        coins[known] = recorded[places[known]]
        return coins

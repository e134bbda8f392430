"""Runs of a mechanism that only says yes or no: where it may say yes several times, its cost shows
in many questions together, and in frequencies of a few per cent."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin.parts import SeededNoise
from dpcore_lab.outcomes.frequencies import intervals, largest_probability

if TYPE_CHECKING:
    from dpcore.plugin.parts import DpEvent, GridScale
    from dpcore_lab.replay.transcripts import Answers, Script, Transcript

__all__ = ["OF_YES_OR_NO", "ReadyNoise", "positives_that_tell", "says_yes_or_no_alone"]

OF_YES_OR_NO = "yes or no to up to 16 questions, 40,000 transcripts on each of two neighbours"
_LEARNED, _TESTED = 8_000, 32_000
"""Runs on each of the two neighbours. For five positives at the price of one (epsilon 2, noise of
the line and of the answers as for one) the best set of 16 replies takes 10,600 for a test."""
_QUESTIONS, _PILOT, _AT_ONCE = 16, 200, 4096
_SHARES, _LEVEL = np.linspace(0.005, 0.995, 100), 1e-9
"""Thresholds that are tried, and the level of their intervals."""


class ReadyNoise(SeededNoise):
    """Noise from a seed whose single deviates are drawn many at a time, for many short runs."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._ready: dict[tuple[str, GridScale], tuple[np.ndarray, int]] = {}

    def laplace(self, scale: GridScale, size: Any) -> np.ndarray:
        return self._next(super().laplace, scale, size)

    def unwrapped_laplace(self, scale: GridScale, size: Any) -> np.ndarray:
        return self._next(super().unwrapped_laplace, scale, size)

    def unwrapped_gaussian(self, scale: GridScale, size: Any) -> np.ndarray:
        return self._next(super().unwrapped_gaussian, scale, size)

    def exponential(self, scale: GridScale, size: Any) -> np.ndarray:
        return self._next(super().exponential, scale, size)

    def _next(self, draw: Any, scale: GridScale, size: Any) -> np.ndarray:
        if size not in (1, (1,)):
            drawn: np.ndarray = draw(scale, size)
            return drawn
        key = (draw.__name__, scale)
        ready, used = self._ready.get(key, (np.empty(1), 1))
        if used == len(ready):
            ready, used = draw(scale, min(_AT_ONCE, 2 * len(ready))), 0
        self._ready[key] = ready, used + 1
        return ready[used : used + 1].copy()


def says_yes_or_no_alone(runs: list[Transcript]) -> bool:
    return not any(run.numbers for run in runs) and any(True in run.course[1:] for run in runs)


def positives_that_tell(
    mechanism: Any, script: Script, event: DpEvent, level: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return a set of transcripts, as which run fell into it, on two neighbours. Their answers fall
    to the first half of the questions and rise to the second; the set is by Fisher's line over the
    replies, yes against no, learned from other runs."""
    noise = ReadyNoise(seed)
    level = _even_level(mechanism, script, level, noise)
    most = min(mechanism.most_questions, _QUESTIONS)
    script = dataclasses.replace(script, n_questions=most)
    pair = script.still(level), list(script.neighbours(level, single=False))[-2]
    here, there = (_replies(mechanism, script, each, noise, _LEARNED) for each in pair)
    shift = there.mean(axis=0) - here.mean(axis=0)
    line = np.linalg.solve(np.cov(here, rowvar=False) + 1e-6 * np.eye(shift.size), shift)
    threshold = _widest(event, here @ line, there @ line)
    tested = (_replies(mechanism, script, each, noise, _TESTED) @ line for each in pair)
    first, second = (scores[:, None] >= threshold for scores in tested)
    return first, second


def _widest(event: DpEvent, here: np.ndarray, there: np.ndarray) -> float:
    """Return the threshold of scores that contradicts the event by the widest margin, intervals of
    as many runs as are tested on both sides."""
    times = _TESTED // len(here)

    def margin(threshold: float) -> float:
        found = [np.array([times * (part >= threshold).sum()]) for part in (here, there)]
        low, high = np.transpose([intervals(hits, _TESTED, _LEVEL) for hits in found])[0]
        sides = [(low[k], high[1 - k]) for k in (0, 1)]
        sides += [(1 - high[k], 1 - low[1 - k]) for k in (0, 1)]
        apart = (a - largest_probability(event, float(b)) for a, b in sides)
        return float(max(apart))

    thresholds = np.unique(np.quantile(np.concatenate((here, there)), _SHARES))
    return float(max(thresholds, key=margin))


def _even_level(mechanism: Any, script: Script, level: int, noise: SeededNoise) -> int:
    """Return the answer, about ``level`` by powers of 2 of the sensitivity, to which a first
    reply is yes about as often as no."""
    step = math.ldexp(script.question.bound, script.question.grid_bits)
    near = [level, *(level + int(sign * step * 2**k) for k in range(8) for sign in (1, -1))]
    once = dataclasses.replace(script, n_questions=1)

    def unevenness(level: int) -> float:
        return abs(float(_replies(mechanism, once, once.still(level), noise, _PILOT)[:, -1].mean()))

    return min(near, key=unevenness)


def _replies(
    mechanism: Any, script: Script, answers: Answers, noise: SeededNoise, n: int
) -> np.ndarray:
    """Return 1 for yes, -1 for no and 0 for nothing, first to last: a row for each of n runs."""
    replies = np.zeros((n, script.n_questions + 1))
    for row in replies:
        state = mechanism.begin(*script.opening(answers), noise)
        said = [state.first]
        for exact in answers.questions:
            if state.halted:
                break
            said.append(state.reply(exact.copy()))
        row[: len(said)] = [0 if reply is None else 2 * bool(reply) - 1 for reply in said]
    return replies

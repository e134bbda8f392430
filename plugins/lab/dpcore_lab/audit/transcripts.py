"""Whole transcripts of a mechanism that goes on over several steps, on the answers of neighbours.

Its cost is that of all its steps together, whatever the questions are, so they are asked by script:
answers move by as much as they may, and an audit holds what was said, from the first value to the
end, to the cap that was charged. Where the questions' answers lie is made up: where no test passes,
so that the least noise is seen, and where the end of a run varies most, so that the tests are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import SeededNoise
from dpcore_lab.replay.transcripts import Answers, Script, transcript_of

if TYPE_CHECKING:
    from dpcore.plugin import NeighboringRelation
    from dpcore.plugin.parts import DpEvent, NoiseSource

__all__ = ["Transcripts"]

_LOOKS, _MOST_BITS = 16, 61


@dataclass(frozen=True)
class Transcripts:
    """An interactive mechanism with the answers to its script on pairs of neighbours.

    ``size`` : how many numbers the answer has that it starts from. ``pairs`` : answers on a table,
    and on a neighbour of it.
    """

    mechanism: Any
    relation: NeighboringRelation
    size: int
    place: str = ""
    script: Script = field(init=False)
    pairs: list[tuple[Answers, Answers]] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "script", self._script())
        object.__setattr__(self, "pairs", self._pairs())

    @property
    def kind(self) -> str:
        kind: str = self.mechanism.base.kind
        return kind

    @property
    def name(self) -> str:
        return f"{self.place} {self.kind}".strip() + f" by {type(self.mechanism).__name__}"

    @property
    def share(self) -> float:
        return 1.0

    def _script(self) -> Script:
        part, reference = self.mechanism, self.mechanism.reference
        base = part.base.sensitivity(self.relation)
        kept = None if reference is None else reference.sensitivity(self.relation)
        return Script(base, kept, part.question, self.size, 1, part.most_questions)

    @property
    def event(self) -> DpEvent:
        event: DpEvent = self.mechanism.event(self.script.base, self.script.reference)
        return event

    def _pairs(self) -> list[tuple[Answers, Answers]]:
        single = hasattr(self.mechanism, "narrowed")
        ends = {level: self._ends(level) for level in self._levels()}
        never = min(ends, key=lambda level: (-max(ends[level]), len(set(ends[level]))))
        varied = max(ends, key=lambda level: len(set(ends[level])))
        pairs = [
            [(self.script.still(level), moved) for moved in self.script.neighbours(level, single)]
            for level in dict.fromkeys((never, varied))
        ]
        # Where no test passes, what a question's answer was shows in nothing.
        return [pairs[0][0], pairs[0][-1], *(pair for later in pairs[1:] for pair in later)]

    def _levels(self) -> list[int]:
        """Return exact answers of a question, in steps, from far below all tests to far above."""
        steps = np.ldexp(self.script.question.bound, self.script.question.grid_bits)
        sizes = [2.0**k for k in range(0, _MOST_BITS - math.frexp(steps)[1], 2)]
        if not sizes:
            raise InvalidInputError(
                f"What {type(self.mechanism).__name__} is asked may be any number of its grid, and "
                "none is far from all others: audit the final model, by --method two-world."
            )
        return [int(sign * steps * size) for size in sizes for sign in (1, -1)]

    def _ends(self, level: int) -> list[int]:
        noise, still = SeededNoise(1), self.script.still(level)
        return [
            transcript_of(self.mechanism, self.script, still, noise).course[0]
            for _ in range(_LOOKS)
        ]

    def outcomes(self, pair: int, world: int, runs: int, noise: NoiseSource) -> np.ndarray:
        """Return three numbers of each run: how many values were said, how much in them is true,
        and how near its end is to an answer. The last is how much nearer the last noisy answer is
        to the second exact answer than to the first."""
        here, there = (answers.base.astype(np.float64) for answers in self.pairs[pair])
        apart = max(1.0, float(np.abs(there - here).sum()))
        told = np.empty((runs, 4))
        for k in range(runs):
            asked = self.mechanism, self.script, self.pairs[pair][world], noise
            said = transcript_of(*asked, most=None)
            last = np.ldexp(np.array(said.numbers[-self.size :]), self.script.base.grid_bits)
            near = [
                np.linalg.norm(last - here, ord=o) - np.linalg.norm(last - there, ord=o)
                for o in (1, 2)
            ]
            told[k] = said.course[0], said.course.count(True), near[0] / apart, near[1] / apart
        return told

    def answers(self, pair: int) -> dict[str, list[Any]]:
        """Return the exact answers on both tables, in steps: to the base, and to each question."""
        return {
            name: [side.base.tolist(), side.questions.ravel().tolist()]
            for name, side in zip(("here", "there"), self.pairs[pair], strict=True)
        }

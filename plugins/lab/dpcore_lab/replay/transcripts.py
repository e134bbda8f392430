"""Transcripts of an interactive mechanism, and sets of them that tell neighbours apart."""

from __future__ import annotations

import dataclasses
import numbers
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import DpcoreError
from dpcore.plugin.parts import LocalEngine, SeededNoise
from dpcore_lab.made_tables.tables import make_rows
from dpcore_lab.outcomes.distinguish import halves, most_telling, scores_by_codes, scores_by_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcore.plugin.parts import DpEvent, NoiseSource, Sensitivity

__all__ = [
    "LEAST_RUNS",
    "Answers",
    "Transcript",
    "Script",
    "transcript_of",
    "shape_of",
    "telling_sets",
]

LEAST_RUNS, _MOST_RUNS, _DEVIATES = 200, 1000, 1 << 21
"""Transcripts on each neighbour, and the numbers that they are made of, about."""
_LINE, _TOLD = 64, 7
"""Numbers that a line is put through, and those of each array that are told: the first ones, which
move between neighbours, so that those of nine answers fit."""


@dataclass(frozen=True)
class Answers:
    """Exact answers of a run, int64 in steps: to the base, the reference and each question."""

    base: np.ndarray
    reference: np.ndarray | None
    questions: np.ndarray


@dataclass(frozen=True)
class Transcript:
    """All that a mechanism said in a run, from its first value to its last reply.

    Parameters
    ----------
    course : how many replies there were, and all that is true, false or nothing in them.
    numbers : the numbers in them, in order, of an array the first ones.
    """

    course: tuple[Any, ...]
    numbers: list[float]


@dataclass(frozen=True)
class Script:
    """The sensitivities of a mechanism's parts, and the sizes of their answers."""

    base: Sensitivity
    reference: Sensitivity | None
    question: Sensitivity
    n_base: int
    n_asked: int
    n_questions: int

    @property
    def n_runs(self) -> int:
        """How many transcripts are made on each neighbour: fewer of wide answers."""
        size = self.n_base + self.n_questions * self.n_asked
        return max(LEAST_RUNS, min(_MOST_RUNS, _DEVIATES // max(1, size)))

    def still(self, level: int) -> Answers:
        """Return answers of 0 to the base, and of ``level`` to every question."""
        questions = np.full((self.n_questions, self.n_asked), level, dtype=np.int64)
        reference = None if self.reference is None else np.zeros(1, dtype=np.int64)
        return Answers(np.zeros(self.n_base, dtype=np.int64), reference, questions)

    def opening(self, answers: Answers) -> tuple[Any, ...]:
        """Return what a run begins with, before its noise."""
        kept = answers.reference
        reference = None if kept is None else (kept.copy(), self.reference)
        return answers.base.copy(), self.base, reference

    def neighbours(self, level: int, single: bool) -> Iterator[Answers]:
        """Yield answers on neighbours of the table of ``still(level)``: of the base; of one
        question; and, unless they move one at a time (``single``), of all, one way and both."""
        still, n = self.still(level), self.n_questions
        step = _move(self.question, self.n_asked)
        base = still.base + _move(self.base, self.n_base)
        yield dataclasses.replace(still, base=base)
        moves = [np.eye(n, dtype=np.int64)[k] for k in sorted({0, n // 2, n - 1})] if n else []
        if not single and n:
            ahead = np.where(np.arange(n) < n // 2, 1, -1)
            moves += [np.ones(n, dtype=np.int64), ahead, -ahead]
        for signs in moves:
            questions = still.questions + signs[:, None] * step
            yield dataclasses.replace(still, questions=questions)
        if not single:
            reference = still.reference
            if reference is not None and self.reference is not None:
                reference = reference - _move(self.reference, 1)
            yield Answers(base, reference, still.questions + step)


def _move(sensitivity: Sensitivity, size: int) -> np.ndarray:
    """Return the largest move of an answer: of one coordinate, or of all in linf."""
    move = np.zeros(size, dtype=np.int64)
    steps = int(np.floor(np.ldexp(sensitivity.bound, sensitivity.grid_bits)))
    move[: size if sensitivity.norm == "linf" else 1] = steps
    return move


def shape_of(query: Any, table: Any = None) -> tuple[int, ...]:
    """Return the shape of a query's answer: a sum declares it, another one is asked of a ``table``,
    by default of five features."""
    if hasattr(query, "start"):
        return tuple(np.shape(query.start()))
    engine = LocalEngine(make_rows(40).table() if table is None else table)

    def ask(inner: Any) -> np.ndarray:
        if hasattr(inner, "derive"):
            return np.asarray(inner.derive(ask, SeededNoise(0)))
        return engine.answer(inner)

    return np.shape(ask(query))


def transcript_of(
    mechanism: Any,
    script: Script,
    answers: Answers,
    noise: NoiseSource,
    most: int | None = _TOLD,
) -> Transcript:
    """Play a run: ask every question until the mechanism halts or refuses one. ``most`` : numbers
    of an array that are told, the first ones; ``None`` for all."""
    state = mechanism.begin(*script.opening(answers), noise)
    said = [state.first]
    for exact in answers.questions:
        if state.halted:
            break
        try:
            said.append(state.reply(exact.copy()))
        except DpcoreError as error:
            raise AssertionError(
                f"It refuses an answer of {exact.size} coordinates to a question ({error}); "
                "n_coordinates says how many it takes."
            ) from error
    return _told(said, most)


def _told(said: list[Any], most: int | None) -> Transcript:
    course: list[Any] = [len(said)]
    found: list[float] = []
    for value in said:
        _tell(value, course, found, most)
    return Transcript(tuple(course), found)


def _tell(value: Any, course: list[Any], found: list[float], most: int | None) -> None:
    """Add what a value holds to the course of the run and to its numbers."""
    if value is None or isinstance(value, (bool, np.bool_)):
        course.append(value)
    elif isinstance(value, np.ndarray):
        found.extend(value.ravel()[:most].astype(float).tolist())
    elif isinstance(value, (list, tuple)):
        for part in value:
            _tell(part, course, found, most)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            _tell(getattr(value, field.name), course, found, most)
    elif isinstance(value, (numbers.Real, np.generic)):
        found.append(float(value))


def telling_sets(
    event: DpEvent, here: list[Transcript], there: list[Transcript]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield sets of transcripts, as which run fell into them: by its course, and by Fisher's line
    over the first numbers of all that was said, 64 at most."""
    known = {end: k for k, end in enumerate(dict.fromkeys(run.course for run in here + there))}
    codes = [np.array([[known[run.course]] for run in runs]) for runs in (here, there)]
    yield most_telling(event, *scores_by_codes(codes[0], codes[1]))
    size = max(len(run.numbers) for run in here + there)
    rows = [np.array([_padded(run.numbers, size) for run in runs]) for runs in (here, there)]
    varies = np.ptp(np.vstack([halves(part)[0] for part in rows]), axis=0) > 0
    if varies.any():
        first, second = (part[:, varies][:, :_LINE] for part in rows)
        shift = halves(second)[0].mean(axis=0) - halves(first)[0].mean(axis=0)
        yield most_telling(event, *scores_by_line(first, second, shift))


def _padded(values: list[float], size: int) -> list[float]:
    return values + [0.0] * (size - len(values))

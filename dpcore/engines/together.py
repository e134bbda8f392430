"""Several fits over one table at a time: what they ask at the same time is answered in one pass.

A fit is a program that asks, and waits for the answer. Each runs in a thread of its own, one at a
time and in turn, until it asks for a sum at a point; when all that go on have asked one, these are
answered together, the points as a matrix, and each answer goes to the fit that asked. Anything else
is answered at once, as alone. Answers are exact sums, so that each fit releases, to the bit, what
it would alone.

Inside the trust boundary, as every engine: exact answers pass here. Each fit has a session, a
filter, a ledger and noise of its own, which nothing here touches; no two draw from one source of
noise, and no answer is kept for, or given to, another fit than the one whose session charged it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from itertools import pairwise
from queue import SimpleQueue
from threading import Thread, get_ident
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from dpcore.engines.local import LocalEngine, may_overlap

if TYPE_CHECKING:
    from dpcore.data.blocks.block import Block
    from dpcore.data.blocks.table import Table
    from dpcore.noise.source import NoiseSource
    from dpcore.protocols import Query, TableQuery

__all__ = ["MOST_TOGETHER", "Seat", "is_at_a_point", "most_together", "run_together"]

Outcome = TypeVar("Outcome")

MOST_TOGETHER = 32
"""Fits at a time; more of them would be no faster."""
_MEMORY = 2.0**28
"""Bytes that fits at a time may take beside the rows."""
_PER_ROW = 48
"""Bytes of a row for each fit: margins at a point and along a direction, coefficients, norms under
a map."""


def most_together(table: Table, memory: float) -> int:
    """Return how many fits are to run at a time. ``memory`` : bytes that one takes beside the rows
    and what is kept of each row for it."""
    return max(1, min(MOST_TOGETHER, int(_MEMORY / (memory + _PER_ROW * table.n_rows + 1))))


def run_together(
    table: Table, threads: int | None, fits: Sequence[Callable[[Seat], Outcome]]
) -> list[Future[Outcome]]:
    """Return how each fit ended: a future that is done, with what the fit returned or raised.

    ``threads`` : of a pass, as in ``LocalEngine``. A fit that fails or ends leaves the others
    going. An interrupt ends all of them: each gets a KeyboardInterrupt in the place of its next
    answer, and the interrupt goes on when none is left.
    """
    tables = [table.beside() for _ in fits]
    engine = LocalEngine(table.with_blocks(_abreast(tables)), threads)
    turns = [_Turn(fit, LocalEngine(own, threads)) for fit, own in zip(fits, tables, strict=True)]
    try:
        for turn in turns:
            turn.start()
        while going := [turn for turn in turns if not turn.outcome.done()]:
            _go_round(going)
            _answer({place: turn for place, turn in enumerate(turns) if turn.question}, engine)
    finally:
        for turn in turns:
            turn.give_up()
        for turn in turns:
            turn.join()
    return [turn.outcome for turn in turns]


def _go_round(turns: Sequence[_Turn[Any]]) -> None:
    """Let these fits go on, one after the other, and return when each asks or has ended. The turn
    passes from thread to thread, which is half as many changes as by way of this one."""
    is_over: SimpleQueue[None] = SimpleQueue()
    for turn, then in pairwise(turns):
        turn.then = then.go_on
    turns[-1].then = is_over
    turns[0].go_on.put(None)
    is_over.get()


def _answer(asked: dict[int, _Turn[Any]], engine: LocalEngine) -> None:
    """Answer the questions of these fits together; one alone is left to its own fit, and so are
    those of a pass that fails: then the error is that of the fit whose question it is."""
    if len(asked) < 2:
        return
    started = time.perf_counter()
    questions = {place: turn.question for place, turn in asked.items()}
    try:
        answers = engine.answer(_Questions(questions))  # type: ignore[arg-type]
    except Exception:
        return
    seconds = (time.perf_counter() - started) / len(asked)
    for turn, answer in zip(asked.values(), answers, strict=True):
        turn.answer = answer.copy()
        turn.seconds += seconds


class _Turn(Generic[Outcome]):
    """A fit in a thread of its own, which goes on only while the others wait."""

    def __init__(self, fit: Callable[[Seat], Outcome], alone: LocalEngine) -> None:
        self._fit, self.alone = fit, alone
        self.outcome: Future[Outcome] = Future()
        self.question: Any = None
        self.answer: np.ndarray | None = None
        self.seconds = 0.0
        """That the fit has taken before this turn: its own, and an equal share of each pass."""
        self.go_on: SimpleQueue[None] = SimpleQueue()
        """The turn itself: the fit goes on when it gets it, and puts it to ``then``."""
        self.then = self.go_on
        self._since = 0.0
        self._is_given_up = False
        self._thread = Thread(target=self._work, name="dpcore fit", daemon=True)

    def start(self) -> None:
        """Start the thread, which waits for its turn."""
        self._thread.start()

    def give_up(self) -> None:
        """End the fit where it waits or asks next."""
        self._is_given_up = True
        self.go_on.put(None)

    def join(self) -> None:
        """Return when the fit has ended, if its thread was started."""
        if self._thread.ident is not None:
            self._thread.join()

    def clock(self) -> float:
        return self.seconds + time.perf_counter() - self._since

    def ask(self, question: Query) -> np.ndarray | None:
        """Return the answer to a question when all fits have one; ``None`` where it is to be asked
        alone, as by a thread that the fit started: that has no turn to pass on, and one passed on
        twice would wake a fit in the middle of a pass, whose answer its next question would get.
        Called by the fit, as all that follows is."""
        if get_ident() != self._thread.ident:
            return None
        self.question = question
        self._pass_on()
        self._get()
        answer, self.question, self.answer = self.answer, None, None
        return answer

    def _get(self) -> None:
        """Wait for the turn."""
        self.go_on.get()
        self._since = time.perf_counter()
        self.require_going()

    def _pass_on(self) -> None:
        self.seconds += time.perf_counter() - self._since
        self.then.put(None)

    def require_going(self) -> None:
        """Raise KeyboardInterrupt if the fit was given up."""
        if self._is_given_up:
            raise KeyboardInterrupt

    def _work(self) -> None:
        try:
            self._get()
            self.outcome.set_result(self._fit(Seat(self)))
        except BaseException as error:  # It is the caller's, who asks for the outcome.
            self.outcome.set_exception(error)
        finally:
            self._pass_on()


class Seat:
    """The engine of one of several fits."""

    def __init__(self, turn: _Turn[Any]) -> None:
        self._turn = turn

    def answer(self, query: Query) -> np.ndarray:
        self._turn.require_going()
        answer = self._turn.ask(query) if is_at_a_point(query) else None
        return self._turn.alone.answer(query) if answer is None else answer

    def answer_table(self, query: TableQuery, noise: NoiseSource) -> np.ndarray:
        """Return the answer of a query that goes through the rows in an order of its own."""
        self._turn.require_going()
        return self._turn.alone.answer_table(query, noise)

    def without_rows(self) -> LocalEngine:
        """Return an engine of one thread for a table of no rows in a block of the same form."""
        return self._turn.alone.without_rows()

    def clock(self) -> float:
        """Return the seconds that the fit has taken so far, by itself and as its share of passes:
        it is to ask."""
        return self._turn.clock()


def is_at_a_point(query: Any) -> bool:
    """Return whether a question is a sum at a point, of one margin a row, by its own class's word:
    of several classes, products are of a matrix in any case."""
    said = vars(type(query)).get("at_a_point") is True and may_overlap(query)
    return said and query.w.ndim == 1


class _Abreast:
    """A block of a table as each fit has it: the same rows, cached apart."""

    def __init__(self, blocks: tuple[Block, ...]) -> None:
        self.blocks = blocks
        self.n_rows = blocks[0].n_rows

    @property
    def n_cells(self) -> int:
        return sum(block.n_cells for block in self.blocks)


def _abreast(tables: Sequence[Table]) -> Any:
    return [_Abreast(blocks) for blocks in zip(*(own.blocks for own in tables), strict=True)]


class _Questions:
    """Sums at points as one question, of the fits at these places."""

    thread_safe: ClassVar[bool] = True

    def __init__(self, asked: dict[int, Any]) -> None:
        self._asked = asked
        self._points = [query.w for query in asked.values()]

    def start(self) -> np.ndarray:
        starts = [query.start() for query in self._asked.values()]
        if any(start.dtype != np.int64 for start in starts):
            raise TypeError("One array of these and of others would round the others.")
        return np.array(starts)

    def answer_block(self, block: _Abreast) -> np.ndarray:
        blocks = [block.blocks[place] for place in self._asked]
        queries = list(self._asked.values())
        pairs = zip(queries, blocks, strict=True)
        coefficients = [query.coefficients(own) for query, own in pairs]
        sums = blocks[0].sums_at(blocks, self._points, coefficients)
        return np.array([q.from_sum(total) for q, total in zip(queries, sums, strict=True)])

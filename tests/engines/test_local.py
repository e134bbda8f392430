"""Threads share the blocks: the same bits, each block once, no more threads than asked for."""

import functools
import os
import threading
import time
from queue import SimpleQueue

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from dpcore.engines import local, thread_pool
from dpcore.errors import AnswerError, InvalidInputError
from dpcore.plugin import ClippedGradientSum, NeighboringRelation, Problem, RowCount
from dpcore.plugin.parts import LocalEngine, Logistic, Table
from dpcore_dp_agd.loss_line import ClippedLossLine
from dpcore_lab.overlap import run_overlapping

N_ROWS, WIDTH = 5 * Table.BLOCK_ROWS + 17, 11
RNG = np.random.default_rng(4)
X = RNG.uniform(-1, 1, (N_ROWS, WIDTH))
Y = RNG.choice([-1.0, 1.0], N_ROWS)


@pytest.fixture(autouse=True)
def one_cell_is_enough(monkeypatch):
    monkeypatch.setattr(local, "_CELLS_PER_THREAD", 1)


def test_few_cells_are_left_to_one_thread(monkeypatch):
    monkeypatch.setattr(local, "_CELLS_PER_THREAD", N_ROWS * WIDTH)
    query = Watched()
    assert LocalEngine(table(), threads=8).answer(query)[0] == N_ROWS
    assert query.threads == {threading.get_ident()}


@functools.cache
def table(layout="dense"):
    """The table, made once: but for the margins that its blocks keep of the last parameters, no
    answer changes it."""
    rows = csr_matrix(X) if layout == "csr" else X
    return Table.from_matrix(rows, Y, row_norm=1.5, raw_norm_bound=4.0)


def path_of_answers(engine):
    """Gradients and lines along a path on which margins are kept."""
    relation = NeighboringRelation.ADD_OR_REMOVE_ONE
    problem = Problem(Logistic(), 0.0, WIDTH, row_norm=1.5, raw_norm_bound=4.0, relation=relation)
    w, direction = np.zeros(WIDTH), np.linspace(-1, 1, WIDTH)
    answers = []
    for step in (0.25, 0.5, 0.75):
        line = ClippedLossLine(problem, w, direction, np.arange(7) * step, 3.0)
        answers.append(engine.answer(line))
        w = line.w - step * line.direction
        answers.append(engine.answer(ClippedGradientSum(problem, w, 0.5)))
    return np.concatenate(answers)


@pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="threads of plain Python take turns"
)
@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_any_number_of_threads_gives_the_same_bits(layout):
    alone = path_of_answers(LocalEngine(table(layout), threads=1))
    for threads in (2, 3, 16):
        assert np.array_equal(alone, path_of_answers(LocalEngine(table(layout), threads=threads)))


class Watched(RowCount):
    """Counts rows, and who counted them."""

    thread_safe = True

    def __init__(self, blocks_to_meet=1):
        super().__init__()
        self.seen, self.threads = [], set()
        self._to_meet = iter(range(blocks_to_meet))
        self._met = threading.Barrier(blocks_to_meet)

    def answer_block(self, block):
        self.seen.append(id(block))
        self.threads.add(threading.get_ident())
        if next(self._to_meet, None) is not None:
            self._met.wait(timeout=20)
        return super().answer_block(block)


def test_every_block_is_asked_once():
    query = Watched()
    rows = table()
    assert LocalEngine(rows, threads=3).answer(query)[0] == N_ROWS
    assert sorted(query.seen) == sorted(id(block) for block in rows.blocks)


def test_as_many_threads_as_asked_for_and_no_more():
    # Two blocks have to be in work at a time for either to be finished.
    query = Watched(blocks_to_meet=2)
    LocalEngine(table(), threads=2).answer(query)
    assert len(query.threads) == 2
    alone = Watched()
    LocalEngine(table(), threads=1).answer(alone)
    assert alone.threads == {threading.get_ident()}


class FailsOnce(RowCount):
    """Fails at the last block, the first time."""

    thread_safe = True

    def __init__(self, last, error):
        super().__init__()
        self._last, self._error = last, error

    def answer_block(self, block):
        if block is self._last and self._error is not None:
            error, self._error = self._error, None
            raise error
        return super().answer_block(block)


@pytest.mark.parametrize("error", [MemoryError(), KeyboardInterrupt()])
@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_comes_out_and_leaves_no_thread_at_work(error, threads):
    rows = table()
    engine, query = LocalEngine(rows, threads=threads), FailsOnce(rows.blocks[-1], error)
    with pytest.raises(type(error)):
        engine.answer(query)
    assert engine.answer(query)[0] == N_ROWS


def test_an_error_of_another_thread_is_the_callers():
    caller, failed = threading.get_ident(), threading.Event()

    class FailsElsewhere(RowCount):
        thread_safe = True

        def answer_block(self, block):
            if threading.get_ident() != caller:
                failed.set()
                raise MemoryError
            assert failed.wait(timeout=20)
            return super().answer_block(block)

    with pytest.raises(MemoryError):
        LocalEngine(table(), threads=2).answer(FailsElsewhere())


def test_parts_that_do_not_say_that_they_may_overlap_are_asked_by_one_thread():
    class Silent(Watched):  # Its base's word does not count: it may keep what that does not.
        def answer_block(self, block):
            time.sleep(0.02)  # Other threads would have the time to take a block.
            return super().answer_block(block)

    class Loss(Logistic):
        pass

    class Loud(Silent):
        thread_safe = True

    query = Silent()
    assert LocalEngine(table(), threads=3).answer(query)[0] == N_ROWS
    assert query.threads == {threading.get_ident()}
    query = Loud()
    query.loss = Loss()
    LocalEngine(table(), threads=3).answer(query)
    assert query.threads == {threading.get_ident()}


class Slow(RowCount):
    """Notes which blocks are in work, and how many at the end."""

    thread_safe = True

    def __init__(self):
        super().__init__()
        self.in_work = 0
        self._lock = threading.Lock()

    def answer_block(self, block):
        with self._lock:
            self.in_work += 1
        time.sleep(0.05)
        with self._lock:
            self.in_work -= 1
        return super().answer_block(block)


def test_an_interrupt_while_threads_are_woken_leaves_none_at_a_block(monkeypatch):
    calls = []

    class Interrupted(SimpleQueue):
        def put(self, work):
            super().put(work)
            calls.append(work)
            if len(calls) == 2:
                time.sleep(0.02)  # The threads are at their first blocks.
                raise KeyboardInterrupt

    monkeypatch.setattr(thread_pool, "SimpleQueue", Interrupted)
    engine, query = LocalEngine(table(), threads=4), Slow()
    with pytest.raises(KeyboardInterrupt):
        engine.answer(query)
    assert query.in_work == 0 and len(calls) == 2
    assert engine.answer(RowCount())[0] == N_ROWS


def test_an_interrupt_while_it_waits_for_threads_is_raised_when_they_have_ended(monkeypatch):
    caller, begun, let_go = threading.get_ident(), threading.Event(), threading.Event()

    class Held(Slow):
        thread_safe = True

        def answer_block(self, block):
            if threading.get_ident() == caller:
                assert begun.wait(timeout=20)
                return RowCount.answer_block(self, block)
            begun.set()
            assert let_go.wait(timeout=20)
            return super().answer_block(block)

    wait = local._Pass._wait
    waits = []

    def interrupted(self):
        waits.append(1)
        if len(waits) < 3:
            raise KeyboardInterrupt
        let_go.set()
        wait(self)

    monkeypatch.setattr(local._Pass, "_wait", interrupted)
    engine, query = LocalEngine(table(), threads=3), Held()
    with pytest.raises(KeyboardInterrupt):
        engine.answer(query)
    assert query.in_work == 0 and len(waits) == 3


def test_a_thread_that_wakes_when_the_pass_has_ended_takes_no_block():
    query, rows = Watched(), table()
    shared = local._Pass(query, rows.blocks)
    shared.end()
    shared.work()
    assert query.seen == [] and shared.other_parts() == 0


@pytest.mark.parametrize("had", [0, 1])
def test_without_more_threads_it_goes_on_with_those_there_are(monkeypatch, had):
    start, started = threading.Thread.start, []

    def refused(self):
        if len(started) == had:
            raise RuntimeError("can't start new thread")
        started.append(self)
        start(self)

    monkeypatch.setattr(threading.Thread, "start", refused)
    engine = LocalEngine(table(), threads=4)
    for _ in range(20):
        assert engine.answer(RowCount())[0] == N_ROWS
    assert len(started) == had


def test_two_threads_at_one_block_get_their_own_margins():
    # A block is asked by one thread at a time; a second one must not mix up the rows all the same.
    block = table().blocks[0]
    points = [np.full(WIDTH, 0.25), np.full(WIDTH, -0.5)]
    expected = [block.margins(w).tobytes() for w in points]
    wrong = []

    def ask(k):
        for _ in range(300):
            if block.margins(points[k]).tobytes() != expected[k]:
                wrong.append(k)

    run_overlapping(ask)
    assert not wrong


def test_a_part_of_another_type_is_refused_by_any_thread():
    class Floats(RowCount):
        thread_safe = True

        def answer_block(self, block):
            return super().answer_block(block).astype(np.float64)

    for threads in (1, 2):
        with pytest.raises(AnswerError, match="Floats.answer_block must return int64"):
            LocalEngine(table(), threads=threads).answer(Floats())


def test_the_number_of_threads_is_checked():
    with pytest.raises(InvalidInputError, match="at least 1"):
        LocalEngine(table(), threads=0)
    assert LocalEngine.available_threads() >= 1


class Odd(Watched):
    """Squares a large number, and lets no thread answer alone."""

    thread_safe = True

    def __init__(self, threads):
        super().__init__()
        self.all = threading.Barrier(threads)

    def answer_block(self, block):
        self.all.wait(60)
        large = np.full(1, 1e200)
        large *= large
        (large - large).astype(np.int64)
        return super().answer_block(block)


@pytest.mark.parametrize("threads", [1, 2])
def test_no_thread_warns_or_raises_of_what_a_row_makes_of_a_number(threads, monkeypatch):
    rows = Table.from_matrix(
        X[: 4 * Table.BLOCK_ROWS], Y[: 4 * Table.BLOCK_ROWS], row_norm=1, raw_norm_bound=4
    )
    engine = LocalEngine(rows, threads=threads)
    for mode in ("warn", "raise"):
        with np.errstate(all=mode):
            assert engine.answer(Odd(threads))[0] == rows.n_rows
    # The broken twin: what the process or a new thread has set.
    as_set = local._Pass.own_part.__wrapped__
    monkeypatch.setattr(local._Pass, "own_part", as_set)
    with pytest.raises(RuntimeWarning, match="overflow encountered in multiply"):
        engine.answer(Odd(threads))

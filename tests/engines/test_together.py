"""Fits that run together release what each would alone, whatever becomes of the others."""

import os
import threading

import numpy as np
import pytest
from coded_rows import coded

from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.data.blocks.cached_margins import CachedMargins
from dpcore.engines import local, together
from dpcore.engines.local import LocalEngine
from dpcore.engines.together import MOST_TOGETHER, most_together, run_together
from dpcore.losses.logistic import Logistic
from dpcore.plugin import ClippedGradientSum, Gaussian, NeighboringRelation, Problem, RowCount
from dpcore.plugin.parts import BLOCK_ROWS, SeededNoise, Table, TableSession
from dpcore.session.charges import Charges
from dpcore_baselines.dp_gd import DpGd
from dpcore_dp_agd.optimizer import DpAgd

RELATION = NeighboringRelation.ADD_OR_REMOVE_ONE
# Two blocks; of kernels that are plain Python so many rows would take minutes.
ROWS, Y = coded(60 if "NUMBA_DISABLE_JIT" in os.environ else BLOCK_ROWS + 300)
WIDTH = ROWS.shape[1]
PROBLEM = Problem(
    Logistic(), 0.0, WIDTH, row_norm=1.5, raw_norm_bound=3.0, relation=RELATION, n0=8000
)


def table(layout="dense"):
    X = {"dense": ROWS.toarray, "csr": ROWS.tocsr, "coded": lambda: ROWS}[layout]()
    return Table.from_matrix(X, Y, row_norm=1.5, raw_norm_bound=3.0)


def session_at(engine, seed):
    accountant = ZcdpAccountant.from_budget(2.0, 1e-6)
    return TableSession(engine, accountant, RELATION, SeededNoise(seed), problem=PROBLEM)


def fit(optimizer, seed):
    """Return a fit: what it releases in the end, and its ledger."""

    def run(engine):
        session = session_at(engine, seed)
        w = optimizer.minimize(PROBLEM, session).w
        return w, session.ledger

    return run


OPTIMIZERS = [DpGd(steps=4), DpAgd(steps=5), DpGd(steps=6), DpAgd(steps=3)]
FITS = [fit(optimizer, seed) for seed, optimizer in enumerate(OPTIMIZERS)]


def descents(count, steps=5):
    return [fit(DpGd(steps=steps), seed) for seed in range(count)]


def assert_same(ended, alone):
    for future, (w, ledger) in zip(ended, alone, strict=True):
        found, charged = future.result()
        assert np.array_equal(found, w) and charged == ledger


@pytest.fixture
def passes(monkeypatch):
    """How many points were answered in each pass over a block."""
    counts, sums_at = [], CachedMargins.sums_at.__func__

    def counted(cls, blocks, points, coefficients):
        counts.append(len(points))
        return sums_at(cls, blocks, points, coefficients)

    monkeypatch.setattr(CachedMargins, "sums_at", classmethod(counted))
    return counts


@pytest.mark.parametrize("layout", ["dense", "csr", "coded"])
def test_every_fit_releases_the_bits_it_releases_alone(layout, passes):
    rows = table(layout)
    alone = [run(LocalEngine(rows, 1)) for run in FITS]
    assert not passes
    assert_same(run_together(rows, 1, FITS), alone)
    assert max(passes) == len(FITS) > min(passes)  # They met; some went on without the others.


def test_threads_of_a_pass_change_nothing(monkeypatch):
    rows = table()
    alone = [run(LocalEngine(rows, 1)) for run in descents(3)]
    monkeypatch.setattr(local, "_CELLS_PER_THREAD", 1)
    assert_same(run_together(rows, 4, descents(3)), alone)


def test_answers_that_go_to_another_fit_would_be_seen(monkeypatch):
    class Swapped(LocalEngine):
        def answer(self, query):
            answers = super().answer(query)
            return answers[::-1] if isinstance(query, together._Questions) else answers

    monkeypatch.setattr(together, "LocalEngine", Swapped)
    rows = table()
    alone = [run(LocalEngine(rows, 1))[0] for run in descents(2)]
    ended = run_together(rows, 1, descents(2))
    assert not any(
        np.array_equal(future.result()[0], w) for future, w in zip(ended, alone, strict=True)
    )


class Fails(Logistic):
    """Fails at rows, with no more said."""

    thread_safe = True

    def dvalue(self, z, y, out):
        if z.any():
            raise ArithmeticError("of this loss")
        super().dvalue(z, y, out)


def test_a_fit_that_fails_leaves_the_others_going(passes):
    rows = table()
    problem = Problem(
        Fails(), 0.0, WIDTH, row_norm=1.5, raw_norm_bound=3.0, relation=RELATION, n0=8000
    )
    asked = []

    def fails(engine):
        session = TableSession(
            engine, ZcdpAccountant.from_budget(2.0, 1e-6), RELATION, SeededNoise(9), problem=problem
        )
        for w in (np.zeros(WIDTH), np.full(WIDTH, 0.1)):
            asked.append(session.release(ClippedGradientSum(problem, w, 1.0), Gaussian(9.0)))

    fits = [*descents(2), fails]
    alone = [run(LocalEngine(rows, 1)) for run in fits[:2]]
    *ended, failed = run_together(rows, 1, fits)
    assert_same(ended, alone)
    with pytest.raises(ArithmeticError, match="of this loss"):
        failed.result()
    assert len(asked) == 1 and 3 in passes and 2 in passes


def test_one_fit_runs_at_a_time_and_each_in_its_own_turn():
    order, running = [], []

    def turns(seed):
        def run(engine):
            session = session_at(engine, seed)
            for _ in range(3):
                running.append(seed)
                assert running == [seed]
                order.append(seed)
                running.clear()
                query = ClippedGradientSum(PROBLEM, np.full(WIDTH, seed / 64), 1.0)
                session.release(query, Gaussian(50.0))

        return run

    for future in run_together(table(), 1, [turns(seed) for seed in range(3)]):
        future.result()
    assert order == [0, 1, 2] * 3


@pytest.fixture
def slow_passes(monkeypatch):
    answer = together._answer

    def slow(*arguments):
        threading.Event().wait(0.002)
        answer(*arguments)

    monkeypatch.setattr(together, "_answer", slow)


def points(seat):
    """Return how many of a fit's questions got another answer than their own."""
    rows, wrong = LocalEngine(table(), 1), 0
    for k in range(40):
        query = ClippedGradientSum(PROBLEM, np.full(WIDTH, k / 64), 1.0)
        wrong += not np.array_equal(seat.answer(query), rows.answer(query))
    return wrong


@pytest.mark.slow
def test_a_thread_that_a_fit_leaves_behind_moves_no_answer_of_the_others(slow_passes):
    threads, begun, found = [], threading.Event(), []

    def leaves_one(seat):
        def ask():
            begun.wait(60)
            found.append(seat.answer(ClippedGradientSum(PROBLEM, np.zeros(WIDTH), 1.0)))

        threads.append(threading.Thread(target=ask, daemon=True))
        threads[-1].start()

    def begins(seat):
        begun.set()
        return points(seat)

    ended = run_together(table(), 1, [*[leaves_one] * 4, begins, points, points])
    for thread in threads:
        thread.join(60)
    assert [future.result() for future in ended[4:]] == [0, 0, 0]
    alone = LocalEngine(table(), 1).answer(ClippedGradientSum(PROBLEM, np.zeros(WIDTH), 1.0))
    assert len(found) == 4 and all(np.array_equal(answer, alone) for answer in found)


class InFloats:
    """A sum at a point whose start is no int64, as it has to be."""

    thread_safe = at_a_point = True
    loss = None

    def __init__(self, query):
        self._query, self.w = query, query.w
        self.coefficients, self.from_sum = query.coefficients, query.from_sum
        self.answer_block = query.answer_block

    def start(self):
        return self._query.start().astype(np.float64)


def test_a_question_that_is_no_whole_number_leaves_those_of_others_whole():
    query = ClippedGradientSum(PROBLEM, np.full(WIDTH, 0.1), 1.0)
    asked = [query, InFloats(query), query]
    ended = run_together(table(), 1, [lambda seat, q=q: seat.answer(q) for q in asked])
    alone = LocalEngine(table(), 1).answer(query)
    for future in (ended[0], ended[2]):
        assert future.result().dtype == np.int64 and np.array_equal(future.result(), alone)


@pytest.mark.parametrize("where", ["in a pass", "while a fit runs"])
def test_an_interrupt_ends_every_fit_and_says_what_it_was_charged(monkeypatch, where):
    told = []

    def charged(seed):
        def run(engine):
            session, charges = session_at(engine, seed), Charges()
            charges.follow(lambda: (session.accountant.spent, session.accountant.budget, "rho"))
            try:
                with charges.told():
                    DpGd(steps=5).minimize(PROBLEM, session)
            except KeyboardInterrupt as error:
                told.append((session.accountant.spent, *error.__notes__))
                raise

        return run

    calls = iter(range(100))

    def interrupt(inner):
        def run(*arguments):
            if next(calls) == 4:
                raise KeyboardInterrupt
            return inner(*arguments)

        return run

    if where == "in a pass":
        monkeypatch.setattr(together, "_answer", interrupt(together._answer))
    else:
        go_round = together._go_round

        def stopped(turns):
            turns[-1].then = together.SimpleQueue()
            turns[0].go_on.put(None)  # It is under way.
            raise KeyboardInterrupt

        monkeypatch.setattr(
            together, "_go_round", lambda turns: (stopped if next(calls) == 4 else go_round)(turns)
        )
    with pytest.raises(KeyboardInterrupt):
        run_together(table(), 1, [charged(seed) for seed in range(3)])
    assert len(told) == 3 and all(spent > 0 and "Charged" in note for spent, note in told)
    assert not [t for t in threading.enumerate() if t.name == "dpcore fit"]


def test_a_fit_that_ends_at_once_and_one_alone():
    rows = table()
    (alone,) = [run(LocalEngine(rows, 1)) for run in descents(1)]
    nothing, only = run_together(rows, 1, [lambda seat: seat.clock(), *descents(1)])
    assert 0 <= nothing.result() < 60
    assert_same([only], [alone])


def test_a_questionis_at_a_point_by_the_word_of_its_own_class():
    class Other(ClippedGradientSum):  # It may answer in a way of its own.
        thread_safe = True

    query = ClippedGradientSum(PROBLEM, np.zeros(WIDTH), 1.0)
    assert together.is_at_a_point(query)
    assert not together.is_at_a_point(Other(PROBLEM, np.zeros(WIDTH), 1.0))
    assert not together.is_at_a_point(RowCount())


def test_memory_bounds_how_many_fits_meet():
    rows = table()
    assert most_together(rows, 0.0) == MOST_TOGETHER
    assert most_together(rows, 2.0**26) == 3
    assert most_together(rows, 2.0**40) == 1

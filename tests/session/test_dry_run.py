"""What an answer needs is loaded before it is charged, and no row is asked for it."""

import importlib
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numba
import numpy as np
import pytest

from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.errors import AnswerError, KernelError
from dpcore.plugin import ClippedGradientSum, Gaussian, NeighboringRelation, RowCount
from dpcore.plugin.parts import LocalEngine, Logistic, SeededNoise, Sensitivity, Table
from dpcore.session.account import Account
from dpcore.session.session import TableSession
from dpcore_accounting.rdp import RdpAccountant
from dpcore_accounting.samples import PoissonSample
from dpcore_lab.checks import make_rows
from dpcore_lab.made_tables.tables import make_problem

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
ROWS = make_rows(64)
COMPILED = pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="nothing is compiled")


def open_session(table=None, threads=None, accountant=ZcdpAccountant, problem=None):
    return TableSession(
        LocalEngine(table or ROWS.table(), threads),
        accountant.from_budget(1.0, 1e-6),
        ADD,
        SeededNoise(1),
        problem=problem,
    )


class Counts:
    """Counts rows by a function of a block."""

    kind = "count"
    thread_safe = True

    def __init__(self, count):
        self._count = count

    def start(self):
        return np.zeros(1, dtype=np.int64)

    def answer_block(self, block):
        return np.array([self._count(block)], dtype=np.int64)

    def sensitivity(self, relation):
        return Sensitivity("l2", float(relation.rows_changed), relation)


def sized(kernel):
    def count(block):
        kernel(block.y)
        return block.n_rows

    return Counts(count)


@COMPILED
def test_a_kernel_is_compiled_before_the_charge(monkeypatch):
    kernel = numba.njit(lambda y: y.size)
    compiled, charge = [], Account.charge_then_draw

    def noted(self, *arguments):
        compiled.append(len(kernel.signatures))
        return charge(self, *arguments)

    monkeypatch.setattr(Account, "charge_then_draw", noted)
    session = open_session()
    session.release(sized(kernel), Gaussian(100.0))
    assert compiled == [len(kernel.signatures)] == [1]
    assert session.releases == {"count": 1}


@COMPILED
def test_a_kernel_that_cannot_be_compiled_is_refused_uncharged():
    session = open_session()
    with pytest.raises(KernelError, match=r"it was not charged: TypingError: .*kernel test_reh"):
        session.release(sized(numba.njit(lambda y: y.there_is_no_such_thing)), Gaussian(100.0))
    assert session.ledger == () and session.accountant.spent == 0


@COMPILED
def test_the_damaged_cache_of_a_kernel_of_others_is_named_uncharged(tmp_path, monkeypatch):
    # numba alone ends in an EOFError, which was the algorithm's fault by its message.
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    sources = tmp_path / "others"
    sources.mkdir()
    (sources / "others_kernel.py").write_text(
        "from numba import njit\n@njit(cache=True)\ndef size(y):\n    return y.size\n"
    )
    monkeypatch.syspath_prepend(str(sources))
    module = importlib.import_module("others_kernel")
    open_session().release(sized(module.size), Gaussian(100.0))
    for path in tmp_path.rglob("*.nbc"):
        path.write_bytes(path.read_bytes()[:20])
    session = open_session()
    with pytest.raises(
        KernelError, match=r"kernel others_kernel.size, cache .*damaged, delete its \.nbi"
    ):
        session.release(sized(importlib.reload(module).size), Gaussian(100.0))
    assert session.ledger == ()


def test_a_module_that_is_not_there_is_refused_uncharged():
    def count(block):
        import there_is_no_such_module  # noqa: F401

    session = open_session()
    with pytest.raises(KernelError, match="ModuleNotFoundError: No module named 'there_is_no"):
        session.release(Counts(count), Gaussian(100.0))
    assert session.ledger == ()


class ByTable:
    """Counts rows by going through the table, and loads what it needs by a function."""

    kind = "count"

    def __init__(self, load):
        self._load = load

    def dry_run_queries(self):
        return (self._load,)

    def answer_table(self, table, noise):
        return np.array([sum(block.n_rows for block in table.blocks)], dtype=np.int64)

    def sensitivity(self, relation):
        return Sensitivity("l2", float(relation.rows_changed), relation)


def test_a_query_loads_what_it_needs_by_a_function_of_no_rows():
    rows, session = [], open_session()
    session.release(ByTable(lambda block: rows.append(block.n_rows)), Gaussian(100.0))
    session.release(ByTable(lambda block: rows.append(block.n_rows)), Gaussian(100.0))
    assert rows == [0] and session.releases == {"count": 2}


def test_the_old_name_of_what_a_query_loads_is_good_with_a_warning():
    class OldQuery:
        kind, sensitivity, answer_table = "count", ByTable.sensitivity, ByTable.answer_table

        def rehearsed(self):
            return (lambda block: rows.append(block.n_rows),)

    rows, session = [], open_session()
    with pytest.warns(FutureWarning, match="^OldQuery.rehearsed is dry_run_queries now; ") as told:
        session.release(OldQuery(), Gaussian(100.0))
    assert [Path(each.filename).name for each in told] == ["test_dry_run.py"]
    assert rows == [0] and session.releases == {"count": 1}


def test_the_old_name_of_a_dry_run_is_good_with_a_warning():
    rows, session = [], open_session()
    with pytest.warns(FutureWarning, match="^rehearse is dry_run now; ") as told:
        session.rehearse(ByTable(lambda block: rows.append(block.n_rows)))
    assert [Path(each.filename).name for each in told] == ["test_dry_run.py"]
    assert rows == [0] and session.ledger == ()


def test_a_function_that_cannot_load_is_refused_uncharged():
    def load(block):
        import there_is_no_such_module  # noqa: F401

    session = open_session()
    with pytest.raises(KernelError, match="ModuleNotFoundError: No module named 'there_is_no"):
        session.release(ByTable(load), Gaussian(100.0))
    assert session.ledger == ()


def test_what_no_rows_do_not_suit_is_released_all_the_same():
    session = open_session()
    session.release(Counts(lambda block: int(block.y.max())), Gaussian(100.0))
    assert session.releases == {"count": 1}


@pytest.mark.parametrize("sampled", [False, True])
def test_one_dry_run_for_each_kind_on_no_rows_at_all(sampled):
    seen = []

    def count(block):
        seen.append(block.n_rows)
        return block.n_rows

    session = open_session(accountant=RdpAccountant)
    for _ in range(3):
        query = PoissonSample(Counts(count), 1.0) if sampled else Counts(count)
        session.release(query, Gaussian(1000.0))
    assert seen == [0, 64, 64, 64]


class Answers(Counts):
    """A sum whose parts are what a function makes of a block."""

    def answer_block(self, block):
        return self._count(block)


class FromFloats(Counts):
    def start(self):
        return np.zeros(1)


class Derived:
    kind = "derived"

    def derive(self, ask, noise):
        return ask(RowCount()) / 2

    def sensitivity(self, relation):
        return Sensitivity("l2", 1.0, relation)


NO_SUMS = [
    (Answers(lambda b: np.array([b.y.mean() if b.n_rows else 0.0])), "float64 of shape (1,)"),
    (Answers(lambda b: np.array([b.n_rows], dtype=np.int32)), "int32 of shape (1,)"),
    (Answers(lambda b: np.array(b.n_rows)), "int64 of shape ()"),
    (Answers(lambda b: [b.n_rows]), "a list"),
]


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize(("query", "found"), NO_SUMS, ids=[found for _, found in NO_SUMS])
def test_an_answer_that_is_no_int64_of_the_stated_shape_is_refused_uncharged(query, found, sampled):
    # It was charged, and the run ended in a TypeError at the optimizer's line, without its text.
    session = open_session(accountant=RdpAccountant)
    asked = PoissonSample(query, 1.0) if sampled else query
    with pytest.raises(AnswerError, match=re.escape(f"Of no rows it returned {found}.")) as refusal:
        session.release(asked, Gaussian(100.0))
    assert "Answers.answer_block must return int64 of the shape of start(), (1,)" in str(refusal)
    assert session.ledger == () and session.accountant.spent == 0


def test_a_sum_that_starts_from_floats_is_refused_uncharged_by_any_engine():
    class Elsewhere:
        def answer(self, query):
            return query.start() + 64.0

    budget = ZcdpAccountant.from_budget(1.0, 1e-6)
    for session in (open_session(), TableSession(Elsewhere(), budget, ADD, SeededNoise(1))):
        with pytest.raises(AnswerError, match=r"FromFloats.start must return int64, not float64"):
            session.release(FromFloats(len), Gaussian(100.0))
        assert session.ledger == ()


def test_a_kind_of_sum_has_a_dry_run_at_each_shape_in_the_middle_of_a_run():
    class Wide(Counts):
        def start(self):
            return np.zeros(self._count, dtype=np.int64)

        def answer_block(self, block):
            return np.full(self._count, block.n_rows / 2 if self._count > 1 else block.n_rows)

    session = open_session()
    session.release(Wide(1), Gaussian(100.0))
    with pytest.raises(AnswerError, match="float64 of shape"):
        session.release(Wide(2), Gaussian(100.0))
    assert session.releases == {"count": 1}


def test_what_rows_gave_is_not_said():
    # No rows do not suit it, so that only the rows show what it is: their dtype and shape are not
    # for whoever reads the message.
    session = open_session()
    with pytest.raises(AnswerError) as refusal:
        session.release(Answers(lambda block: block.y + block.y.max()), Gaussian(100.0))
    assert "returned" not in str(refusal.value) and "64," not in str(refusal.value)
    with pytest.raises(AnswerError, match=r"Derived.derive must return int64 in whole steps"):
        open_session().release(Derived(), Gaussian(100.0))


def test_the_noise_of_the_session_is_not_touched():
    problem = make_problem(ROWS, ADD, Logistic())
    query = ClippedGradientSum(problem, np.zeros(5), 1.0)
    value = open_session(problem=problem).release(query, Gaussian(10.0))
    exact = LocalEngine(ROWS.table()).answer(query)
    expected = Gaussian(10.0).release(exact, query.sensitivity(ADD), SeededNoise(1))
    assert value.tobytes() == expected.tobytes()


def test_an_engine_that_offers_none_has_no_dry_run():
    class Elsewhere:
        def answer(self, query):
            return np.array([64], dtype=np.int64)

    session = TableSession(Elsewhere(), ZcdpAccountant.from_budget(1.0, 1e-6), ADD, SeededNoise(1))
    session.release(RowCount(), Gaussian(100.0))
    assert session.releases == {"count": 1}


def test_a_module_is_imported_before_another_thread_is_at_work(tmp_path, monkeypatch):
    # Two threads that imported one module inside a release waited for each other for ever.
    (tmp_path / "late_module.py").write_text(
        "import threading\nTHREAD = threading.current_thread().name\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    imported = threading.Event()

    def count(block):
        if block.n_rows and threading.current_thread() is threading.main_thread():
            imported.wait(10)
        importlib.import_module("late_module")
        imported.set()
        return block.n_rows

    block = ROWS.table().blocks[0]
    table = Table([block] * 16, n_features=5, raw_norm_bound=2.0, row_norm=1.0)
    open_session(table, threads=2).release(Counts(count), Gaussian(100.0))
    try:
        assert sys.modules["late_module"].THREAD == threading.current_thread().name
    finally:
        del sys.modules["late_module"]


NEEDS_FILES = (
    pytest.mark.data,
    pytest.mark.skipif(
        not os.environ.get("DPCORE_DATA_DIR"),
        reason="DPCORE_DATA_DIR does not name a folder with the data sets' files",
    ),
)

LATE = """
import os, sys, threading
from numba.core.dispatcher import Dispatcher
from dpcore.session.account import Account

charges, late = [], []
charge, compile = Account.charge_then_draw, Dispatcher.compile

def noted_charge(self, *arguments):
    charges.append(1)
    return charge(self, *arguments)

def noted_compile(self, sig):
    if charges or threading.current_thread() is not threading.main_thread():
        late.append(self.py_func.__name__)
    return compile(self, sig)

Account.charge_then_draw, Dispatcher.compile = noted_charge, noted_compile
from dpcore.cli import main
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        sys.argv = ["dpcore", "train", "--quiet", *line.split()]
        try:
            main()
        except SystemExit as end:
            assert not end.code
        print(len(charges), late, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    print("end", flush=True)
"""


@pytest.fixture(scope="module")
def forked():
    """A program that has imported all, and fits in a new process for each line of its input."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", LATE], **pipes) as running:
        yield running


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")
@pytest.mark.parametrize(
    ("algo", "data"),
    [
        ("dp-gd", "census-sim"),
        ("dp-agd", "census-sim"),
        ("objpert", "census-sim"),
        ("sgd-ma", "census-sim"),
        pytest.param("dp-gd", "a9a", marks=NEEDS_FILES),
        pytest.param("dp-gd", "kddcup99-10-numeric", marks=NEEDS_FILES),
    ],
)
def test_no_kernel_is_loaded_from_the_first_charge_on(algo, data, forked):
    few = "" if algo == "objpert" else "--set steps=4"
    print(f"--algo {algo} --data {data} {few}", file=forked.stdin, flush=True)
    charges, late = next(iter(forked.stdout.readline, "end\n")).split(maxsplit=1)
    assert int(charges) > 0
    assert late.strip() == "[]"
    assert forked.stdout.readline() == "end\n"

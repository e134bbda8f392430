"""NumPy neither warns nor raises of what a row makes of a number, whatever the process has set.

A process may have NumPy print, warn or raise where a number overflows, underflows or is not finite.
A release that did so for one row alone would tell of that row.
"""

import contextlib

import numpy as np
import pytest

from dpcore.plugin import ClippedGradientSum, Gaussian, Laplace, NeighboringRelation, Problem
from dpcore.plugin.parts import LocalEngine, SeededNoise, Sensitivity, Table, load_registry
from dpcore.session import account, answers
from dpcore.session.session import TableSession

ZcdpAccountant = load_registry().load("accountant", "zcdp")
Logistic = load_registry().load("loss", "logistic")
ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
USUAL = [[0.5, -0.25], [0.25, 1.0]]
ODD = {"zeros": [0.0, 0.0], "tiny": [1e-310, -5e-324], "huge": [1e308, -1e308], "far": [1e-300, 9]}
NUMPY = (FloatingPointError, RuntimeWarning)
PROBLEM = Problem(Logistic(), 0.0, 2, row_norm=1.0, raw_norm_bound=2.0, relation=ADD)


@pytest.fixture(params=["raise", "warn"], autouse=True)
def told(request):
    with np.errstate(all=request.param):
        yield


def made(*rows):
    X = np.array([*USUAL, *rows])
    return Table.from_matrix(X, np.ones(len(X)), row_norm=1.0, raw_norm_bound=2.0)


def opened(table):
    accountant = ZcdpAccountant.from_budget(8.0, 1e-6)
    return TableSession(LocalEngine(table, threads=1), accountant, ADD, SeededNoise(0))


def odd(exact):
    """Return the numbers, after what NumPy warns of where there are more than two rows."""
    large = np.full(1, 1e200 if exact.sum() > 2 else 1.0)
    large *= large
    (large - large).astype(np.int64)
    return exact


class Count:
    kind = "count"

    def sensitivity(self, relation):
        return Sensitivity("l2", 1.0, relation)


class OddSum(Count):
    def start(self):
        return np.zeros(1, dtype=np.int64)

    def answer_block(self, block):
        return odd(np.array([block.n_rows]))


class Plain(OddSum):
    def answer_block(self, block):
        return np.array([block.n_rows])


class OddDerived(Count):
    def derive(self, ask, noise):
        return odd(ask(Plain()))


class OddOfTheTable(Count):
    def answer_table(self, table, noise):
        return odd(np.array([table.n_rows]))


class OddNoise(Gaussian):
    def release(self, exact, sensitivity, noise):
        return super().release(odd(exact), sensitivity, noise)


class Echo:
    """An interactive mechanism that computes with each answer: not private."""

    kind, base, reference, halted, epsilon, first = "echo", Plain(), None, False, None, 0.0
    most_questions = 9
    question = Sensitivity("l2", 1.0, ADD)

    def event(self, sensitivity, known):
        return Gaussian(9.0).event(sensitivity)

    def begin(self, exact, sensitivity, known, noise):
        odd(exact)
        return self

    def reply(self, exact):
        return odd(exact).tolist()


@pytest.mark.parametrize("name", ODD)
def test_a_row_of_any_numbers_is_read_and_summed(name):
    session = opened(made(ODD[name]))
    for norm, mechanism in (("l1", Laplace(9.0)), ("l2", Gaussian(9.0))):
        query = ClippedGradientSum(PROBLEM, np.ones(2), 1.0, norm)
        assert np.isfinite(session.release(query, mechanism)).all()


@pytest.mark.parametrize("name", ["zeros", "tiny", "huge"])
def test_a_table_read_as_the_process_has_it_tells_of_a_row(name):
    # The broken twin of the above.
    as_set = Table.from_matrix.__func__.__wrapped__
    with pytest.raises(NUMPY, match="encountered in"):
        as_set(Table, np.array([*USUAL, ODD[name]]), np.ones(3), row_norm=1.0, raw_norm_bound=2.0)


@pytest.mark.parametrize("query", [OddSum(), OddDerived(), OddOfTheTable(), Plain()])
def test_a_release_does_not_tell_of_a_third_row(query):
    for rows in ([], [[0.0, 0.5]]):
        session = opened(made(*rows))
        assert np.isfinite(session.release(query, OddNoise(9.0))).all()
        exchange = session.start(Echo())
        assert exchange.ask(Plain()) == [2 + len(rows)]
        exchange.close()
        assert len(session.ledger) == 2


@pytest.mark.parametrize("query", [OddOfTheTable(), OddDerived()])
def test_a_session_that_leaves_it_to_the_process_tells_of_a_row(query, monkeypatch):
    # The broken twin: numpy.errstate changes nothing.
    for module in (account, answers):
        monkeypatch.setattr(module, "np", Numpy())
    assert np.isfinite(opened(made()).release(query, Gaussian(9.0))).all()
    with pytest.raises(NUMPY, match="overflow encountered in multiply"):
        opened(made([0.0, 0.5])).release(query, Gaussian(9.0))


class Numpy:
    """NumPy, but for ``errstate``."""

    def __getattr__(self, name):
        return getattr(np, name)

    def errstate(self, **_):
        return Nothing()


class Nothing(contextlib.ContextDecorator):
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

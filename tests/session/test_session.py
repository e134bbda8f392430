"""The session: order of its steps, refusals, the ledger."""

import copy
import copyreg
import os
import pickle
import threading
import time

import numpy as np
import pytest
from forked import refusal_in_a_child

from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.errors import BudgetExceededError, InvalidInputError, UnsupportedEventError
from dpcore.plugin import ClippedGradientSum, Gaussian, Laplace, NeighboringRelation, RowCount
from dpcore.plugin.parts import (
    LocalEngine,
    Logistic,
    NoiseSource,
    PureAccountant,
    SeededNoise,
    Sensitivity,
)
from dpcore.session.session import TableSession
from dpcore.session.trust_boundary import TrustedParts
from dpcore_accounting.samples import PoissonSample
from dpcore_accounting.selections.exponential import Exponential
from dpcore_dp_agd.loss_line import ClippedLossLine
from dpcore_lab.checks import make_rows
from dpcore_lab.made_tables.tables import make_problem

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE
ROWS = make_rows(64)


class Steps:
    """Wraps the parts of a session and notes the order in which they act."""

    def __init__(self):
        self.seen = []

    def engine(self):
        steps = self

        class Engine(LocalEngine):
            def answer(self, query):
                steps.seen.append("answer")
                return super().answer(query)

        return Engine(ROWS.table())

    def mechanism(self, multiplier):
        steps = self

        class Noisy(Gaussian):
            def event(self, sensitivity):
                steps.seen.append("event")
                return super().event(sensitivity)

            def release(self, exact, sensitivity, noise):
                steps.seen.append(f"noise with {len(steps.session.ledger)} charged")
                return super().release(exact, sensitivity, noise)

        return Noisy(multiplier)


def session(epsilon=1.0, accountant=ZcdpAccountant, engine=None, relation=ADD, noise=None):
    return TableSession(
        engine or LocalEngine(ROWS.table()),
        accountant.from_budget(epsilon, 1e-6),
        relation,
        noise or SeededNoise(1),
    )


def gradient(relation=ADD, **options):
    problem = make_problem(ROWS, relation, Logistic())
    return ClippedGradientSum(problem, np.zeros(5), 1.0, **options)


def line(relation=ADD):
    problem = make_problem(ROWS, relation, Logistic())
    return ClippedLossLine(problem, np.zeros(5), np.ones(5), np.arange(4) / 4, 2.0)


def test_cost_then_charge_then_data_then_noise():
    steps = Steps()
    steps.session = session(engine=steps.engine())
    steps.session.release(gradient(), steps.mechanism(10.0))
    assert steps.seen == ["event", "answer", "noise with 1 charged"]


def test_a_refused_release_asks_draws_and_charges_nothing():
    steps = Steps()
    steps.session = opened = session(engine=steps.engine())
    before = opened.accountant
    with pytest.raises(BudgetExceededError):
        opened.release(gradient(), steps.mechanism(0.01))
    assert steps.seen == ["event"]
    assert opened.accountant == before and opened.ledger == () and opened.releases == {}


def test_the_charge_stays_when_the_engine_fails():
    class Broken(LocalEngine):
        def answer(self, query):
            raise MemoryError

    opened = session(engine=Broken(ROWS.table()))
    with pytest.raises(MemoryError):
        opened.release(gradient(), Gaussian(10.0))
    assert opened.accountant.spent > 0 and len(opened.ledger) == 1


def test_a_derived_answer_is_one_release_worked_out_from_sums():
    class GradientAfterOneStep:
        kind = "pass"

        def derive(self, ask, noise):
            problem = make_problem(ROWS, ADD, Logistic())
            first = ask(gradient())
            return first + ask(ClippedGradientSum(problem, -np.sign(first) / 8, 1.0))

        def sensitivity(self, relation):
            return Sensitivity("l2", 4.0, relation, grid_bits=gradient().sensitivity(ADD).grid_bits)

    opened = session()
    opened.release(GradientAfterOneStep(), Gaussian(40.0))
    assert opened.releases == {"pass": 1}
    with pytest.raises(BudgetExceededError):
        session(epsilon=0.01).release(GradientAfterOneStep(), Gaussian(0.01))


def test_the_ledger_lists_every_event_in_order():
    opened = session()
    opened.release(gradient(), Gaussian(20.0))
    opened.release(line(), Exponential(30.0))
    opened.release(RowCount(), Gaussian(40.0))
    assert [e.kind for e in opened.ledger] == ["gradient", "selection", "count"]
    assert [e.index for e in opened.ledger] == [0, 1, 2]
    assert opened.releases == {"gradient": 1, "selection": 1, "count": 1}
    assert sum(e.cost for e in opened.ledger) == pytest.approx(opened.accountant.spent, rel=1e-12)


def test_whoever_asks_for_the_ledger_gets_copies():
    opened = session()
    opened.release(gradient(), Gaussian(20.0))
    before = opened.ledger
    (told,) = opened.ledger
    object.__setattr__(told, "kind", "nothing")
    object.__setattr__(told.event, "noise_multiplier", 1e9)
    assert opened.ledger == before != (told,)


def test_the_budget_can_be_spent_and_not_passed():
    opened = session()
    with pytest.raises(BudgetExceededError):
        while True:
            opened.release(gradient(), Gaussian(30.0))
    assert 0 <= opened.accountant.remaining < 1 / (2 * 30.0**2) * 1.001
    assert opened.accountant.spent <= opened.accountant.budget


@pytest.mark.parametrize(
    ("accountant", "query", "mechanism", "error"),
    [
        (ZcdpAccountant, gradient(), Laplace(9.0), InvalidInputError),
        (ZcdpAccountant, gradient(norm="l1"), Gaussian(9.0), InvalidInputError),
        (ZcdpAccountant, gradient(), Exponential(9.0), InvalidInputError),
        (PureAccountant, gradient(), Gaussian(9.0), UnsupportedEventError),
        (PureAccountant, gradient(norm="l2"), Gaussian(9.0), UnsupportedEventError),
    ],
)
def test_what_does_not_fit_is_refused_before_the_data(accountant, query, mechanism, error):
    steps = Steps()
    opened = session(accountant=accountant, engine=steps.engine())
    with pytest.raises(error):
        opened.release(query, mechanism)
    assert steps.seen == [] and opened.ledger == ()


class SingleNumbers(Gaussian):
    scalar_only = True


def test_a_mechanism_for_single_numbers_is_given_no_vector_and_nothing_is_charged():
    opened = session()
    assert opened.release(RowCount(), SingleNumbers(50.0)).shape == (1,)
    gradient = ClippedGradientSum(make_problem(ROWS, ADD, Logistic()), np.zeros(5), 1.0)
    for query in (gradient, PoissonSample(gradient, 0.5)):
        with pytest.raises(InvalidInputError, match="single numbers alone, .* has 5 coordinates"):
            opened.release(query, SingleNumbers(50.0))
    assert len(opened.ledger) == 1


class OfAnyNorm(Laplace):
    """Broken on purpose: it needs an l1 sensitivity, and states a cost for any."""

    def bound_of(self, sensitivity):
        return sensitivity.bound


def test_noise_that_needs_a_larger_norm_than_is_stated_is_refused_uncharged():
    opened = session(accountant=PureAccountant)
    query = ClippedGradientSum(make_problem(ROWS, ADD, Logistic()), np.zeros(5), 1.0)  # in l2
    assert OfAnyNorm(1e3).event(query.sensitivity(ADD))  # which would be charged
    with pytest.raises(InvalidInputError, match="OfAnyNorm needs an l1 sensitivity, and that of"):
        opened.release(query, OfAnyNorm(1e3))
    assert opened.ledger == ()


def test_a_sensitivity_under_another_relation_is_refused():
    class Elsewhere(RowCount):
        def sensitivity(self, relation):
            return Sensitivity("l2", 1.0, ADD)

    opened = session(relation=REPLACE)
    with pytest.raises(InvalidInputError, match="replace-one"):
        opened.release(Elsewhere(), Gaussian(9.0))
    assert opened.ledger == ()


def test_replace_one_gets_twice_the_noise():
    # The same multiplier and noise stream, so the drawn deviates are equal: only the scale moves.
    values = []
    for relation in (ADD, REPLACE):
        query = gradient(relation)
        exact = LocalEngine(ROWS.table()).answer(query) * 2.0 ** -(16 + query.bits)
        released = session(relation=relation).release(query, Gaussian(20.0))
        values.append(released - exact)
    np.testing.assert_allclose(values[1], 2 * values[0], rtol=1e-6, atol=1e-3)


def test_releases_from_many_threads_are_one_at_a_time():
    most = []

    class Alone(LocalEngine):
        inside = 0

        def answer(self, query):
            self.inside += 1
            time.sleep(0.001)  # long enough for another thread, where nothing holds it back
            most.append(self.inside)
            self.inside -= 1
            return super().answer(query)

    opened = session(epsilon=2.0, engine=Alone(ROWS.table()))
    refused = []

    def work():
        for _ in range(40):
            try:
                opened.release(gradient(), Gaussian(40.0))
            except BudgetExceededError:
                refused.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1
    assert opened.accountant.remaining >= 0
    assert len(opened.ledger) + len(refused) == 160
    assert [e.index for e in opened.ledger] == list(range(len(opened.ledger)))


@pytest.mark.slow
def test_a_thousand_releases_on_the_same_rows_all_differ(monkeypatch):
    # A generator seeded with one byte would give 256 results at most. The entropy is the system's.
    sizes = []
    urandom = os.urandom
    monkeypatch.setattr(os, "urandom", lambda n: sizes.append(n) or urandom(n))
    opened = session(epsilon=100.0, noise=NoiseSource.of_seed())
    results = {opened.release(RowCount(), Gaussian(100.0))[0] for _ in range(200)}
    vectors = {opened.release(gradient(), Gaussian(100.0)).tobytes() for _ in range(1000)}
    assert len(vectors) == 1000 and len(results) > 20
    assert sum(sizes) >= 1000 * 5 * 8


def test_parts_inside_the_trust_boundary_are_named():
    opened = session()
    opened.release(gradient(), Gaussian(20.0))
    assert "dpcore.losses.logistic:Logistic" in opened.trusted_parts
    assert "dpcore.queries.gradient:ClippedGradientSum" in opened.trusted_parts
    assert "dpcore.mechanisms.gaussian:Gaussian" in opened.trusted_parts
    assert "dpcore.accountants.zcdp:ZcdpAccountant" in opened.trusted_parts


@pytest.mark.parametrize("bound", [0.0, -1.0, np.nan, np.inf])
def test_a_sensitivity_of_nothing_is_refused(bound):
    with pytest.raises(InvalidInputError, match="bound"):
        Sensitivity("l2", bound, ADD)


def test_a_session_is_neither_copied_nor_pickled():
    opened = session()
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be pickled or copied"):
            attempt(opened)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_cannot_spend_the_budget_a_second_time():
    opened = session(noise=NoiseSource.of_seed())
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            opened._pid = os.getpid()  # as in a namespace where the numbers are the same
            opened.release(RowCount(), Gaussian(10.0))
            os.write(write, b"released")
        except InvalidInputError as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    os.close(write)
    told = os.read(read, 1000)
    os.waitpid(child, 0)
    assert b"forked" in told and opened.ledger == ()


class ShuffledLabels:
    """The first label of a secret order: answered from the table, in one release."""

    kind = "model"

    def answer_table(self, table, noise):
        y = np.concatenate([block.y for block in table.blocks])
        return y[noise.permutation(table.n_rows)][:1].astype(np.int64)

    def sensitivity(self, relation):
        return Sensitivity("l2", 2.0, relation)


def test_a_question_to_the_whole_table_is_one_release():
    opened = session(relation=REPLACE)
    value = opened.release(ShuffledLabels(), Gaussian(50.0))
    assert np.isfinite(value).all() and opened.releases == {"model": 1}


def test_an_engine_without_a_table_refuses_it_uncharged():
    class Sums:
        def answer(self, query):
            raise AssertionError("not asked")

    opened = session(engine=Sums(), relation=REPLACE)
    with pytest.raises(InvalidInputError, match="no table at hand.*sums alone"):
        opened.release(ShuffledLabels(), Gaussian(50.0))

    class Ordered(ShuffledLabels):
        whole_table = "keeps one order of all (Theorem 1)"

    with pytest.raises(InvalidInputError, match="^Ordered keeps one order of all .Theorem 1"):
        opened.release(Ordered(), Gaussian(50.0))
    assert not opened.ledger


def test_the_least_number_of_rows_that_a_query_promises_for_is_kept():
    class UpTo(RowCount):
        def __init__(self, most_rows):
            super().__init__()
            self.most_rows, self.rows_that_fit = most_rows, most_rows and 2 * most_rows

    opened = session()
    assert opened.most_rows is None and opened.rows_that_fit is None
    for most, known in [(None, None), (2**40, 2**40), (1000, 1000), (2**27, 1000)]:
        opened.release(UpTo(most), Gaussian(100.0))
        assert opened.most_rows == known and opened.rows_that_fit == (known and 2 * known)


def test_a_forked_child_has_no_guarantee_to_state():
    opened = TableSession(
        LocalEngine(ROWS.table()), ZcdpAccountant.from_budget(1.0, 1e-6), ADD, NoiseSource.of_seed()
    )
    opened.require_whole()
    assert refusal_in_a_child(opened.require_whole).startswith("This process was forked")


def test_a_registered_copy_is_no_filter_of_ours():
    small = ZcdpAccountant.from_budget(0.1, 1e-6)
    large = ZcdpAccountant.from_budget(100.0, 1e-6)
    copyreg.pickle(ZcdpAccountant, lambda accountant: (lambda: large, ()))
    try:
        assert copy.deepcopy(small) is large  # as the twin would open it
        opened = TableSession(LocalEngine(ROWS.table()), small, ADD, NoiseSource.of_seed())
        assert opened.accountant == small
    finally:
        del copyreg.dispatch_table[ZcdpAccountant]


@pytest.mark.parametrize("kind", [TrustedParts, type(ROWS.table().blocks[0])])
def test_no_registered_copy_is_made_of_what_the_session_holds(kind):
    def asked(whole):
        seen.append(whole)
        return kind, ()

    seen = []
    copyreg.pickle(kind, asked)
    try:
        opened = TableSession(
            LocalEngine(ROWS.table()),
            ZcdpAccountant.from_budget(1.0, 1e-6),
            ADD,
            NoiseSource.of_seed(),
        )
        opened.release(RowCount(), Gaussian(1000.0))
        assert ROWS.table().blocks[0].take(np.arange(3)).n_rows == 3
        assert not seen
        with pytest.raises((AttributeError, TypeError)):
            copy.copy(ROWS.table().blocks[0] if kind is not TrustedParts else kind()).n_rows  # noqa: B018
        assert seen  # as the twin would have asked
    finally:
        del copyreg.dispatch_table[kind]


def test_a_release_of_another_thread_is_waited_for():
    # A statement was refused meanwhile: an answer had ended in an error, it said.
    asked, goes_on = threading.Event(), threading.Event()

    class Slow(LocalEngine):
        def answer(self, query):
            asked.set()
            goes_on.wait(30)
            return super().answer(query)

    opened = session(engine=Slow(ROWS.table()))
    releases = threading.Thread(target=opened.release, args=(RowCount(), Gaussian(8.0)))
    releases.start()
    assert asked.wait(30)
    states = threading.Thread(target=opened.require_whole)
    states.start()
    states.join(0.05)
    assert states.is_alive()
    goes_on.set()
    for each in (releases, states):
        each.join(30)
    opened.require_whole()

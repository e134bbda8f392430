"""Interactive mechanisms of a session: charged at the start, alone while open, deaf after."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest

from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.errors import BudgetExceededError, InvalidInputError, UnsupportedEventError
from dpcore.plugin import Gaussian, Geometric, NeighboringRelation, RowCount
from dpcore.plugin.parts import (
    ComposedDpEvent,
    ExPostDpEvent,
    GaussianDpEvent,
    GdpAccountant,
    LocalEngine,
    Logistic,
    PureAccountant,
    PureDpEvent,
    SeededNoise,
    Sensitivity,
)
from dpcore.session.session import TableSession
from dpcore_accuracy_first.noise_chain.mechanism import NoiseReduction
from dpcore_accuracy_first.objectives.loss_sum import ErrorCount, ObjectiveSum
from dpcore_accuracy_first.objectives.minimizer import Minimizer, MinimumObjective
from dpcore_lab.checks import make_rows
from dpcore_lab.made_tables.tables import make_problem
from dpcore_lab.replay.recording import CountingEngine

REPLACE = NeighboringRelation.REPLACE_ONE
ROWS = make_rows(64)
PROBLEM = make_problem(ROWS, REPLACE, Logistic(), l2=0.1)
LEVELS = (0.01, 0.02, 0.04)


def errors(w=None):
    return ErrorCount(PROBLEM, np.zeros(5) if w is None else w)


def reduction(threshold=1e6, **options):
    question = errors().sensitivity(REPLACE)
    given = {"base": RowCount("l1"), "levels": LEVELS, "test_epsilon": 0.5, **options}
    return NoiseReduction(threshold=threshold, question=question, **given)


def open_session(epsilon=1.0, accountant=PureAccountant, engine=None):
    engine = engine or LocalEngine(ROWS.table())
    return TableSession(engine, accountant.from_budget(epsilon, 1e-6), REPLACE, SeededNoise(1))


def test_the_cap_is_charged_at_the_start_and_once():
    session = open_session()
    exchange = session.start(reduction())
    assert session.accountant.spent == pytest.approx(0.54, rel=1e-9)
    while exchange.ask(errors()).value is not None:
        pass
    assert session.accountant.spent == pytest.approx(0.54, rel=1e-9)
    assert session.releases == {"noise-reduction": 1}
    assert [entry.mechanism for entry in session.ledger] == ["NoiseReduction"]


def test_what_does_not_fit_is_refused_before_anything_is_asked():
    engine = CountingEngine(ROWS.table())
    session = open_session(epsilon=0.5, engine=engine)
    with pytest.raises(BudgetExceededError):
        session.start(reduction())
    assert not engine.answers and not session.ledger
    session.release(RowCount("l1"), Geometric(10.0))


def test_the_charge_stays_when_the_data_cannot_be_asked():
    class Broken(LocalEngine):
        def answer(self, query):
            raise MemoryError

    session = open_session(engine=Broken(ROWS.table()))
    with pytest.raises(MemoryError):
        session.start(reduction())
    assert len(session.ledger) == 1 and session.ex_post_epsilon == session.accountant.spent


def test_no_other_release_comes_between_its_steps():
    session = open_session()
    exchange = session.start(reduction())
    for other in (lambda: session.release(RowCount("l1"), Geometric(10.0)),
                  lambda: session.start(reduction())):  # fmt: skip
        with pytest.raises(InvalidInputError, match="is open"):
            other()
    assert len(session.ledger) == 1
    exchange.close()
    session.release(RowCount("l1"), Geometric(10.0))


@pytest.mark.parametrize("threshold", [1e6, -1e6])
def test_after_it_has_halted_it_refuses(threshold):
    session = open_session()
    exchange = session.start(reduction(threshold))
    while exchange.ask(errors()).value is not None:
        pass
    with pytest.raises(InvalidInputError, match="halted"):
        exchange.ask(errors())
    session.release(RowCount("l1"), Geometric(10.0))
    with pytest.raises(InvalidInputError, match="halted"):
        exchange.ask(errors())


def test_a_closed_one_does_not_answer_through_another():
    session = open_session(epsilon=2.0)
    first = session.start(reduction())
    first.close()
    second = session.start(reduction())
    with pytest.raises(InvalidInputError, match="closed"):
        first.ask(errors())
    first.close()
    assert second.ask(errors()).value is not None


def test_a_question_that_could_move_further_is_refused_before_the_data_are_asked():
    engine = CountingEngine(ROWS.table())
    exchange = open_session(engine=engine).start(reduction())
    asked = len(engine.answers)
    ball = Minimizer(PROBLEM).ball
    for question in (ObjectiveSum(PROBLEM, np.zeros(5), ball), RowCount("l1")):
        with pytest.raises(InvalidInputError, match="was started for"):
            exchange.ask(question)
    assert len(engine.answers) == asked
    assert exchange.ask(errors()).value is not None


def test_the_ex_post_epsilon_is_of_what_was_said():
    session = open_session(epsilon=2.0)
    session.release(RowCount("l1"), Geometric(10.0))
    assert session.ex_post_epsilon == session.accountant.spent
    exchange = session.start(reduction())
    assert session.ex_post_epsilon == pytest.approx(0.1 + 0.51)
    exchange.ask(errors())
    assert session.ex_post_epsilon == pytest.approx(0.1 + 0.52)
    exchange.close()
    session.release(RowCount("l1"), Geometric(10.0))
    assert session.ex_post_epsilon == pytest.approx(0.1 + 0.52 + 0.1)
    assert session.accountant.spent == pytest.approx(0.1 + 0.54 + 0.1)
    assert session.ex_post_epsilon <= session.accountant.spent


def test_a_release_without_a_pure_epsilon_has_no_ex_post_epsilon():
    session = open_session(accountant=ZcdpAccountant, epsilon=8.0)
    session.start(reduction()).close()
    session.release(RowCount("l2"), Gaussian(20.0))
    with pytest.raises(UnsupportedEventError):
        _ = session.ex_post_epsilon


def test_accountants_charge_the_cap_as_any_pure_release():
    for accountant in (PureAccountant, ZcdpAccountant, GdpAccountant):
        empty = accountant.from_budget(2.0, 1e-6)
        assert empty.cost(ExPostDpEvent(0.5)) == empty.cost(PureDpEvent(0.5))
    for epsilon in (0.0, -1.0, float("nan"), 1):
        with pytest.raises(InvalidInputError):
            ExPostDpEvent(epsilon)


def test_a_base_that_the_reference_asks_for_is_worked_out_once():
    class Counting(Minimizer):
        solved = 0

        def derive(self, ask, noise):
            Counting.solved += 1
            return super().derive(ask, noise)

    minimizer = Counting(PROBLEM)
    session = open_session(epsilon=2.0)
    question = ObjectiveSum(PROBLEM, np.zeros(5), minimizer.ball).sensitivity(REPLACE)
    mechanism = NoiseReduction(minimizer, LEVELS, 0.5, -1e6, question, MinimumObjective(minimizer))
    exchange = session.start(mechanism)
    assert Counting.solved == 1
    w = minimizer.ball.project(exchange.value)
    assert exchange.ask(ObjectiveSum(PROBLEM, w, minimizer.ball)).accepted
    assert Counting.solved == 1


def test_the_same_question_again_takes_no_second_pass_and_has_fresh_noise():
    engine = CountingEngine(ROWS.table())
    exchange = open_session(engine=engine).start(reduction())
    question, asked = errors(), len(engine.answers)
    exchange.ask(question)
    exchange.ask(question)
    assert len(engine.answers) == asked + 1


def test_a_forked_child_cannot_go_on():
    session = open_session()
    exchange = session.start(reduction())
    session._forked = True
    for step in (lambda: exchange.ask(errors()), lambda: session.start(reduction())):
        with pytest.raises(InvalidInputError, match="forked"):
            step()


def test_it_can_be_neither_copied_nor_pickled():
    exchange = open_session().start(reduction())
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be pickled or copied"):
            duplicate(exchange)


def test_progress_is_told_of_every_step():
    told = []
    session = TableSession(
        LocalEngine(ROWS.table()),
        PureAccountant.from_budget(1.0, 0.0),
        REPLACE,
        SeededNoise(1),
        on_release=lambda session: told.append(len(session.ledger)),
    )
    exchange = session.start(reduction())
    exchange.ask(errors())
    assert told == [1, 1]


def test_levels_that_no_chain_can_have_are_refused_uncharged():
    engine = CountingEngine(ROWS.table())
    session = open_session(epsilon=1e15, engine=engine)
    with pytest.raises(InvalidInputError, match="1/64 of a grid step"):
        session.start(reduction(levels=(0.1, 1e14)))
    assert session.ledger == () and engine.answers == []


class Wide:
    """A mechanism of normal noise whose state would answer for ever."""

    kind = "wide"

    def __init__(self, most=3, question=None, event=None):
        self.base, self.reference = RowCount("l2"), None
        self.question = question or RowCount("l2").sensitivity(REPLACE)
        self.most_questions = most
        self._event = event or GaussianDpEvent(8.0)

    def event(self, sensitivity, reference):
        return self._event

    def begin(self, exact, sensitivity, reference, noise):
        return Endless()


class Endless:
    first, halted = 0.0, False

    def __init__(self, epsilon=None):
        self.epsilon = epsilon

    def reply(self, exact):
        return float(exact[0])


def test_any_event_is_charged_by_an_accountant_that_holds_it():
    for accountant, event in (
        (ZcdpAccountant, GaussianDpEvent(8.0)),
        (GdpAccountant, GaussianDpEvent(8.0)),
        (ZcdpAccountant, ComposedDpEvent((GaussianDpEvent(8.0), PureDpEvent(0.1)))),
        (PureAccountant, PureDpEvent(0.25)),
    ):
        session = open_session(accountant=accountant)
        session.start(Wide(event=event)).ask(RowCount("l2"))
        assert [entry.event for entry in session.ledger] == [event]
        assert session.accountant == accountant.from_budget(1.0, 1e-6).compose(event)
    with pytest.raises(UnsupportedEventError):
        open_session().start(Wide())


def test_a_state_that_would_answer_once_too_often_is_not_asked():
    engine = CountingEngine(ROWS.table())
    session = open_session(accountant=ZcdpAccountant, engine=engine)
    exchange = session.start(Wide(most=3))
    for _ in range(3):
        exchange.ask(RowCount("l2"))
    asked = len(engine.answers)
    with pytest.raises(InvalidInputError, match="started for 3 questions"):
        exchange.ask(RowCount("l2"))
    assert len(engine.answers) == asked


def test_a_question_whose_answer_fails_is_the_last():
    # The state of a tree would put the next batch into this one's place, and one batch in two.
    class Broken(LocalEngine):
        fails = False

        def answer(self, query):
            if self.fails:
                raise MemoryError
            return super().answer(query)

    engine = Broken(ROWS.table())
    exchange = open_session(accountant=ZcdpAccountant, engine=engine).start(Wide(most=3))
    Broken.fails = True
    with pytest.raises(MemoryError):
        exchange.ask(RowCount("l2"))
    Broken.fails = False
    with pytest.raises(InvalidInputError, match="ended in an error or an interrupt"):
        exchange.ask(RowCount("l2"))


def test_a_question_of_scores_that_could_move_further_apart_is_refused():
    def scores(spread):
        return Sensitivity("l2", 1.0, REPLACE, change_range=spread)

    exchange = open_session(accountant=ZcdpAccountant).start(Wide(question=scores(1.0)))
    for spread in (2.0, None):
        with pytest.raises(InvalidInputError, match="was started for"):
            exchange.ask(Stated(scores(spread)))
    exchange.ask(Stated(scores(0.5)))


class Stated:
    """A count with a sensitivity as it is told."""

    kind = "stated"

    def __init__(self, sensitivity):
        self.told = sensitivity

    def start(self):
        return np.zeros(1, dtype=np.int64)

    def answer_block(self, block):
        return np.array([block.n_rows], dtype=np.int64)

    def sensitivity(self, relation):
        return self.told


class Narrowing(Wide):
    """Answers the index of the question in place of what was asked."""

    def narrowed(self, index, query):
        if index == 2:
            return Stated(Sensitivity("l2", 2.0, REPLACE))
        return Indexed(index)


class Indexed(Stated):
    def __init__(self, index):
        super().__init__(RowCount("l2").sensitivity(REPLACE))
        self.index = index

    def start(self):
        return np.array([1000 * self.index], dtype=np.int64)


def test_a_mechanism_may_narrow_questions_and_is_held_to_its_bound_all_the_same():
    exchange = open_session(accountant=ZcdpAccountant).start(Narrowing(most=4))
    question = RowCount("l2")
    assert [exchange.ask(question), exchange.ask(question)] == [64.0, 1064.0]
    with pytest.raises(InvalidInputError, match="was started for"):
        exchange.ask(question)


def test_only_an_event_that_says_so_has_a_loss_of_its_outcome():
    class Boasting(Wide):
        def begin(self, exact, sensitivity, reference, noise):
            return Endless(Fraction(1, 100))

    for event, loss in ((PureDpEvent(0.25), 0.25), (ExPostDpEvent(0.25), 0.01)):
        session = open_session()
        session.start(Boasting(event=event))
        assert session.ex_post_epsilon == pytest.approx(loss)


def test_an_answer_that_is_compared_is_promised_for_sums_that_fit():
    """A sum that wraps around is as private as another where noise is added modulo 2^64. A test of
    it is not: one row more turns it from the largest number to the least."""

    class Few(ErrorCount):
        @property
        def rows_that_fit(self):
            return 1000

    session = open_session()
    exchange = session.start(reduction())
    assert session.most_rows is None
    exchange.ask(Few(PROBLEM, np.zeros(5)))
    assert (session.most_rows, session.rows_that_fit) == (1000, 1000)


def test_what_finds_no_room_says_nothing_of_the_rows():
    class Full(LocalEngine):
        def answer(self, query):
            raise MemoryError("Unable to allocate an array with shape (64, 5)")

    with pytest.raises(MemoryError) as refused:
        open_session(engine=Full(ROWS.table())).release(RowCount("l1"), Geometric(10.0))
    assert "64" not in str(refused.value) and refused.value.__context__ is None

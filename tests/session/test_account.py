"""A budget in use: what refuses a charge, and what is in the ledger when a word is drawn."""

import copy
import pickle

import numpy as np
import pytest

from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.errors import BudgetExceededError, InvalidInputError, UnsupportedEventError
from dpcore.plugin import ClippedGradientSum, FixedSchedule, Gaussian, NeighboringRelation
from dpcore.plugin.parts import (
    GaussianDpEvent,
    LocalEngine,
    Logistic,
    PureAccountant,
    PureDpEvent,
    SeededNoise,
)
from dpcore.session.account import Account
from dpcore.session.ledger import ChargeLog
from dpcore.session.session import TableSession
from dpcore_lab.checks import make_rows
from dpcore_lab.made_tables.tables import make_problem

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE


def draw_then_charge(self, event, entry, draw):
    """The broken twin of ``Account.charge_then_draw``."""
    drawn = draw()
    after = self._filter.compose(event)
    self.ledger.charge(entry())
    self._filter = after
    return drawn


def opened(epsilon=1.0, **more):
    return Account(PureAccountant.from_budget(epsilon, 0.0), ChargeLog(), **more)


def test_a_charge_is_written_and_filtered_before_the_draw():
    account = opened()
    drawn = account.charge_then_draw(
        PureDpEvent(0.25), lambda: "first", lambda: (account.ledger.entries, account.filter.spent)
    )
    assert drawn == (("first",), 0.25)


def test_what_a_draw_raises_takes_no_charge_back():
    account = opened()
    with pytest.raises(ZeroDivisionError):
        account.charge_then_draw(PureDpEvent(0.25), lambda: "first", lambda: 1 // 0)
    assert account.ledger.entries == ("first",) and account.filter.spent == 0.25


def test_nothing_is_drawn_after_a_draw_that_raised():
    # Whether it raises may depend on a row, and whoever asked may catch it.
    for error in (ValueError("a row"), KeyboardInterrupt()):
        account = opened()

        def fails(error=error):
            raise error

        account.charge_then_draw(PureDpEvent(0.25), lambda: "first", lambda: 1)
        account.require_whole()
        with pytest.raises(type(error)):
            account.charge_then_draw(PureDpEvent(0.25), lambda: "second", fails)
        with pytest.raises(InvalidInputError, match="ended in an error or an interrupt"):
            account.charge_then_draw(PureDpEvent(0.25), never, never)
        with pytest.raises(InvalidInputError, match="ended in an error or an interrupt"):
            account.draw(never)
        assert account.ledger.entries == ("first", "second") and account.filter.spent == 0.5


def never():
    raise AssertionError("It was drawn.")


def test_a_refusal_writes_and_draws_nothing():
    account = opened()
    with pytest.raises(BudgetExceededError):
        account.charge_then_draw(PureDpEvent(2.0), never, never)
    off_schedule = opened(schedule=FixedSchedule({GaussianDpEvent(1.0): 1}))
    with pytest.raises(UnsupportedEventError, match="not on the schedule"):
        off_schedule.charge_then_draw(PureDpEvent(0.5), never, never)
    for each in (account, off_schedule):
        assert len(each.ledger) == 0 and each.filter.spent == 0.0


def test_a_ledger_that_cannot_be_written_leaves_the_budget_and_draws_nothing():
    class Full(ChargeLog):
        def charge(self, entry):
            raise OSError("no space")

    account = Account(PureAccountant.from_budget(1.0, 0.0), Full())
    with pytest.raises(OSError, match="no space"):
        account.charge_then_draw(PureDpEvent(0.5), lambda: "first", never)
    assert account.filter.spent == 0.0 and len(account.ledger) == 0


def test_neither_account_nor_ledger_can_be_copied():
    for thing in (opened(), ChargeLog()):
        for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="cannot be pickled or copied"):
                attempt(thing)


class WatchedEntropy:
    """Words of a seed, each asked for when the charges are as many as they should be."""

    seeded = True

    def __init__(self, inner, charged):
        self.inner, self.charged, self.asked = inner, charged, 0

    def words(self, n):
        assert self.charged(), "Words were drawn before the charge."
        self.asked += 1
        return self.inner.words(n)


def release_watched():
    rows, noise = make_rows(64), SeededNoise(3)
    problem = make_problem(rows, ADD, Logistic())
    accountant = ZcdpAccountant.from_budget(1.0, 1e-6)
    session = TableSession(LocalEngine(rows.table()), accountant, ADD, noise)
    watched = noise._entropy = WatchedEntropy(noise._entropy, lambda: len(session.ledger) == 1)
    query = ClippedGradientSum(problem, np.zeros(problem.n_features), 1.0)
    session.release(query, Gaussian(20.0))
    assert watched.asked


def test_a_session_draws_as_its_account_does(monkeypatch):
    release_watched()
    monkeypatch.setattr(Account, "charge_then_draw", draw_then_charge)
    with pytest.raises(AssertionError, match="before the charge"):
        release_watched()

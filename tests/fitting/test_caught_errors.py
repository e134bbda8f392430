"""An error after a charge may tell of a row: who catches it gets no model and no statement."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpcore.errors import InvalidInputError, OptimizerError, TargetNotMetError
from dpcore.fitting import run
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.settings import Settings
from dpcore.fitting.steps.step import OneRelease, Outcome
from dpcore.plugin import Gaussian, RowCount, Solution
from dpcore.plugin.parts import Account, dataset_from_arrays, load_registry
from dpcore.plugin.steps import Phase, mechanism_for

X = np.linspace(0.0, 1.0, 60).reshape(20, 3)
Y = np.where(X[:, 0] > 0.5, 1, -1)
DpGd: Any = load_registry().load("optimizer", "dp-gd")
ENDED = "ended in an error or an interrupt"


class Tells(RowCount):
    """A count that fails where a row is of the upper class."""

    def answer_block(self, block):
        if (block.y > 0).any():
            raise ValueError("There is one.")
        return super().answer_block(block)


@dataclass(frozen=True)
class Catches(DpGd):  # type: ignore[valid-type,misc]
    """Puts into its model whether there is such a row, after another release if ``again``, or ends
    in ``then``."""

    then: Any = None
    again: bool = False

    def minimize(self, problem, session):
        told = 0.0
        try:
            session.release(Tells("l2"), Gaussian(1e6))
        except ValueError:
            told = 1.0
        if self.again:
            session.release(RowCount("l2"), Gaussian(1e6))
        if self.then is not None:
            raise self.then(f"There is one: {told}.")
        return Solution(np.full(problem.w_shape, told), "Done.")


def fitted(optimizer=None, also=()):
    told = {"epsilon": 2.0, "delta": 1e-6, "params": {"steps": "2"}, "accountant": "zcdp"}
    plan = make_plan(Settings("dp-gd", also=also, **told))
    plan = plan if optimizer is None else replace(plan, optimizer=optimizer)
    return run.Run(plan, dataset_from_arrays(X, Y, bounds=(0, 1), classes=(-1, 1))).model()


@pytest.mark.parametrize("caught", [{}, {"then": TargetNotMetError}, {"again": True}])
def test_an_optimizer_that_catches_what_an_answer_raises_gets_no_statement(caught):
    with pytest.raises(InvalidInputError, match=ENDED) as refusal:
        fitted(Catches(**caught))
    assert "Charged, and spent" in refusal.value.__notes__[0]


def test_the_broken_twin_would_have_stated_a_guarantee(monkeypatch):
    monkeypatch.setattr(Account, "require_whole", lambda self: None)
    model = fitted(Catches(again=True))
    assert model.privacy["private"] and model.coef.all()


@dataclass(frozen=True)
class Step:
    name: str = "mine"
    phase: Any = Phase.PROBLEM

    def check(self, facts):
        share = Fraction(1, 10)
        return Asked(share, Tells("l2"), mechanism_for(facts.accountant, share), lambda *_: None)


@dataclass(frozen=True, eq=False)
class Asked(OneRelease):
    def run(self, session, view):
        try:
            session.release(self.query, self.mechanism)
        except ValueError:
            pass
        return Outcome()


def test_a_step_that_catches_what_an_answer_raises_ends_the_run():
    with pytest.raises(InvalidInputError, match=ENDED):
        fitted(also=(Step(),))


@pytest.mark.parametrize("is_secret", [True, False])
def test_an_error_of_an_optimizer_keeps_its_words_where_rows_are_secret(is_secret, monkeypatch):
    """The broken twin takes all rows for generated ones, which are nobody's."""
    if not is_secret:
        monkeypatch.setattr(run, "are_ours_and_generated", lambda *_: True)
    with pytest.raises(OptimizerError) as caught:
        fitted(Catches(then=ValueError))
    told = f"{caught.value} {caught.value.__cause__!r}"
    assert ("There is one" not in told) is is_secret

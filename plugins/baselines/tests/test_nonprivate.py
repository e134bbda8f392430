"""Baselines without privacy: what they give, and that no private run can come by it."""

import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dpcore import fit
from dpcore.accountants import ZcdpAccountant
from dpcore.errors import BudgetExceededError, DpcoreError, InvalidInputError, UnsupportedEventError
from dpcore.fitting.reporting import _is_exact
from dpcore.plugin import Gaussian, Laplace, NeighboringRelation, RowCount, Settings
from dpcore.plugin.commands import Run, make_plan
from dpcore.plugin.parts import (
    AdditiveAccountant,
    ComposedDpEvent,
    GaussianDpEvent,
    GdpAccountant,
    Logistic,
    NonPrivateDpEvent,
    PoissonSampledDpEvent,
    SeededNoise,
    dataset_from_arrays,
)
from dpcore_accounting.selections.exponential import Exponential
from dpcore_baselines.objpert import ObjPert
from dpcore_baselines.outpert import OutPert
from dpcore_baselines.privgene import PrivGene
from dpcore_baselines.without_privacy.accountant import NonPrivateAccountant
from dpcore_baselines.without_privacy.exact import Exact, ExactFit
from dpcore_baselines.without_privacy.nonprivate import Majority, NonPrivate
from dpcore_lab.checks import RecordingSession, make_rows
from dpcore_lab.made_tables.tables import Rows, make_problem

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
GAMMA = {"noise": "gamma"}
GDP = GdpAccountant.from_budget(1.0, 1e-6)


def run(optimizer, accountant, rows=None, relation=ADD, loss=None, l2=0.01, n0=400, seed=3):
    rows = rows or make_rows(300)
    problem = make_problem(rows, relation, loss or Logistic(), l2=l2, n0=n0)
    session = RecordingSession(rows.table(), accountant, relation, SeededNoise(seed))
    return session, optimizer.minimize(problem, session)


def arrays(n=400, seed=2):
    rows = make_rows(n, seed=seed)
    return rows.X[:, :-1], np.where(rows.X[:, 0] > -0.3, 1, -1)


@pytest.mark.parametrize("algo", ["nonprivate", "majority"])
def test_a_run_on_exact_answers_says_that_it_is_not_private(algo):
    X, y = arrays()
    model = fit(X, y, algo=algo, epsilon=0.1)
    assert model.privacy["private"] is False
    assert model.privacy["why_not_private"] == [f"{algo} is given exact answers, without noise"]
    # No (0.1, 1e-08) beside it: exact answers have no epsilon at all.
    assert model.privacy["sentence"] == (
        f"NOT PRIVATE: {algo} is given exact answers, without noise; no epsilon and no delta are "
        "guaranteed."
    )
    if algo == "majority":
        assert (model.margins(np.column_stack([X, np.ones(len(y))])) > 0).all()


def test_nonprivate_is_the_best_model():
    rows = make_rows(2000, seed=4)
    opened = NonPrivateAccountant.from_budget(1.0, 0.0)
    _, solution = run(NonPrivate(), opened, rows, l2=0.01)
    norms = np.linalg.norm(rows.X, axis=1, keepdims=True)
    X = rows.X * np.minimum(1.0, 1.5 / norms)
    model = LogisticRegression(C=1 / 20, fit_intercept=False, tol=1e-10, max_iter=1000)
    assert np.allclose(solution.w, model.fit(X, rows.y).coef_[0], atol=1e-3)


def test_majority_without_an_intercept_knows_the_negative_class_only():
    rows = make_rows(50)
    mixed = Rows(np.column_stack([rows.X[:, :-1], rows.X[:, 0]]), np.ones(50))
    _, solution = run(Majority(), NonPrivateAccountant.from_budget(1.0, 0.0), mixed)
    assert not solution.w.any() and "negative class" in solution.status


@pytest.mark.parametrize("kind", AdditiveAccountant.registered())
def test_no_accountant_of_a_guarantee_holds_an_exact_answer(kind):
    opened = kind.from_budget(1.0, 1e-6)
    for event in (NonPrivateDpEvent(), ComposedDpEvent((NonPrivateDpEvent(),))):
        assert not kind.supports(event)
        with pytest.raises(UnsupportedEventError):
            opened.compose(event)
    for optimizer in (NonPrivate(), Majority()):
        rows = make_rows(20)
        session = RecordingSession(rows.table(), opened, ADD, SeededNoise(1))
        with pytest.raises(UnsupportedEventError):
            optimizer.minimize(make_problem(rows, ADD, Logistic()), session)
        assert not session.ledger and not session.engine.answers


@pytest.mark.parametrize("optimizer", [ObjPert(), ObjPert(use=GAMMA), OutPert(), PrivGene()])
def test_no_private_algorithm_runs_on_the_accountant_that_guarantees_nothing(optimizer):
    with pytest.raises(DpcoreError):
        run(optimizer, NonPrivateAccountant.from_budget(1.0, 1e-6))
    X, y = arrays()
    with pytest.raises(DpcoreError):
        fit(X, y, algo=optimizer.name, accountant="none")


def test_the_accountant_of_no_guarantee_says_so():
    opened = NonPrivateAccountant.from_budget(0.1, 0.0)
    assert opened.private is False and not opened.supports(GaussianDpEvent(1.0))
    assert opened.get_epsilon(0.0) == 0.0
    assert opened.compose(NonPrivateDpEvent()).get_epsilon(0.5) == math.inf
    many = opened
    with pytest.raises(BudgetExceededError):
        many = type(opened)(**{**vars(opened), "budget_ticks": 0}).compose(NonPrivateDpEvent())
    assert many.spent == 0


class Lenient(ZcdpAccountant):
    """A third party's, which lets exact answers pass for nothing."""

    events = (*ZcdpAccountant.events, NonPrivateDpEvent)

    def _leaf_cost(self, event):
        return 0 if isinstance(event, NonPrivateDpEvent) else super()._leaf_cost(event)


class Boastful(NonPrivate):
    private = True


def test_what_voids_the_statement_is_the_ledger_whatever_the_parts_say():
    X, y = arrays()
    plan = make_plan(Settings(algo="nonprivate"))
    plan = replace(plan, optimizer=Boastful(), accountant=Lenient.from_budget(1.0, 1e-6))
    assert plan.why_not_private() == ()
    model = Run(plan, dataset_from_arrays(X, y)).model()
    assert model.privacy["private"] is False
    assert model.privacy["why_not_private"] == ["exact answers were released"]


def test_an_exact_answer_is_found_within_composed_events():
    assert _is_exact(NonPrivateDpEvent())
    assert _is_exact(ComposedDpEvent((GaussianDpEvent(1.0), NonPrivateDpEvent())))
    assert _is_exact(PoissonSampledDpEvent(0.1, NonPrivateDpEvent(), ADD))
    assert not _is_exact(ComposedDpEvent((GaussianDpEvent(1.0),)))


def test_noise_cannot_be_scaled_to_an_exact_question():
    rows = make_rows(9)
    session = RecordingSession(rows.table(), GDP, ADD, SeededNoise(1))
    for mechanism in (Gaussian(1.0), Laplace(1.0), Exponential(1.0)):
        with pytest.raises(InvalidInputError):
            session.release(ExactFit(make_problem(rows, ADD, Logistic())), mechanism)
    with pytest.raises(UnsupportedEventError):
        session.release(RowCount(), Exact())
    assert not session.ledger

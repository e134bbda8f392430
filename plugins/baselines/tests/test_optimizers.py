"""What the baselines release, charge and refuse."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from dpcore.accountants import ZcdpAccountant
from dpcore.errors import InvalidInputError, UnsupportedEventError
from dpcore.fitting.planning.compatibility import check_fits
from dpcore.losses.logistic import Softmax
from dpcore.losses.squared import Squared
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import (
    GaussianDpEvent,
    GdpAccountant,
    LaplaceDpEvent,
    Logistic,
    PureAccountant,
    SeededNoise,
)
from dpcore_accounting.rdp import RdpAccountant
from dpcore_accounting.selections.exponential import Exponential
from dpcore_accounting.single import SingleReleaseAccountant
from dpcore_baselines.dp_gd import DpGd
from dpcore_baselines.losses.hinge import HingeSvm
from dpcore_baselines.losses.huber import HuberSvm
from dpcore_baselines.losses.quantile import Quantile
from dpcore_baselines.objpert import ObjPert
from dpcore_baselines.outpert import OutPert
from dpcore_baselines.perturbation.calibrate import least_noise, usual_noise
from dpcore_baselines.privgene import PrivGene
from dpcore_lab.checks import RecordingSession, check_sensitivity_on_neighbours, make_rows
from dpcore_lab.checks.optimizers import assert_same_when_replayed
from dpcore_lab.made_tables.tables import Rows, make_problem
from dpcore_lab.replay.recorded import record_run

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
RELATIONS = [ADD, REPLACE]
GAMMA = {"noise": "gamma"}
SINGLE = SingleReleaseAccountant.from_budget(1.0, 1e-6)
PURE = PureAccountant.from_budget(1.0, 0.0)
GDP = GdpAccountant.from_budget(1.0, 1e-6)
NORMAL_AND_PURE = [
    (ObjPert(), SINGLE),
    (ObjPert(use=GAMMA), PURE),
    (OutPert(), GDP),
    (OutPert(use=GAMMA), PURE),
]


def run(optimizer, accountant, rows=None, relation=ADD, loss=None, l2=0.01, n0=400, seed=3):
    rows = rows or make_rows(300)
    problem = make_problem(rows, relation, loss or Logistic(), l2=l2, n0=n0)
    session = RecordingSession(rows.table(), accountant, relation, SeededNoise(seed))
    return session, optimizer.minimize(problem, session)


@pytest.mark.parametrize("optimizer, accountant", NORMAL_AND_PURE)
def test_how_many_rows_the_promise_is_for_is_noted_where_it_matters(optimizer, accountant):
    assert run(optimizer, accountant)[0].most_rows == 2**27
    assert run(optimizer, accountant, relation=REPLACE)[0].most_rows is None
    assert run(DpGd(steps=2), GDP)[0].most_rows is None


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("loss", [Logistic(), HuberSvm()])
@pytest.mark.parametrize("optimizer, accountant", NORMAL_AND_PURE)
def test_one_release_takes_the_whole_budget_and_no_more(optimizer, accountant, loss, relation):
    session, solution = run(optimizer, accountant, loss=loss, relation=relation)
    assert session.releases == {"minimizer": 1}
    assert 0.98 < session.accountant.spent / session.accountant.budget <= 1
    assert np.isfinite(solution.w).all()


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    st.floats(0.02, 8.0), st.floats(-12, -3), st.sampled_from(NORMAL_AND_PURE),
    st.sampled_from(RELATIONS),
)  # fmt: skip
def test_the_noise_is_never_on_the_wrong_side(epsilon, log_delta, pair, relation):
    optimizer, accountant = pair
    opened = type(accountant).from_budget(epsilon, 10.0**log_delta)
    session, _ = run(optimizer, opened, make_rows(40), relation)
    assert session.accountant.spent <= session.accountant.budget
    assert session.accountant.get_epsilon(opened.delta) <= epsilon


@pytest.mark.parametrize("optimizer, accountant", NORMAL_AND_PURE)
@pytest.mark.parametrize("relation", RELATIONS)
def test_without_noise_it_is_the_solution_of_scikit_learn(optimizer, accountant, relation):
    # A regulariser of the mean where the sum's is meant, or half of it, is a known bug elsewhere.
    rows, l2 = make_rows(2000, seed=4), 0.01
    norms = np.linalg.norm(rows.X, axis=1, keepdims=True)
    X = rows.X * np.minimum(1.0, 1.5 / norms)
    opened = type(accountant).from_budget(1e7, 1e-6)
    _, solution = run(optimizer, opened, rows, relation, n0=2000, l2=l2)
    model = LogisticRegression(C=1 / (l2 * 2000), fit_intercept=False, tol=1e-10, max_iter=1000)
    expected = model.fit(X, rows.y).coef_[0]
    assert np.linalg.norm(solution.w - expected) < 0.01 * np.linalg.norm(expected)


@pytest.mark.parametrize("optimizer, accountant", NORMAL_AND_PURE)
def test_twice_the_rows_cost_the_same_and_nothing_public_knows_of_them(optimizer, accountant):
    rows = make_rows(200)
    twice = Rows(np.vstack([rows.X, rows.X]), np.append(rows.y, rows.y))
    one, other = (run(optimizer, accountant, table) for table in (rows, twice))
    assert [e.event for e in one[0].ledger] == [e.event for e in other[0].ledger]
    assert one[1].details == other[1].details
    assert one[0].records[0].sensitivity == other[0].records[0].sensitivity


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from([ObjPert(), OutPert(), PrivGene(generations=3, candidates=4)]),
    st.sampled_from(RELATIONS),
    st.lists(st.floats(-1.2, 1.2), min_size=5, max_size=5),
    st.sampled_from([-1.0, 1.0]),
    st.integers(0, 29),
)
def test_sensitivity_holds_on_any_neighbour(optimizer, relation, x, label, position):
    rows = make_rows(30, seed=1)
    X, y = rows.X.copy(), rows.y.copy()
    if relation is REPLACE:
        X[position], y[position] = x, label
    else:
        X, y = np.insert(X, position, x, axis=0), np.insert(y, position, label)
    recorded = record_run(optimizer, rows, relation)
    assert_same_when_replayed(optimizer, recorded, rows, Rows(X, y), relation)


def test_the_lambda_of_objpert_is_a_public_value():
    _, small = run(ObjPert(), SingleReleaseAccountant.from_budget(0.1, 1e-6), l2=0.0)
    _, large = run(ObjPert(), SingleReleaseAccountant.from_budget(2.0, 1e-6), l2=0.0)
    assert small.details["regularisation"] > large.details["regularisation"] > 0
    for solution, epsilon in ((small, 0.1), (large, 2.0)):
        assert solution.details["log_determinant"] <= 0.15 * epsilon * 1.000001
    _, given = run(ObjPert(), SINGLE, l2=10.0)
    assert given.details["regularisation"] == 10.0 * 400
    _, unknown = run(ObjPert(), SINGLE, l2=10.0, n0=None)
    assert "no public number of rows is known" in unknown.details["warning"]
    assert unknown.details["regularisation"] < 4000
    _, chosen = run(ObjPert(regularisation=77.0), SINGLE, l2=0.0)
    assert chosen.details["regularisation"] == 77.0


def test_in_a_part_of_a_budget_the_determinants_of_objpert_take_half_at_most():
    whole = RdpAccountant.from_budget(1.0, 1e-5)
    for accountant in (whole, whole.split(10)):
        session, solution = run(ObjPert(), accountant, l2=0.0)
        assert 0.98 < session.accountant.spent / session.accountant.budget <= 1
        # The cost of a determinant is its logarithm at any order.
        assert solution.details["log_determinant"] <= accountant.budget / 2
    assert 0.15 * accountant.epsilon > accountant.budget / 2  # which a share of epsilon is not


def test_the_second_noise_is_small_beside_the_first():
    _, solution = run(ObjPert(), SINGLE)
    d = solution.details
    assert 0 < d["second_noise_scale"] < 0.05 * d["noise_scale"] / d["regularisation"]


def test_replace_one_takes_about_twice_the_noise():
    values = [run(ObjPert(), SINGLE, relation=r, l2=5.0)[1].details for r in RELATIONS]
    assert 1.9 < values[1]["noise_scale"] / values[0]["noise_scale"] < 2.2
    sensitivities = [run(OutPert(), GDP, relation=r, n0=300)[1].details for r in RELATIONS]
    ratio = sensitivities[1]["sensitivity"] / sensitivities[0]["sensitivity"]
    assert 1.9 < ratio < 2.1


def test_outpert_counts_rows_where_no_public_number_exists():
    session, solution = run(OutPert(), GDP, n0=None)
    assert session.releases == {"count": 1, "minimizer": 1}
    assert abs(solution.details["rows_counted"] - 300) < 2000
    assert 0.98 < session.accountant.spent / session.accountant.budget <= 1
    pure, _ = run(OutPert(use=GAMMA), PURE, n0=None)
    assert pure.releases == {"count": 1, "minimizer": 1}


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("n0", [None, 400])
def test_laplace_noise_of_outpert_is_of_the_l1_bound(relation, n0):
    laplace, _ = run(OutPert(use={"noise": "laplace"}), PURE, relation=relation, n0=n0)
    assert {type(entry.event) for entry in laplace.ledger} == {LaplaceDpEvent}
    assert 0.99 < float(laplace.accountant.spent) <= 1
    query, bound = laplace.parts[-1][0], laplace.records[-1].sensitivity
    l2 = replace(query, norm="l2").sensitivity(relation).bound
    assert bound.norm == "l1"
    assert math.sqrt(5) * l2 <= bound.bound <= math.sqrt(5) * l2 * (1 + 1e-9)


@pytest.mark.parametrize("optimizer", [ObjPert(), OutPert()])
def test_losses_that_do_not_fit_are_told_what_would(optimizer):
    accountant = SINGLE if isinstance(optimizer, ObjPert) else GDP
    problem = make_problem(make_rows(9), ADD, HingeSvm(), l2=0.1)
    with pytest.raises(InvalidInputError, match="has a kink; use huber-svm or logistic"):
        check_fits(optimizer, problem, accountant)
    problem = make_problem(make_rows(9), ADD, Squared(), l2=0.1)
    with pytest.raises(InvalidInputError, match="needs a Lipschitz loss"):
        check_fits(optimizer, problem, accountant)
    assert OutPert().default_l2(problem, accountant) == 0.0  # A plan asks for it before that.


def test_outpert_without_l2_is_refused():
    problem = make_problem(make_rows(9), ADD, Logistic(), l2=0.0)
    with pytest.raises(InvalidInputError, match="needs strong convexity"):
        check_fits(OutPert(), problem, GDP)
    assert OutPert().default_l2(problem, GDP) > 0


@pytest.mark.parametrize("optimizer, accountant, what", [
    (ObjPert(), ZcdpAccountant.from_budget(1.0, 1e-6), "--accountant single or rdp"),
    (ObjPert(), PURE, "--use noise=gamma"),
    (OutPert(), PURE, "--use noise=gamma"),
])  # fmt: skip
def test_accountants_that_do_not_fit_are_told_what_would(optimizer, accountant, what):
    with pytest.raises(UnsupportedEventError, match=what):
        run(optimizer, accountant)


@pytest.mark.parametrize("broken", [
    lambda: ObjPert(output_share=0.0),
    lambda: ObjPert(regularisation=-1.0),
    lambda: ObjPert(regularisation=math.nan),
    lambda: OutPert(l2_factor=0.0),
    lambda: OutPert(count_share=1.0),
    lambda: PrivGene(generations=0),
    lambda: PrivGene(candidates=1),
    lambda: PrivGene(loss_clip=0.0),
])  # fmt: skip
def test_impossible_parameters_are_refused(broken):
    with pytest.raises(InvalidInputError, match="out of range"):
        broken()


def test_the_search_for_noise_ends_next_to_the_least():
    for accountant in (GDP, GdpAccountant.from_budget(50.0, 1e-3), PURE):
        kind = Exponential if accountant is PURE else GaussianDpEvent
        of = kind.nominal_event if accountant is PURE else kind
        found = least_noise(accountant, of)
        assert accountant.cost(of(found)) <= accountant.remaining
        assert accountant.cost(of(found * 0.9998)) > accountant.remaining
    assert usual_noise(0.5, 0.0) == 2.0
    with pytest.raises(InvalidInputError, match="too small for one release"):
        least_noise(PURE, lambda m: Exponential.nominal_event(1e-9))


@pytest.mark.parametrize("optimizer", [OutPert(), DpGd()])
def test_an_accountant_of_one_release_is_refused_before_the_first(optimizer):
    rows = make_rows(30)
    problem = make_problem(rows, ADD, Logistic(), l2=0.01, n0=None)
    session = RecordingSession(rows.table(), SINGLE, ADD, SeededNoise(1))
    with pytest.raises(UnsupportedEventError, match="the single accountant holds one"):
        optimizer.minimize(problem, session)
    assert not session.ledger


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", [OutPert(), ObjPert(), DpGd(steps=3)])
def test_a_loss_of_other_parameters_keeps_the_sensitivities(optimizer, monkeypatch):
    # Labels of -1 and +1 are targets too; slopes are of either sign, up to .9.
    loss = Quantile(tau=0.9, half_width=0.25)
    losses = {2: loss, 3: Softmax()}
    monkeypatch.setattr(
        "dpcore_lab.replay.recorded.loss_of", lambda optimizer, n_classes=2: losses[n_classes]
    )
    check_sensitivity_on_neighbours(optimizer)

"""Charges, refusals and results of a fit."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import dpcore
from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation, Problem
from dpcore.plugin.parts import (
    LocalEngine,
    PureAccountant,
    SeededNoise,
    TableSession,
    load_registry,
)
from dpcore_frank_wolfe.frank_wolfe import FrankWolfe
from dpcore_frank_wolfe.grouped_exponential import GroupedExponential
from dpcore_frank_wolfe.vertex_scores import VertexScores
from dpcore_lab.checks import make_rows

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
Zcdp, Pld = (load_registry().load("accountant", name) for name in ("zcdp", "pld"))
ROWS = make_rows(300)


def problem_of(relation, l2=0.0):
    n = len(ROWS.y) if relation is REPLACE else None
    bounds = {"row_norm": ROWS.row_norm, "raw_norm_bound": ROWS.raw_norm_bound}
    return Problem(
        load_registry().load("loss", "logistic")(),
        l2,
        ROWS.X.shape[1],
        relation=relation,
        n=n,
        **bounds,
    )


def run(optimizer, relation=ADD, accountant=None, l2=0.0):
    accountant = accountant or Zcdp.from_budget(1.0, 1e-6)
    session = TableSession(LocalEngine(ROWS.table()), accountant, relation, SeededNoise(3))
    return session, optimizer.minimize(problem_of(relation, l2), session)


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_the_spend_is_that_of_its_selections_counted_again(relation):
    session, solution = run(FrankWolfe(steps=30), relation)
    assert session.releases == {"selection": 30} and solution.details["steps"] == 30
    # Cesar & Rogers 2021: a bounded range of e is e^2 / 8; scale over range is the multiplier.
    rho = sum(entry.event.epsilon**2 / 8 for entry in session.ledger)
    assert rho == pytest.approx(session.accountant.spent, rel=1e-9)
    assert 0.9999 * session.accountant.budget < rho <= session.accountant.budget
    multiplier = solution.details["noise_multiplier"]
    assert session.ledger[0].event.epsilon == pytest.approx(1 / multiplier, rel=1e-9)


def test_noise_is_of_twice_the_scale_under_replace_one():
    scales = []
    for relation in (ADD, REPLACE):
        _, solution = run(FrankWolfe(steps=5, clip=0.5), relation)
        problem = problem_of(relation)
        query = VertexScores(problem, 10.0, 0.5, np.empty(0, np.int64))
        mechanism = GroupedExponential(solution.details["noise_multiplier"])
        scales.append(mechanism.scale(query.sensitivity(relation)).steps)
    assert float(scales[1]) == pytest.approx(2 * float(scales[0]), rel=1e-9)


@pytest.mark.parametrize(
    ("accountant", "use"),
    [
        (PureAccountant.from_budget(2.0, 0.0), {"selection": "permute-and-flip"}),
        (PureAccountant.from_budget(2.0, 0.0), {"selection": "exponential"}),
        (Zcdp.from_budget(2.0, 1e-6), {"selection": "report-noisy-max"}),
    ],
)
def test_other_selections_and_accountants_hold_it(accountant, use):
    session, solution = run(FrankWolfe(steps=4, use=use), accountant=accountant)
    assert session.accountant.spent <= session.accountant.budget
    assert np.abs(solution.w).sum() <= 20.0 * (1 + 1e-12)


def test_a_schedule_is_fixed_beforehand_from_public_facts():
    problem = problem_of(REPLACE)
    counts = [sum(FrankWolfe().schedule(problem, m).values()) for m in (0.01, 1.0, 100.0)]
    assert counts == sorted(counts, reverse=True) and counts[-1] >= 1
    assert Pld.supports(next(iter(FrankWolfe().schedule(problem, 2.0))))


def test_a_wide_sparse_table_is_fitted_and_most_coefficients_are_0():
    rng = np.random.default_rng(0)
    X = (rng.random((3000, 400)) < np.where(np.arange(400) < 8, 0.5, 0.05)).astype(float)
    y = np.where(X[:, 3] + X[:, 5] - X[:, 7] + 0.1 * rng.normal(size=3000) > 0, 1, -1)
    words = {"epsilon": 20.0, "row_norm": 7.0, "relation": "replace-one", "seed": 1}
    fitted = [
        dpcore.fit(rows, y, algo="frank-wolfe", params={"steps": 60}, **words)
        for rows in (csr_matrix(X), X)
    ]
    assert np.array_equal(*(model.w for model in fitted))
    assert np.count_nonzero(fitted[0].w) <= 60
    assert (fitted[0].predict(X) == y).mean() > max((y > 0).mean(), (y < 0).mean()) + 0.1


def test_l2_without_a_public_number_of_rows_is_said_to_be_left_out():
    for relation in (ADD, REPLACE):
        _, solution = run(FrankWolfe(steps=3), relation, l2=0.1)
        assert ("warning" in solution.details) == (relation is ADD)


def test_three_classes_are_refused_before_a_charge():
    with pytest.raises(InvalidInputError, match="class"):
        dpcore.fit(
            np.eye(6), np.arange(6) % 3, classes=(0, 1, 2), algo="frank-wolfe", loss="softmax"
        )


def test_a_clip_follows_the_loss_and_the_rows():
    _, solution = run(FrankWolfe(steps=1))
    assert math.isclose(solution.details["clip"], 0.5)


def test_a_regulariser_without_room_is_refused_before_anything_is_spent():
    accountant = Zcdp.from_budget(1.0, 1e-6)
    session = TableSession(LocalEngine(ROWS.table()), accountant, REPLACE, SeededNoise(3))
    with pytest.raises(InvalidInputError, match="regulariser is too large"):
        FrankWolfe(steps=5).minimize(problem_of(REPLACE, l2=1e12), session)
    assert not session.ledger

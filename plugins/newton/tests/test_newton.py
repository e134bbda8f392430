"""Newton: admission, its budget to the last pass, its rules, and what it reaches."""

import math
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpcore import fit
from dpcore.errors import DpcoreError, InvalidInputError
from dpcore.plugin import NeighboringRelation, Problem
from dpcore.plugin.parts import GdpAccountant, SeededNoise, Table, load_registry
from dpcore_lab.checks import (
    RecordingSession,
    check_huge_epsilon_limit,
    make_rows,
    parametrize_with_checks,
)
from dpcore_newton import passes as module
from dpcore_newton.newton import Newton

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
PAPER = Newton(**Newton.presets["paper"])
SHORT = replace(PAPER, passes=3, hessians=3)


@pytest.mark.slow
@parametrize_with_checks([Newton(passes=5, hessians=2), replace(SHORT, change="clip")])
def test_it_is_admitted(optimizer, check):
    if check is check_huge_epsilon_limit:  # Few passes do not go far, and undamped ones less.
        check(Newton())
    else:
        check(optimizer)


@pytest.mark.slow
def test_an_audit_finds_nothing():
    asked = ["audit", "newton", "--runs", "100", "--seed", "1", "--method", "releases"]
    shown = subprocess.run([sys.executable, "-m", "dpcore", *asked], capture_output=True, text=True)
    assert shown.returncode == 0 and "consistent" in shown.stdout


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("n0", [400, None])
@pytest.mark.parametrize(
    ("optimizer", "kinds"),
    [
        (Newton(passes=4, hessians=2), {"moments": 1, "hessian": 2, "gradient": 4}),
        (Newton(passes=4, hessians=0), {"moments": 1, "gradient": 4}),
        (SHORT, {"gradient": 3, "trace": 3, "direction": 3}),
    ],
)
def test_the_whole_budget_is_charged_and_no_more(optimizer, kinds, relation, n0, record_run):
    session, _ = record_run(optimizer, make_rows(80), relation, 4.0, n0=n0)
    if n0 is None and relation is ADD:
        kinds = {**kinds, "count": 1}
    assert session.releases == kinds
    # By hand: the sum of 1 / m^2 over the ledger against mu^2 of the exact curve.
    total = sum(1 / Fraction(entry.event.noise_multiplier) ** 2 for entry in session.ledger)
    limit = GdpAccountant.mu_squared_down(Fraction(session.accountant.epsilon), Fraction(1e-6))
    assert limit * (1 - Fraction(1e-9)) <= total <= limit


def test_shares_are_those_that_are_asked_for(record_run):
    optimizer = Newton(passes=4, hessians=2, hessian_share=0.3, moments_share=0.2)
    session, _ = record_run(optimizer, make_rows(80), ADD, 4.0)
    costs = {}
    for entry in session.ledger:
        costs.setdefault(entry.kind, []).append(entry.event.noise_multiplier**-2)
    whole = session.accountant.budget
    assert costs["moments"] == pytest.approx([0.2 * whole])
    assert costs["hessian"] == pytest.approx([0.8 * 0.15 * whole] * 2)
    assert costs["gradient"] == pytest.approx([0.8 * 0.175 * whole] * 4)


def test_each_release_gets_the_noise_of_its_relation(record_run):
    scales = {}
    for relation in (ADD, REPLACE):
        session, _ = record_run(Newton(passes=2, hessians=1, clip=1.0), make_rows(80), relation, 4)
        scales[relation] = {
            query.kind: mechanism.noise_multiplier
            * query.sensitivity(relation).bound
            / getattr(query, "clip", 1.0)
            for query, mechanism in session.parts
        }
    ratios = {kind: scales[REPLACE][kind] / scales[ADD][kind] for kind in scales[ADD]}
    assert ratios["gradient"] == pytest.approx(2.0)
    assert ratios["hessian"] == pytest.approx(math.sqrt(2))


def test_nothing_public_follows_from_the_number_of_rows(record_run):
    plans = [record_run(Newton(passes=3), make_rows(n), ADD)[1].details for n in (80, 81)]
    for fact in ("passes", "hessians", "u"):
        assert plans[0][fact] == plans[1][fact]


def correlated(n, width=12, seed=0):
    """Columns in [0, 1] that two factors move, and labels of two classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) @ rng.normal(size=(2, width)) + 0.3 * rng.normal(size=(n, width))
    X = 1 / (1 + np.exp(-X))
    z = (X - 0.5) @ rng.normal(size=width) * 4
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-z)), 1.0, -1.0), z


def test_a_hessian_sees_what_steps_of_one_size_do_not():
    X, y, z = correlated(20_000)
    words = {"algo": "newton", "bounds": (0, 1), "epsilon": 4.0, "delta": 1e-6, "seed": 1}
    best = np.logaddexp(0.0, -y * z).mean()
    losses = {}
    for hessians in (0, 1):
        model = fit(X, y, params={"hessians": hessians}, **words)
        assert model.report["details"]["passes"] == (12 if hessians else 18)
        losses[hessians] = np.logaddexp(0.0, -y * model.decision_function(X)).mean()
    assert losses[1] - best < 0.6 * (losses[0] - best)
    assert fit(X, y, **words).report["details"]["hessians"] == 1


def test_no_hessian_is_asked_where_its_noise_would_hide_it():
    X, y, _ = correlated(2000)
    words = {"algo": "newton", "bounds": (0, 1), "delta": 1e-6, "seed": 1}
    assert fit(X, y, epsilon=0.05, **words).report["details"]["hessians"] == 0
    assert fit(X, y, epsilon=8.0, **words).report["details"]["hessians"] == 1


def test_a_regulariser_pulls_towards_zero():
    X, y, _ = correlated(3000)
    words = {"algo": "newton", "bounds": (0, 1), "epsilon": 8.0, "delta": 1e-6, "seed": 1}
    plain, pulled = (fit(X, y, l2=l2, params={"hessians": 1}, **words) for l2 in (0.0, 1.0))
    assert np.linalg.norm(pulled.w) < 0.1 * np.linalg.norm(plain.w)


def test_another_smooth_loss_has_a_hessian_of_its_bound():
    X, y, _ = correlated(3000)
    words = {"algo": "newton", "bounds": (0, 1), "epsilon": 8.0, "delta": 1e-6, "seed": 1}
    model = fit(X, y, loss="huber-svm", params={"hessians": 1}, **words)
    assert np.mean((model.decision_function(X) > 0) == (y > 0)) > 0.6
    with pytest.raises(InvalidInputError, match="is of the logistic loss"):
        fit(X, y, loss="huber-svm", params={"curvature": "hessian"}, **words)
    with pytest.raises(DpcoreError, match="a kink"):
        fit(X, y, loss="hinge-svm", **words)
    with pytest.raises(DpcoreError, match="real-valued"):
        fit(X, y, loss="ridge", target_bounds=(-1, 1), **words)


def test_fields_that_do_not_fit_are_refused():
    with pytest.raises(InvalidInputError, match="at most passes"):
        Newton(passes=3, hessians=4)
    with pytest.raises(InvalidInputError, match="set hessians to passes"):
        Newton(noise_on="direction")
    for words in ({"noise_on": "rows"}, {"curvature": "flat"}, {"change": "none"}):
        with pytest.raises(InvalidInputError, match="to be one of"):
            Newton(**words)


def test_a_budget_without_room_is_refused_before_anything_is_asked(record_run):
    with pytest.raises(DpcoreError):
        record_run(Newton(), make_rows(80), ADD, 1e-250)


def test_a_direction_of_too_many_columns_is_refused_before_anything_is_spent():
    wide = Problem(load_registry().load("loss", "logistic")(), 0.0, 600, 1.0, 1.0, ADD)
    opened = load_registry().load("accountant", "gdp").from_budget(1.0, 1e-6)
    rows = np.eye(20, 600) / 30
    table = Table.from_matrix(rows, np.ones(20), row_norm=1.0, raw_norm_bound=1.0)
    session = RecordingSession(table, opened, ADD, SeededNoise(3), problem=wide)
    with pytest.raises(InvalidInputError, match="Too many rows or columns"):
        PAPER.minimize(wide, session)
    assert not session.ledger


def test_the_first_preset_takes_its_parameters_from_the_authors_code():
    # run_privacy_utility in research/dp_newton of tensorflow/privacy: 15 iterations, grad_frac .7,
    # trace_frac .1, trace_coeff .5.
    assert (PAPER.passes, 1 - PAPER.hessian_share) == (15, 0.7)
    assert (PAPER.trace_share, PAPER.trace_factor) == (0.1, 0.5)


def test_a_least_eigenvalue_follows_the_trace(record_run):
    # (factor trace / (rho n^2))^(1/3) of means, times n: sums, in units where a row is 1 long.
    session, solution = record_run(SHORT, make_rows(80), ADD, 4.0)
    query, mechanism = session.parts[-1]
    assert type(query).__name__ == "NewtonDirection"
    unit, rho = 4 * query.hessian.clip, 0.5 / mechanism.noise_multiplier**2
    assert query.least >= unit
    trace = max(0.0, float(session.records[-2].value[0]))
    expected = unit * max(1.0, (0.5 * trace / unit / rho) ** (1 / 3))
    assert query.least == pytest.approx(expected, rel=1e-9)
    assert solution.details["least"] == pytest.approx(query.least / 400)


def test_a_forgotten_hessian_share_is_seen_by_the_recount(monkeypatch, record_run):
    # The broken twin of the budget: every gradient takes what all of them may.
    plan = module.Plan.of
    monkeypatch.setattr(
        module.Plan, "of", lambda *given: replace(plan(*given), of_gradient=Fraction(1, 3))
    )
    with pytest.raises((DpcoreError, ZeroDivisionError, ValueError)):
        record_run(Newton(passes=4, hessians=1), make_rows(80), ADD, 4.0)


def test_a_share_is_left_for_counts_of_log_odds():
    X, y, _ = correlated(3000)
    words = {"algo": "newton", "bounds": (0, 1), "epsilon": 8.0, "delta": 1e-6, "seed": 1}
    model = fit(X, y, params={"passes": 3, "calibrate_share": 0.1}, **words)
    assert set(model.report["details"]["by_counts"]) == {"slope", "added"}
    assert 0.999 * model.privacy["budget"] <= model.privacy["spent"] <= model.privacy["budget"]

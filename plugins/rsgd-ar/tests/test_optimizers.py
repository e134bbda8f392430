"""RSGD-AR and its relatives: what they release, charge and warn of."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore import fit
from dpcore.accountants import ZcdpAccountant
from dpcore.plugin import Gaussian, NeighboringRelation
from dpcore.plugin.parts import (
    GaussianDpEvent,
    GdpAccountant,
    LaplaceDpEvent,
    Logistic,
    PureAccountant,
    RandomizedSensitivityGaussian,
    SeededNoise,
)
from dpcore_accounting.rdp import RdpAccountant
from dpcore_accounting.single import SingleReleaseAccountant
from dpcore_baselines.losses.huber import HuberSvm
from dpcore_lab.checks import make_rows
from dpcore_lab.checks.optimizers import assert_same_when_replayed
from dpcore_lab.made_tables.tables import Rows
from dpcore_lab.replay.recorded import record_run
from dpcore_rsgd_ar.bolt_on import BoltOn
from dpcore_rsgd_ar.calibrate import calibrated, estimated_sigma
from dpcore_rsgd_ar.nsgd import Nsgd
from dpcore_rsgd_ar.outpert_gd import OutpertGd
from dpcore_rsgd_ar.psgd import Psgd
from dpcore_rsgd_ar.rsgd_ar import RsgdAr

REPLACE = NeighboringRelation.REPLACE_ONE
ALL = [RsgdAr(), Psgd(), Nsgd(), OutpertGd(), BoltOn()]


def names(optimizer):
    return optimizer.name


@pytest.mark.parametrize("optimizer", ALL, ids=names)
@pytest.mark.parametrize("loss", [Logistic(), HuberSvm()])
def test_one_release_takes_the_whole_budget_and_no_more(optimizer, loss, run):
    session, solution = run(optimizer, loss=loss)
    assert session.releases == {"model": 1}
    assert 0.99 < session.accountant.spent / session.accountant.budget <= 1
    assert np.isfinite(solution.w).all()


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    st.floats(0.05, 8.0),
    st.floats(-12, -3),
    st.sampled_from([Psgd(), RsgdAr(epochs=4, tau=2), Nsgd()]),
    st.sampled_from([SingleReleaseAccountant, RdpAccountant]),
)
def test_the_noise_is_never_on_the_wrong_side(run, epsilon, log_delta, optimizer, accountant):
    # Calibrated noise whose accountant then says more than was asked for is a known bug elsewhere.
    opened = accountant.from_budget(epsilon, 10.0**log_delta)
    session, _ = run(optimizer, make_rows(40), opened)
    assert session.accountant.spent <= session.accountant.budget
    assert session.accountant.get_epsilon(opened.delta) <= epsilon


def test_the_event_is_that_of_the_batches(run):
    session, _ = run(RsgdAr(epochs=4, tau=2, batch_size=43, step_size=0.5))
    event = session.ledger[0].event
    assert type(event) is RandomizedSensitivityGaussian
    assert event.weights == (43, 43, 43, 43, 43, 43, 42) and sum(event.weights) == 300
    assert event.deltas == session.records[0].sensitivity.deltas
    worst, _ = run(Nsgd(batch_size=43, step_size=0.5))
    assert type(worst.ledger[0].event) is GaussianDpEvent


def test_a_random_batch_needs_less_noise_than_the_worst(run):
    options = {"epochs": 2, "batch_size": 10, "step_size": 3.0}
    noise = [run(kind(**options), l2=0.1)[1].details["noise_in_a_margin"] for kind in (Psgd, Nsgd)]
    assert noise[0] < 0.97 * noise[1]


@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from([RsgdAr(epochs=4, tau=2), RsgdAr(epochs=4, tau=2, order="offset"), BoltOn()]),
    st.lists(st.floats(-1.2, 1.2), min_size=5, max_size=5),
    st.sampled_from([-1.0, 1.0]),
    st.integers(0, 29),
)
def test_sensitivity_holds_on_any_neighbour(optimizer, x, label, position):
    rows = make_rows(30, seed=1)
    X, y = rows.X.copy(), rows.y.copy()
    X[position], y[position] = x, label
    recorded = record_run(optimizer, rows, REPLACE)
    assert_same_when_replayed(optimizer, recorded, rows, Rows(X, y), REPLACE)


@pytest.mark.parametrize("order", ["permutation", "offset"])
def test_every_row_is_in_every_batch_as_often_as_it_should_be(order, run):
    # 4,000 draws; a cell's count is binomial: 5 standard deviations, 14 cells: false alarm 1e-5.
    session, _ = run(
        RsgdAr(epochs=2, tau=2, batch_size=3, step_size=0.5, order=order), make_rows(7)
    )
    query, noise = session.parts[0][0], SeededNoise(5)
    sizes = query.schedule.sizes
    assert sizes.tolist() == [4, 3]
    batch, hits = np.repeat(np.arange(2), sizes), np.zeros((7, 2))
    for _ in range(4000):
        if order == "offset":
            place = (np.arange(7) + noise.integers_below(7)) % 7
        else:
            place = np.argsort(noise.permutation(7))
        hits[np.arange(7), batch[place]] += 1
    share = sizes / 7
    assert (np.abs(hits - 4000 * share) < 5 * np.sqrt(4000 * share * (1 - share))).all()


def test_rows_are_asked_for_in_a_fresh_order_each_time(run):
    models = {run(RsgdAr(), seed=seed)[0].records[0].exact.tobytes() for seed in range(4)}
    assert len(models) == 4


def test_bolt_on_does_without_l2(run):
    session, solution = run(BoltOn(), l2=0.0)
    query, details = session.parts[0][0], solution.details
    rows, step = details["batch_size"], details["step_size"]
    closed = 2 * 10 * step * query.facts.gradient / query.schedule.sizes.min()
    assert rows == 50
    assert closed <= session.records[0].sensitivity.bound <= closed * (1 + 1e-6) + 1e-9


@pytest.mark.parametrize("l2", [0.0, 0.05])
@pytest.mark.parametrize("rows", [7, 20, 100])
def test_the_closed_forms_are_above_the_recurrence(l2, rows, run):
    session, _ = run(BoltOn(batch_size=rows, epochs=3), make_rows(100), l2=l2)
    query = session.parts[0][0]
    from dpcore_rsgd_ar.sensitivity import batch_sensitivities

    numeric, _ = batch_sensitivities(query.schedule, query.facts, query.grid_bits)
    assert query.deltas.min() >= numeric.max() * (1 - 1e-7)


@pytest.mark.parametrize("epochs", [1, 30, 300])
def test_gradient_descent_has_the_sensitivity_of_proposition_2(epochs, run):
    session, _ = run(OutpertGd(epochs=epochs), l2=0.05)
    query = session.parts[0][0]
    closed = 2 * query.facts.gradient / (300 * 0.05)
    assert closed <= session.records[0].sensitivity.bound <= closed * (1 + 1e-6)
    from dpcore_rsgd_ar.sensitivity import batch_sensitivities

    numeric, _ = batch_sensitivities(query.schedule, query.facts, query.grid_bits)
    assert numeric[0] <= query.deltas[0] * (1 + 1e-7)


def test_the_published_bound_is_reached_by_asking(run):
    ours, published = (
        run(OutpertGd(as_published=flag), l2=0.05)[0].records[0].sensitivity.bound
        for flag in (False, True)
    )
    curvature = 0.25 * 1.5**2 + 0.05
    assert published / ours == pytest.approx(2.5 * (curvature + 0.05) / curvature, rel=1e-6)


def test_the_published_noise_is_marked_and_told_to_be_sound_and_wasteful():
    X, y = np.zeros((50, 2)), np.resize([0, 1], 50)
    asked = {"algo": "outpert-gd", "delta": 1e-6, "l2": 0.1, "classes": (0, 1)}
    model = fit(X, y, as_published=True, **asked)
    assert model.privacy["private"] is False
    (reason,) = model.privacy["why_not_private"]
    assert reason.endswith(
        "its noise is sound and wasteful, at least 2.5 times what Proposition 2 asks for"
    )
    assert "not sound" not in model.privacy["sentence"]


def test_the_published_pass_runs_on_the_papers_constants_and_is_marked():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, size=(9000, 3)), rng.integers(0, 2, 9000)
    numbers = {"epsilon": 1.0, "delta": 1e-6, "row_norm": 2.0, "classes": (0, 1)}
    asked = {"algo": "rsgd-ar", "relation": "replace-one", **numbers}
    model, sound = fit(X, y, as_published=True, **asked), fit(X, y, preset="paper", **asked)
    assert model.privacy["private"] is False
    assert "as its authors published it, which is not sound" in model.privacy["sentence"]
    assert model.privacy["parts_not_from_dpcore"] == []
    assert model.details["batches"] == 2 and model.details["epochs"] == 50
    assert model.l2 == sound.l2 and sound.privacy["private"] is True


@pytest.mark.parametrize("kind", [BoltOn, RsgdAr, Psgd, Nsgd, OutpertGd])
def test_laplace_noise_is_pure_and_of_the_worst_batch_in_l1(kind, run):
    accountant = PureAccountant.from_budget(2.0, 0.0)
    session, _ = run(kind(use={"noise": "laplace"}), accountant=accountant)
    assert type(session.ledger[0].event) is LaplaceDpEvent
    assert session.accountant.spent <= 2.0
    l2_bound = session.parts[0][0].deltas.max()
    bound = session.records[0].sensitivity.bound
    assert math.sqrt(5) * l2_bound <= bound <= math.sqrt(5) * l2_bound * (1 + 1e-12)


@pytest.mark.parametrize("accountant", [ZcdpAccountant, GdpAccountant, RdpAccountant])
def test_the_worst_batch_fits_any_gaussian_accountant(accountant, run):
    session, _ = run(Nsgd(), accountant=accountant.from_budget(1.0, 1e-6))
    assert 0.99 < session.accountant.spent / session.accountant.budget <= 1


def test_noise_that_drowns_every_margin_is_warned_of_with_its_number(run):
    tight = SingleReleaseAccountant.from_budget(0.1, 1e-6)
    _, solution = run(RsgdAr(step_size=50.0, batch_size=10), accountant=tight, l2=0.001)
    noise = solution.details["noise_in_a_margin"]
    assert noise > 4 and f"{noise:.3g}" in solution.details["warning"]
    _, solution = run(RsgdAr(), make_rows(3000))
    assert "warning" not in solution.details


@pytest.mark.slow
def test_an_estimate_is_near_what_the_accountant_accepts():
    deltas, weights = 0.9 ** np.arange(30.0), np.ones(30)
    guess = estimated_sigma(deltas, weights, 0.5, 1e-8)
    accountant = SingleReleaseAccountant.from_budget(0.5, 1e-8)

    def event(sigma):
        return RandomizedSensitivityGaussian(tuple(deltas), (1,) * 30, sigma)

    sigma = calibrated(RsgdAr(), accountant, event, guess)
    assert accountant.cost(event(sigma)) <= Fraction(1e-8)
    assert guess == pytest.approx(sigma, rel=1e-3)
    for far in (sigma / 50, sigma * 50):
        assert calibrated(RsgdAr(), accountant, event, far) == pytest.approx(sigma, rel=2e-4)


@pytest.mark.slow
def test_the_noise_is_that_of_the_multiplier(run):
    session, solution = run(RsgdAr(), make_rows(500))
    query, mechanism = session.parts[0]
    assert type(mechanism) is Gaussian
    sigma = session.ledger[0].event.sigma
    margin_noise = sigma * solution.details["row_bound"]
    assert solution.details["noise_in_a_margin"] == pytest.approx(margin_noise, rel=1e-9)
    assert 2.0**20 < sigma * 2.0**query.grid_bits < 2.0**58

"""DP-AGD: what it asks, what it applies, what it spends."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore import fit
from dpcore.accountants.gdp import GdpAccountant
from dpcore.accountants.pure import PureAccountant
from dpcore.accountants.rdp import RdpAccountant
from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.data.readers.arrays import dataset_from_arrays
from dpcore.engines.local import LocalEngine
from dpcore.errors import BudgetExceededError, InvalidInputError, UnsupportedEventError
from dpcore.exact.grid import round_to
from dpcore.fitting.plan import make_plan
from dpcore.fitting.run import fit_dataset
from dpcore.fitting.settings import Settings
from dpcore.losses.hinge import HingeSvm
from dpcore.losses.huber import HuberSvm
from dpcore.losses.logistic import Logistic
from dpcore.noise.source import SeededNoise
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.session.session import TableSession
from dpcore.testing import (
    RecordingSession,
    check_mechanisms_and_queries,
    parametrize_with_checks,
)
from dpcore.testing.optimizers import assert_same_when_replayed
from dpcore.testing.tables import Rows, make_problem, make_rows, neighbours
from dpcore_dp_agd.optimizer import DpAgd
from dpcore_dp_agd.published import minimize_as_published

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE


@parametrize_with_checks([DpAgd()])
def test_the_default_is_admitted(optimizer, check):
    check(optimizer)


@pytest.mark.slow
@parametrize_with_checks(
    [DpAgd(use={"gradient": "laplace", "selection": "report-noisy-max"}, momentum=0.0)]
)
def test_other_slots_are_admitted(optimizer, check):
    check(optimizer)


def recorded(optimizer, rows, relation=ADD, loss=None, l2=0.01, accountant=None, n0=400, seed=3):
    problem = make_problem(rows, relation, loss or Logistic(), l2=l2, n0=n0)
    accountant = accountant or ZcdpAccountant.from_budget(1.0, 1e-6)
    session = RecordingSession(rows.table(), accountant, relation, SeededNoise(seed))
    return session, optimizer.minimize(problem, session)


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from([ADD, REPLACE]),
    st.lists(st.floats(-1.2, 1.2), min_size=5, max_size=5),
    st.sampled_from([-1.0, 1.0]),
    st.integers(0, 29),
    st.sampled_from([Logistic(), HingeSvm(), HuberSvm()]),
)
def test_sensitivity_holds_on_any_neighbour(relation, x, label, position, loss):
    rows = make_rows(30, seed=1)
    optimizer = DpAgd(steps=6)
    problem_rows = recorded(optimizer, rows, relation, Logistic())
    if relation is ADD:
        X, y = np.insert(rows.X, position, x, axis=0), np.insert(rows.y, position, label)
    else:
        X, y = rows.X.copy(), rows.y.copy()
        X[position], y[position] = x, label
    assert_same_when_replayed(optimizer, problem_rows, rows, Rows(X, y), relation)


@pytest.mark.parametrize("loss", [HingeSvm(), HuberSvm()])
@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_every_loss_and_relation_fits_and_stays_within_budget(loss, relation):
    session, solution = recorded(DpAgd(), make_rows(500), relation, loss)
    assert np.isfinite(solution.w).all() and np.linalg.norm(solution.w) > 0
    assert session.accountant.remaining >= 0


def test_the_noise_under_replace_one_is_twice_as_large():
    scales = {}
    for relation in (ADD, REPLACE):
        session, _ = recorded(DpAgd(steps=5, clip=1.0), make_rows(50), relation, n0=50)
        scales[relation] = [
            (r.sensitivity.bound, r.sensitivity.change_range) for r in session.records[:2]
        ]
    assert scales[ADD] == [(1.0, None), (2.0, 2.0)]
    assert scales[REPLACE] == [(2.0, None), (2.0, 4.0)]


class Script:
    """A session that gives scripted answers and keeps the questions."""

    def __init__(self, answers, epsilon=1.0):
        self.accountant = ZcdpAccountant.from_budget(epsilon, 1e-6)
        self.answers, self.queries, self.costs, self.ledger = list(answers), [], [], []

    def release(self, query, mechanism):
        sensitivity = query.sensitivity(ADD)
        event = mechanism.event(sensitivity)
        if not self.answers:
            raise BudgetExceededError("The script ends.")
        self.queries.append(query)
        self.costs.append(float(self.accountant.cost(event)))
        self.accountant = self.accountant.compose(event)
        self.ledger.append(event)
        return self.answers.pop(0)

    def rehearse(self, query):
        """Load nothing."""


def scripted(answers, l2=0.0, **options):
    problem = make_problem(make_rows(4), ADD, Logistic(), l2=l2, n0=400)
    session = Script(answers)
    optimizer = DpAgd(**{"steps": 10, "clip": 1.0, "momentum": 0.0, "averaging": -1.0, **options})
    return session, optimizer.minimize(problem, session)


E0, E1 = np.array([100.0, 0, 0, 0, 0]), np.array([0, 100.0, 0, 0, 0])


def test_the_selected_step_is_the_step_applied():
    # The published code applied the candidate before the selected one.
    for index in (1, 7, 10):
        session, solution = scripted([E0, index, E1])
        line, after = session.queries[1], session.queries[2]
        step = line.step_sizes[index]
        assert line.step_sizes[0] == 0.0 and step > 0
        assert np.array_equal(line.direction, [1, 0, 0, 0, 0])
        assert np.array_equal(after.w, [-step, 0, 0, 0, 0])
        assert np.array_equal(solution.w, [-step, 0, 0, 0, 0])


def test_the_published_regulariser_is_in_the_direction_and_not_in_the_scores():
    # As in agd_rho.py: added after the gradient was normalised, at both places; it was left out.
    session, _ = scripted([E0, 4, E1, 0, E1, 2], l2=0.5, as_published=True)
    step = session.queries[1].step_sizes[3]  # The candidate before the selected one.
    for line in (session.queries[3], session.queries[5]):
        assert np.array_equal(line.w, [-step, 0, 0, 0, 0])
        assert np.array_equal(line.direction, [round_to(-0.5 * step, 14), 1, 0, 0, 0])
        assert not line.start().any()


def test_a_published_regulariser_that_would_diverge_is_refused_uncharged():
    assert scripted([E0, 4, E1], l2=1.0, as_published=True)[1].w.any()
    with pytest.raises(InvalidInputError, match="l2=1.01 to be at most 1 with --as-published"):
        scripted([], l2=1.01, as_published=True)


def test_what_is_measured_again_is_weighed_by_what_it_cost():
    session, _ = scripted([E0, 0, E1, 0, E1, 3], gamma=0.5)
    first, second, third = session.costs[0], session.costs[2], session.costs[4]
    assert second == pytest.approx(0.5 * first, rel=1e-9)
    assert third == pytest.approx(0.75 * first, rel=1e-9)
    merged = (first * E0 + (second + third) * E1) / (first + second + third)
    direction = session.queries[5].direction
    np.testing.assert_allclose(direction, merged / np.linalg.norm(merged), atol=2.0**-14)
    # All three were taken at the same point, and the share stays grown in the next step.
    assert all(np.array_equal(session.queries[i].w, np.zeros(5)) for i in (0, 2, 4))
    longer, _ = scripted([E0, 0, E1, 3, E1], gamma=0.5)
    assert longer.costs[4] == pytest.approx(1.5 * first, rel=1e-9)


def test_the_largest_candidate_follows_the_steps_taken():
    answers = [E0, 4, E0, 2, E0, 1]
    session, _ = scripted(answers, tau=2, eta=0.1, step_decay=0.0, max_step=1.0)
    lines = [query.step_sizes for query in session.queries[1::2]]
    # Twenty even steps on the grid: the last is off by half a grid step twenty times at most.
    off = 20 * 2.0**-11
    assert lines[0][-1] == lines[1][-1] == pytest.approx(1.0, abs=off)
    assert lines[2][-1] == pytest.approx(1.1 * lines[0][4], abs=off)


def test_the_ledger_is_what_was_drawn_and_is_charged_once():
    session, solution = recorded(DpAgd(steps=20), make_rows(300))
    assert len(session.ledger) == len(session.records)
    total = sum(entry.cost for entry in session.ledger)
    assert total == pytest.approx(session.accountant.spent, rel=1e-9)
    assert total <= session.accountant.budget
    taken, again = solution.details["steps_taken"], solution.details["gradients_remeasured"]
    assert session.releases["selection"] >= taken
    assert session.releases["gradient"] <= taken + again + 1


def test_a_refused_first_release_leaves_no_model():
    problem = make_problem(make_rows(10), ADD, Logistic())
    session = TableSession(
        LocalEngine(make_rows(10).table()),
        ZcdpAccountant.from_budget(1.0, 1e-6),
        ADD,
        SeededNoise(1),
    )
    with pytest.raises(BudgetExceededError):
        # Paper's rule with so few splits that the first release is over the whole budget.
        DpAgd(splits=1, clip=1.0, use={"selection": "report-noisy-max"}).minimize(
            problem, _spent(session)
        )


def _spent(session):
    """Return the session with next to nothing left of its budget."""
    accountant = session.accountant
    session._account._filter = dataclasses.replace(
        accountant, spent_ticks=accountant.budget_ticks - 1
    )
    return session


def test_a_budget_too_small_for_one_release_says_what_would_do():
    accountant = ZcdpAccountant.from_budget(1e-12, 1e-30)
    with pytest.raises(InvalidInputError, match=r"too small for one release.*would be enough"):
        recorded(DpAgd(), make_rows(10), accountant=accountant)


@pytest.mark.parametrize(
    ("accountant", "use"),
    [
        (RdpAccountant, {}),
        (PureAccountant, {"gradient": "laplace", "selection": "permute-and-flip"}),
        (PureAccountant, {"gradient": "laplace", "selection": "exponential"}),
    ],
)
def test_other_accountants_hold_its_releases(accountant, use):
    opened = accountant.from_budget(5.0, 1e-6)
    session, solution = recorded(DpAgd(use=use), make_rows(500), accountant=opened)
    assert solution.details["steps_taken"] > 0
    assert session.accountant.remaining >= 0


REMEDIES = {
    GdpAccountant: "dp-agd's slot selection (exponential) cannot be held by gdp; "
    "choose --accountant zcdp or rdp.",
    PureAccountant: "dp-agd's slot gradient (gaussian) cannot be held by pure; "
    "choose --use gradient=laplace, or --accountant zcdp or rdp.",
}


@pytest.mark.parametrize("accountant", [GdpAccountant, PureAccountant])
def test_an_accountant_that_cannot_hold_a_slot_is_refused_before_any_release(accountant):
    problem = make_problem(make_rows(10), ADD, Logistic())
    session = RecordingSession(
        make_rows(10).table(), accountant.from_budget(1.0, 1e-6), ADD, SeededNoise(1)
    )
    with pytest.raises(UnsupportedEventError) as caught:
        DpAgd().minimize(problem, session)
    assert REMEDIES[accountant] in str(caught.value)
    assert not session.ledger and not session.engine.answers


@pytest.mark.parametrize("options", [{"splits": 60}, {"as_published": True}])
def test_the_papers_rule_needs_a_delta(options):
    accountant = PureAccountant.from_budget(1.0, 0.0)
    with pytest.raises(InvalidInputError, match="delta > 0"):
        recorded(
            DpAgd(use={"gradient": "laplace"}, **options), make_rows(10), accountant=accountant
        )


def test_the_fewest_steps_are_warned_of():
    small = ZcdpAccountant.from_budget(1e-3, 1e-6)
    _, solution = recorded(DpAgd(), make_rows(30), accountant=small, n0=30)
    assert solution.details["steps_planned"] == 10 and "noise" in solution.details["warning"]
    for optimizer, accountant in (
        (DpAgd(steps=10), small),
        (DpAgd(), ZcdpAccountant.from_budget(8.0, 1e-6)),
    ):
        _, solution = recorded(optimizer, make_rows(30), accountant=accountant)
        assert "warning" not in solution.details


def test_the_published_run_tells_its_constants():
    _, solution = recorded(DpAgd(as_published=True), make_rows(300), l2=0.0)
    expected = {"splits": 60, "candidates": 20, "max_step": 2.0, "clip": 3.0, "gamma": 0.1}
    assert expected.items() <= solution.details.items()


def test_rows_are_counted_only_where_no_public_figure_exists():
    with_n0, _ = recorded(DpAgd(), make_rows(100), n0=100)
    without, _ = recorded(DpAgd(), make_rows(100), n0=None)
    public, _ = recorded(DpAgd(), make_rows(100), REPLACE, n0=None)
    assert "count" not in with_n0.releases and "count" not in public.releases
    assert without.releases["count"] == 1
    share = without.ledger[0].cost / without.accountant.budget
    assert share == pytest.approx(0.02, rel=1e-6)


def test_an_empty_table_trains_and_gives_noise():
    empty = Rows(np.empty((0, 5)), np.empty(0))
    for n0 in (400, None):
        _, solution = recorded(DpAgd(), empty, n0=n0)
        assert np.isfinite(solution.w).all()


def test_the_papers_preset_has_the_papers_shares():
    preset = {k: v for k, v in DpAgd.presets["paper"].items() if hasattr(DpAgd(), k)}
    optimizer = DpAgd(**preset, use={"selection": "report-noisy-max"})
    accountant = ZcdpAccountant.from_budget(0.4, 1e-8, "bun-steinke")
    session, solution = recorded(optimizer, make_rows(300), accountant=accountant)
    gradient, selection = session.ledger[0].cost, session.ledger[1].cost
    epsilon = 0.4 / 120
    # The paper's eps_nmax = eps_ng = eps_tot / (2 splits), by the classical Gaussian mechanism.
    assert gradient == pytest.approx(epsilon**2 / (4 * np.log(1.25e8)), rel=1e-6)
    assert selection == pytest.approx(epsilon**2 / 2, rel=1e-4)
    assert session.records[0].sensitivity.bound == 3.0
    assert solution.details["clip"] == 3.0


def test_the_published_selection_is_not_what_runs_by_default():
    session, _ = recorded(DpAgd(as_published=True), make_rows(300), l2=0.0)
    assert "dpcore_dp_agd.published:PublishedNoisyMin" in session.trusted_parts
    default, _ = recorded(DpAgd(), make_rows(300))
    assert not any("published" in part for part in default.trusted_parts)


class Unmarked(DpAgd):
    """Releases the authors' selection as if it were private."""

    def minimize(self, problem, session):
        return minimize_as_published(problem, session)


@pytest.mark.parametrize("seed", [None, 3])
def test_the_published_selection_voids_the_statement_whoever_releases_it(seed):
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.resize([-1.0, 1.0], 60)
    plan = make_plan(Settings(algo="dp-agd", delta=1e-6, l2=0.0, seed=seed))
    plan = dataclasses.replace(plan, optimizer=Unmarked())
    told = fit_dataset(plan, dataset_from_arrays(X, y)).privacy
    assert told["private"] is False and told["why_not_private"][1 if seed else 0] == (
        "parts that promise no privacy were released: dpcore_dp_agd.published:PublishedNoisyMin"
    )
    with pytest.raises(AssertionError, match="releases parts that are not: .*PublishedNoisyMin"):
        check_mechanisms_and_queries(Unmarked())


@pytest.mark.parametrize(
    "options",
    [
        {"steps": 0},
        {"clip": -1.0},
        {"clip": float("nan")},
        {"max_step": 0.0},
        {"selection_share": 1.0},
        {"candidates": 0},
        {"loss_clip": float("inf")},
        {"gamma": 0.0},
        {"momentum": 1.0},
        {"averaging": float("nan")},
        {"shrink": 0.0},
    ],
)
def test_parameters_out_of_range_are_refused(options):
    with pytest.raises(InvalidInputError, match="out of range"):
        DpAgd(**options)


def test_neighbours_of_a_check_differ_in_one_row():
    rows = make_rows(12)
    for other in neighbours(rows, REPLACE):
        assert (other.X != rows.X).any(axis=1).sum() <= 1
    assert {len(other.y) for other in neighbours(rows, ADD)} == {11, 13}


def test_objective_with_l2_reaches_the_minimum_under_both_relations():
    # The regulariser enters sum and scores by n: a mean where the sum belongs would miss it.
    from scipy.optimize import minimize

    rows = make_rows(4000, seed=5)
    X = rows.X * np.minimum(1.0, 1.5 / np.linalg.norm(rows.X, axis=1, keepdims=True))

    def objective(w):
        return np.logaddexp(0, -rows.y * (X @ w)).mean() + 0.05 * (w @ w)

    best = minimize(objective, np.zeros(5))
    for relation in (ADD, REPLACE):
        accountant = ZcdpAccountant.from_budget(1e4, 1e-6)
        _, solution = recorded(
            DpAgd(), rows, relation, l2=0.1, accountant=accountant, n0=len(rows.y)
        )
        np.testing.assert_allclose(solution.w, best.x, atol=0.05)


def test_defaults_are_functions_of_public_facts():
    problem = SimpleNamespace(row_norm=2.0)
    from dpcore_dp_agd import defaults

    signals = [defaults.signal(n, 0.02, 100) for n in (1e3, 1e4, 1e5, 1e6)]
    steps = [defaults.steps_for(u) for u in signals]
    clips = [defaults.clip_for(u, problem.row_norm) for u in signals]
    assert steps == sorted(steps) and clips == sorted(clips)
    assert clips[-1] <= problem.row_norm


def test_a_regression_predicts_in_the_unit_of_its_target():
    # Targets of 10^5 once met margins of about 1: every prediction was near 0.
    rng = np.random.default_rng(5)
    X = rng.random((4000, 3))
    y = 200_000 * (0.2 + X @ [0.3, 0.2, 0.1])
    model = fit(X, y, loss="ridge", target_bounds=(0, 200_000), row_norm=2.0, epsilon=50.0, seed=1)
    assert np.mean(np.abs(model.predict(X) - y) / y) < 0.2
    assert np.mean(np.abs(y.mean() - y) / y) > 2 * np.mean(np.abs(model.predict(X) - y) / y)

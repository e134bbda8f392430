"""The paper's preset and the authors' code: constants, levels, tests, and what is marked."""

import dataclasses
import math

import numpy as np
import pytest

from dpcore import fit
from dpcore.errors import InvalidInputError
from dpcore.losses.squared import Squared
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import LocalEngine, Logistic, PureAccountant, SeededNoise, TableSession
from dpcore_accuracy_first.doubling import CovDoubling, OutputDoubling, paper_epsilon
from dpcore_accuracy_first.guarantee import exact_test, failure_rates, paper_test
from dpcore_accuracy_first.noise_reduction import CovNr, OutputNr
from dpcore_accuracy_first.objectives.minimizer import Minimizer
from dpcore_accuracy_first.objectives.public_ball import PublicBall, paper_slack
from dpcore_accuracy_first.options import kind_of
from dpcore_accuracy_first.paper import paper_levels, paper_tries
from dpcore_accuracy_first.published import as_published, published_test
from dpcore_accuracy_first.theory import CovTheory, OutputTheory
from dpcore_lab.checks import RecordingSession, ReplaySession, make_rows
from dpcore_lab.made_tables.tables import make_problem, neighbours
from dpcore_lab.replay.replay import assert_within

REPLACE = NeighboringRelation.REPLACE_ONE
SEARCHES = [OutputNr, CovNr, OutputDoubling, CovDoubling]
ALL = [*SEARCHES, OutputTheory, CovTheory]


def loss_of(kind):
    return Squared() if "squared-loss" in kind.needs else Logistic()


def papers(kind, **options):
    return kind(**{**kind.presets["paper"], **options})


def public(kind, n=1000, l2=0.05):
    """Return a problem of rows of norm 1, as the paper has them."""
    problem = make_problem(make_rows(n), REPLACE, loss_of(kind), l2=l2)
    return dataclasses.replace(problem, row_norm=1.0, raw_norm_bound=1.0)


def run(optimizer, rows, epsilon=2000.0, session=TableSession):
    problem = make_problem(rows, REPLACE, loss_of(type(optimizer)), l2=0.05)
    accountant = PureAccountant.from_budget(epsilon, 0.0)
    source = rows.table() if session is RecordingSession else LocalEngine(rows.table())
    opened = session(source, accountant, REPLACE, SeededNoise(3))
    return opened, optimizer.minimize(problem, opened)


@pytest.mark.parametrize("kind", ALL)
def test_the_papers_ball_holds_the_minimiser_and_more(kind):
    problem = public(kind)
    radius = math.sqrt((1 if loss_of(kind).name == "ridge" else 2 * math.log(2)) / problem.l2)
    ball = PublicBall.of(problem, paper_slack(problem))
    assert ball.radius == pytest.approx(radius, rel=1e-9)
    assert ball.radius > PublicBall.of(problem).radius
    base = papers(kind, target_excess_risk=0.3)._base(problem)
    assert base.ball.radius == pytest.approx(radius, rel=1e-2)


@pytest.mark.parametrize("slack", [-1.0, math.nan, math.inf])
def test_a_minimisers_ball_is_never_smaller(slack):
    with pytest.raises(InvalidInputError, match="slack"):
        Minimizer(public(OutputNr), slack=slack)


def test_the_tests_cost_what_theorems_3_2_and_3_4_say():
    alpha, gamma, T, n, l2 = 0.3, 0.1, 1000, 1000, 0.05
    moved = {
        CovNr: (math.sqrt(1 / l2) + 1) ** 2 / n,  # Theorem 3.2
        OutputNr: 2 * math.sqrt(2 * math.log(2) / l2) / n,  # Theorem 3.4, of 16 Delta log / alpha
    }
    for kind, delta in moved.items():
        optimizer, problem = papers(kind, target_excess_risk=alpha), public(kind)
        target = optimizer._base(problem).target(optimizer, kind_of(optimizer))
        printed = 16 * delta * math.log(2 * T / gamma) / alpha
        # The solver's gap and the grids' steps are counted, and the paper has none.
        assert printed <= optimizer._test_epsilon(target) <= 1.05 * printed
        assert optimizer._plan() == paper_test(T, gamma)


def test_doublings_tests_are_right_by_the_union_bound():
    optimizer = papers(OutputDoubling, target_excess_risk=0.3)
    problem = public(OutputDoubling)
    target = optimizer._base(problem).target(optimizer, "excess-risk")
    scale = target.distance / paper_epsilon(target, 24, 0.1)
    assert 24 * math.exp(-target.alpha / 2 / scale) / 2 == pytest.approx(0.1)


def test_the_papers_theorem_3_1_is_inverted_to_the_digit():
    problem, alpha = public(CovTheory), 0.3
    p, n, l2 = problem.n_features, problem.n, problem.l2
    printed = 4 * math.sqrt(2) * (2 * math.sqrt(p / l2) + p / l2) / (n * alpha)
    found = papers(CovTheory, target_excess_risk=alpha)._base(problem).theory(alpha)
    assert found == pytest.approx(printed, rel=1e-6)


def test_squared_loss_has_a_theorem_of_its_own():
    # Half of the largest curvature times the noise's mean square, and no Lipschitz constant.
    problem = dataclasses.replace(public(OutputTheory), loss=Squared())
    base = OutputTheory(target_excess_risk=1.0)._base(problem)
    scale = base.bound / base.theory(0.3)
    square = 2 * problem.n_features * scale**2
    assert (1 + problem.l2) / 2 * square == pytest.approx(0.3)


def test_the_levels_are_those_of_the_authors_code_up_to_the_worst_case():
    levels = paper_levels(1000, 2.0, 50, 100.0)
    ratios = np.divide(levels[1:], levels[:-1])
    assert len(levels) == 50 and levels[0] == 1e-3
    assert ratios == pytest.approx(8000 ** (1 / 50))
    cut = paper_levels(1000, 2.0, 50, 0.5)
    assert cut == levels[: len(cut)] and cut[-1] <= 0.5 < levels[len(cut)]
    assert paper_tries(1000, 2.0) == int(math.log2(8000) + 1) + 1
    with pytest.raises(InvalidInputError, match="Raise --epsilon-max"):
        paper_levels(1000, 2.0, 50, 1e-4)
    for rule in (lambda: paper_levels(10, 1e-3, 5, 1.0), lambda: paper_tries(10, 1e-3)):
        with pytest.raises(InvalidInputError, match="first level"):
            rule()


WALKS = [
    papers(OutputNr, target_excess_risk=0.05, levels=40),
    papers(CovNr, target_excess_risk=0.1, levels=40, l1_norm=2.0),
    papers(OutputDoubling, target_excess_risk=0.05),
    papers(CovDoubling, target_excess_risk=0.05, l1_norm=2.0),
]


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", WALKS, ids=lambda each: each.name)
def test_a_run_with_the_papers_parameters_is_within_its_sensitivities(optimizer):
    rows = make_rows(60, seed=3)
    optimizer = dataclasses.replace(optimizer, release_last=True)
    recorded, solution = run(optimizer, rows, session=RecordingSession)
    assert solution.details["levels_tested"] > 1
    problem = make_problem(rows, REPLACE, loss_of(type(optimizer)), l2=0.05)
    for other in neighbours(rows, REPLACE, seed=4):
        accountant = PureAccountant.from_budget(2000.0, 0.0)
        replay = ReplaySession(recorded.records, other.table(), accountant, REPLACE)
        again = optimizer.minimize(problem, replay)
        replay.assert_faithful()
        assert again.w.tobytes() == solution.w.tobytes()
        for asked, exact in zip(recorded.records, replay.exacts, strict=True):
            assert_within(asked.exact, exact, asked.sensitivity, asked.query[:40])


@pytest.mark.parametrize("kind", [CovNr, CovDoubling])
def test_the_papers_search_meets_its_target_and_begins_at_one_over_n(kind):
    rows = make_rows(2000, seed=1)
    session, solution = run(papers(kind, target_excess_risk=0.3, l1_norm=2.0), rows)
    assert solution.details["target_met"] is True
    assert 0 < session.ex_post_epsilon <= session.accountant.spent <= 2000.0


@pytest.mark.parametrize("kind", SEARCHES)
def test_the_papers_levels_follow_from_an_excess_risk_alone(kind):
    with pytest.raises(InvalidInputError, match="utility theorem"):
        run(papers(kind, target_risk=0.3, slack=0.1), make_rows(200))


def test_the_optimal_threshold_of_the_code_misses_gamma():
    # The sound tests, at the same cost and more, do not.
    plan = published_test(1000, 0.1)
    assert plan.cost == pytest.approx(8 * math.log(1.5**0.75 * math.sqrt(1000) / 0.1))
    assert max(failure_rates(plan, 1000, 0.0)) > 0.15
    assert max(failure_rates(exact_test(1000, 0.1, 0.0), 1000, 0.0)) <= 0.1


@pytest.mark.parametrize("kind", [*SEARCHES, CovTheory])
def test_as_published_is_marked_and_the_preset_is_not(kind):
    rows, loss = make_rows(2000, seed=1), loss_of(kind).name
    kwargs = {"classes": (-1, 1)} if loss == "logistic" else {"target_bounds": (-1.0, 1.0)}
    asked = {"algo": kind.name, "loss": loss, "row_norm": 1.5, "epsilon_max": 2000.0,
             "l2": 0.05, "targets": {"target_excess_risk": 0.3}, **kwargs}  # fmt: skip
    model = fit(rows.X, rows.y, as_published=True, **asked)
    assert not model.privacy["private"]
    assert any("as its authors published it" in why for why in model.privacy["why_not_private"])
    sound = fit(rows.X, rows.y, preset="paper", **asked)
    assert sound.privacy["private"]


@pytest.mark.parametrize("kind", SEARCHES)
def test_where_nothing_passes_the_code_returns_its_last_hypothesis(kind):
    # It records epsilon = -1 then; here all that was charged is said.
    rows, optimizer = make_rows(400, seed=1), kind(target_excess_risk=0.01, as_published=True)
    problem = make_problem(rows, REPLACE, loss_of(kind), l2=0.05)
    constants = dataclasses.replace(optimizer, **as_published(optimizer))
    base = constants._base(problem)
    target = base.target(constants, "excess-risk")
    if kind in (OutputNr, CovNr):
        little = 1.002 * constants._test_epsilon(target)
    else:
        little = 1.5 * constants._tests(target, paper_tries(400, base.theory(0.01)))[0]
    opened, solution = run(optimizer, rows, little)
    assert solution.details["target_met"] is False and "NOT met" in solution.status
    assert opened.ex_post_epsilon == opened.accountant.spent > 0


@pytest.mark.parametrize("kind", SEARCHES)
def test_an_excess_moves_by_twice_what_the_code_claims(kind):
    # The objective and the minimum both move with a row, and the code counts one of them.
    problem, distances = public(kind), []
    for published in (True, False):
        optimizer = papers(kind, target_excess_risk=0.3, as_published=published)
        base = optimizer._base(problem)
        target = base.target(optimizer, "excess-risk")
        excess = base.excess(target.question(np.zeros(problem.n_features)), target.reference)
        assert excess.sensitivity(REPLACE).bound == pytest.approx(target.distance, rel=1e-6)
        distances.append(target.distance)
    assert distances[0] == pytest.approx(distances[1] / 2, rel=0.02)


@pytest.mark.parametrize("kind", ALL)
def test_the_papers_l2_is_the_default_of_the_preset(kind):
    problem, accountant = public(kind), PureAccountant.from_budget(1.0, 0.0)
    for optimizer in (papers(kind), kind(as_published=True)):
        assert optimizer.default_l2(problem, accountant) == pytest.approx(0.005)
    assert kind().default_l2(problem, accountant) == pytest.approx(0.001)

"""Add-or-remove-one: what moves when a row comes; no bound may know how many rows there are."""

from dataclasses import replace

import numpy as np
import pytest
from asked import answer
from scipy.optimize import minimize as scipy_minimize

from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.errors import InvalidInputError
from dpcore.losses.squared import Squared
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import Logistic, SeededNoise
from dpcore_accuracy_first.brownian_reduction import OutputBnr
from dpcore_accuracy_first.objectives.base_releases import CovBase, OutputBase
from dpcore_accuracy_first.objectives.excess import Excess
from dpcore_accuracy_first.objectives.loss_sum import ErrorCount, ObjectiveSum
from dpcore_accuracy_first.objectives.minimizer import Minimizer, MinimumObjective
from dpcore_accuracy_first.objectives.public_ball import PublicBall
from dpcore_accuracy_first.objectives.quadratic import MinimumQuadratic, QuadraticObjective
from dpcore_accuracy_first.queries.gram import GramMatrix
from dpcore_baselines.losses.huber import HuberSvm
from dpcore_lab.checks import RecordingSession, make_rows
from dpcore_lab.made_tables.tables import Rows, extreme_rows, make_problem, neighbours
from dpcore_lab.replay.replay import assert_within

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
LOSSES = [Logistic(), Squared(), HuberSvm()]


def with_row(rows, x, y):
    return Rows(np.vstack([rows.X, x]), np.append(rows.y, y))


def one_more_each(rows):
    return [with_row(rows, x, y) for x, y in extreme_rows(rows.X.shape[1])]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("n0", [5, 200])
def test_the_minimiser_stays_within_its_sensitivity(loss, n0):
    rows = make_rows(25, seed=3)
    query = Minimizer(make_problem(rows, ADD, loss, l2=0.05, n0=n0))
    exact, sensitivity = answer(query, rows), query.sensitivity(ADD)
    for other in (*neighbours(rows, ADD, seed=4), *one_more_each(rows)):
        assert_within(exact, answer(query, other), sensitivity, "minimiser")


def test_the_bound_is_tight_and_one_that_takes_n_as_public_is_caught():
    # All margins are where the Huber loss is a line, so that the minimiser is the sum of y x over
    # n0 l2. A row of the other label moves it by 1.5 / (n0 l2) = .01: half a sensitivity is broken.
    # With n l2 for n0 l2, n as it is, it moves by .25 (1 - 24 / 26) = .0192.
    n, l2 = 25, 6.0
    rows = Rows(np.array([[1.5, 0.0]] * n), np.ones(n))
    more = with_row(rows, [[1.5, 0.0]], -1.0)

    def apart(query, other):
        steps = answer(query, rows) - answer(other, more)
        return np.linalg.norm(np.ldexp(steps.astype(float), -query.grid_bits))

    def twin(table):
        return Minimizer(make_problem(table, REPLACE, HuberSvm(), l2=l2))

    query = Minimizer(make_problem(rows, ADD, HuberSvm(), l2=l2, n0=n))
    bound = query.moves(ADD)
    assert bound / 2 < 0.99 * apart(query, query) < apart(query, query) <= bound
    assert apart(twin(rows), twin(more)) > 1.5 * bound


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_many_more_rows_than_n0_stay_within_the_ball(loss):
    # Without the penalty it is at 2.1 for the logistic loss, 3 for the others.
    n, n0 = 400, 2
    X = np.column_stack([np.full(n, 1.0), np.zeros(n)])
    rows = Rows(X, np.ones(n))
    problem = make_problem(rows, ADD, loss, l2=0.4, n0=n0)
    query = Minimizer(problem)
    w = np.ldexp(answer(query, rows).astype(float), -query.grid_bits)
    inner = PublicBall.of(replace(problem, relation=REPLACE, n=n0, n0=None)).radius
    assert np.linalg.norm(w) <= query.ball.radius
    free = scipy_minimize(lambda w: _objective(problem, rows, w), np.zeros(2), method="L-BFGS-B")
    assert 0.99 < np.linalg.norm(w) / min(inner, np.linalg.norm(free.x)) < 1.04


def _objective(problem, rows, w):
    values = np.empty(len(rows.y))
    problem.loss.value(rows.X @ w, rows.y, values)
    return values.sum() + problem.n0 * problem.l2 / 2 * float(w @ w)


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("n0", [3, 40])
def test_an_excess_moves_by_less_than_under_replace_one(loss, n0):
    rows = make_rows(20, seed=5)
    problem = make_problem(rows, ADD, loss, l2=0.2, n0=n0)
    minimizer = Minimizer(problem)
    reference = MinimumObjective(minimizer)
    edge = np.full(5, 0.3 / np.sqrt(5)) * minimizer.ball.radius
    parts = [ObjectiveSum(problem, edge, minimizer.ball, reference.middle + 0.1), reference]
    excess = Excess(*parts, minimizer)
    for query in (*parts, excess):
        exact, sensitivity = answer(query, rows), query.sensitivity(ADD)
        for other in (*one_more_each(rows), *neighbours(rows, ADD, seed=2)):
            assert_within(exact, answer(query, other), sensitivity, query.kind)
    bound = excess.sensitivity(ADD).bound
    assert 0.9 * minimizer.ball.spread < bound < 1.4 * minimizer.ball.spread


def test_half_of_what_an_objective_moves_by_is_too_little():
    problem = make_problem(make_rows(9), ADD, Squared(), l2=0.2, n0=9)
    ball = PublicBall.of(problem)
    w = np.array([0.999 * ball.radius, 0, 0, 0, 0])
    rows = Rows(np.array([[1.5, 0, 0, 0, 0.0]] * 4), np.ones(4))
    query = ObjectiveSum(problem, w, ball, ball.spread / 2)
    bound, moved = query.sensitivity(ADD).bound, []
    for y in (-1.0, 1.0):
        steps = answer(query, with_row(rows, [[1.5, 0, 0, 0, 0]], y)) - answer(query, rows)
        moved.append(abs(int(steps[0])) * 2.0**-query.bits)
    assert bound / 2 < 0.9 * bound < max(moved) <= bound


@pytest.mark.parametrize("less", [0.0, 0.2, 0.7])
def test_a_count_less_a_share_of_the_rows_moves_by_the_larger_of_the_two(less):
    rows = make_rows(30, seed=1)
    problem = make_problem(rows, ADD, Logistic(), n0=12)
    query = ErrorCount(problem, np.array([1.0, 0, 0, 0, 0]), less)
    exact = answer(query, rows)
    moved = [abs(int((answer(query, each) - exact)[0])) for each in one_more_each(rows)]
    assert max(moved) == query.sensitivity(ADD).bound * 2**20


@pytest.mark.parametrize("n0", [4, 300])
def test_the_quadratic_objectives_stay_within_their_sensitivities(n0):
    rows = make_rows(60, seed=9)
    problem = make_problem(rows, ADD, Squared(), l2=0.05, n0=n0)
    ball, gram = PublicBall.of(problem), GramMatrix(problem)
    least = MinimumQuadratic(gram, problem, ball)
    question = QuadraticObjective(gram, problem, ball, np.array([0.1, -0.2, 0.3, 0, 0.1]), 0.05)
    for query in (least, question):
        exact, sensitivity = answer(query, rows), query.sensitivity(ADD)
        for other in (*one_more_each(rows), *neighbours(rows, ADD, seed=4)):
            assert_within(exact, answer(query, other), sensitivity, "objective")
    minimum = MinimumObjective(Minimizer(problem))
    ours, theirs = (int(answer(each, rows)[0]) * 2.0**-each.bits for each in (least, minimum))
    clamped = np.clip(rows.y, -1, 1)
    between = len(clamped) * (minimum.middle - least.middle) - (clamped**2).sum() / 2
    assert ours - theirs == pytest.approx(between, abs=least.gap + minimum.gap + 0.05)


@pytest.mark.parametrize("kind", [OutputBase, CovBase])
@pytest.mark.parametrize("n", [150, 600])
def test_a_target_is_of_the_rows_that_there_are(kind, n):
    # Whether a model is beside the target follows from n and not from n0. A test against n0's goal
    # would take 600 rows of 25 % errors for worse than 30 %: 150 errors, and 90 are 30 % of n0.
    options = OutputBnr(target_risk=0.3, slack=0.1)
    rows = make_rows(n, seed=6)
    loss = Logistic() if kind is OutputBase else Squared()
    problem = make_problem(rows, ADD, loss, l2=0.1, n0=300)
    base = kind(problem) if kind is OutputBase else kind(problem, None)
    rng, seen = np.random.default_rng(3), set()
    for _ in range(20):
        w = base._inside.project(rng.normal(size=5))
        value = _mean_objective(problem, rows, w)
        options = replace(options, target_risk=value * rng.uniform(0.8, 1.2), slack=0.01)
        target = base.target(options, "risk")
        above = int(answer(target.question(w), rows)[0]) * 2.0**-target.asked.grid_bits
        is_beside = value > options.target_risk + options.slack
        assert (above - target.goal > 300 * options.slack) == is_beside
        seen.add(is_beside)
    assert len(seen) == 2


def test_an_excess_beyond_a_row_s_range_is_tested_as_that_range():
    # What is subtracted for each row is part of what a row moves, and of what has to fit a sum.
    for kind, loss in ((OutputBase, Logistic()), (CovBase, Squared())):
        problem = make_problem(make_rows(9), ADD, loss, l2=0.1, n0=300)
        base = kind(problem) if kind is OutputBase else kind(problem, None)
        options = OutputBnr(target_excess_risk=1e9)
        target = base.target(options, "excess-risk")
        spread = target.question(np.zeros(5)).ball.spread if kind is OutputBase else None
        spread = spread or target.reference.spread
        assert target.goal == -300 * spread and target.distance < 2.1 * spread
    with pytest.raises(InvalidInputError, match="met by every model"):
        OutputBase(make_problem(make_rows(9), ADD, Logistic(), l2=0.1, n0=300)).target(
            OutputBnr(target_risk=1e9, slack=0.1), "risk"
        )


def test_products_that_wrap_around_are_part_of_the_promise():
    # Room for 1,000 rows makes for finer products, which hold fewer rows than 2^27.
    problem = make_problem(make_rows(9), ADD, Squared(), l2=10.0, n0=300)
    problem = replace(problem, capacity=1000)
    gram, ball = GramMatrix(problem), PublicBall.of(problem)
    least = MinimumQuadratic(gram, problem, ball)
    question = QuadraticObjective(gram, problem, ball, np.zeros(5))
    assert least.most_rows == question.most_rows == 1000
    assert ObjectiveSum(problem, np.zeros(5), ball, 1.0).most_rows == 2**27
    assert least.bits == replace(question, excess=0.1).bits


@pytest.mark.parametrize(("n0", "excess"), [(10**10, 0.3), (10**11, 0.01), (10**12, 0.3)])
def test_a_value_above_all_rows_there_can_be_makes_sums_that_fit(n0, excess):
    # Where sums were sized for 2^27 rows, the public part of 10^11 was no int64 at a model of
    # norm, and the noise of a test none of 2^58 steps: both turned up once a level was charged.
    problem = make_problem(make_rows(9), ADD, Logistic(), l2=0.1, n0=n0)
    options = OutputBnr(target_excess_risk=excess, levels=3, release_last=True)
    accountant = ZcdpAccountant.from_budget(5.0, 1e-6)
    session = RecordingSession(make_rows(9).table(), accountant, ADD, SeededNoise(1))
    options.minimize(problem, session)
    assert [each.sensitivity.grid_bits < 30 for each in session.records[1::2]] == [True] * 3
    ball = PublicBall.of(problem)
    edge = np.array([0.999 * ball.radius, 0, 0, 0, 0])
    public = n0 * 0.05 * (0.999 * ball.radius) ** 2
    query = ObjectiveSum(problem, edge, ball)
    assert query.start()[0] * 2.0**-query.bits > public
    assert query.most_rows == n0


def _mean_objective(problem, rows, w):
    norms = np.linalg.norm(rows.X, axis=1, keepdims=True)
    table = Rows(rows.X * np.minimum(1.0, problem.row_norm / norms), np.clip(rows.y, -1, 1))
    return _objective(problem, table, w) / len(rows.y)

"""The minimiser, the objective and accuracy targets of several classes, beside broken twins."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize
from scipy.special import softmax

from dpcore import fit
from dpcore.errors import InvalidInputError, TargetNotMetError
from dpcore.losses.logistic import Softmax
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import LocalEngine, PureAccountant, SeededNoise, TableSession
from dpcore_accuracy_first.doubling import OutputDoubling
from dpcore_accuracy_first.noise_reduction import CovNr, OutputNr
from dpcore_accuracy_first.objectives.loss_sum import ErrorCount, ObjectiveSum
from dpcore_accuracy_first.objectives.minimizer import Minimizer, MinimumObjective
from dpcore_accuracy_first.objectives.public_ball import PublicBall
from dpcore_accuracy_first.theory import OutputTheory
from dpcore_baselines.queries.gradient_sum import GradientSum, gradient_bits, gradient_error
from dpcore_lab.checks import check_query, make_rows
from dpcore_lab.made_tables.tables import Rows, make_problem, neighbours
from dpcore_lab.replay.replay import assert_within

REPLACE = NeighboringRelation.REPLACE_ONE
K = 4


class UnitSlopes:
    """Broken on purpose: the softmax, whose slopes are taken to be within 1."""

    name, classification, multiclass, convex, thread_safe = "unit", True, True, True, True
    lipschitz, smoothness = 1.0, 0.5

    def value(self, z, y, out):
        Softmax().value(z, y, out)

    def dvalue(self, z, y, out):
        Softmax().dvalue(z, y, out)


def answer(query, rows):
    engine = LocalEngine(rows.table())

    def ask(part):
        return part.derive(ask, None) if hasattr(part, "derive") else engine.answer(part)

    return ask(query)


def problem_of(rows, l2=0.05, loss=None):
    return make_problem(rows, REPLACE, loss or Softmax(), l2=l2)


def scaled(rows):
    norms = np.linalg.norm(rows.X, axis=1, keepdims=True)
    return rows.X * np.minimum(1.0, rows.row_norm / norms)


def reference(rows, l2):
    """Return SciPy's minimiser of the sum, flat, and the sum there."""
    X, n = scaled(rows), len(rows.y)

    def both(flat):
        w = flat.reshape(rows.n_classes, -1)
        p = softmax(w @ X.T, axis=0)
        own = rows.y.astype(int), np.arange(n)
        loss = -np.log(p[own]).sum() + n * l2 / 2 * flat @ flat
        p[own] -= 1
        return loss, (p @ X + n * l2 * w).ravel()

    options = {"gtol": 1e-10, "ftol": 1e-16, "maxiter": 10_000}
    start = np.zeros(rows.n_classes * X.shape[1])
    found = scipy_minimize(both, start, jac=True, method="L-BFGS-B", options=options)
    return found.x, found.fun


@pytest.mark.parametrize("l2", [1.0, 0.05, 1e-3])
def test_it_is_scipys_minimiser_within_its_certificate(l2):
    rows = make_rows(300, seed=2, n_classes=K)
    query = Minimizer(problem_of(rows, l2))
    w = np.ldexp(answer(query, rows).astype(float), -query.grid_bits)
    expected, least = reference(rows, l2)
    assert w.shape == (K * 5,)
    assert np.linalg.norm(w - expected) <= query.gap + 1e-4 / (300 * l2)
    assert query.gap < 0.01 * query.sensitivity(REPLACE).bound
    assert np.linalg.norm(expected) <= query.ball.radius
    minimum = MinimumObjective(query)
    value = float(answer(minimum, rows)[0]) * 2.0**-minimum.bits
    assert abs(value - least) <= minimum.gap + 300 * 2.0**-16


def gradient_of_longdoubles(rows, w):
    """Return the sum of the rows' gradients at ``w``, and the rows as a table holds them."""
    block = rows.table().blocks[0]
    X = block.rows().astype(np.longdouble)
    z = w.astype(np.longdouble) @ X.T
    p = np.exp(z - z.max(axis=0))
    p /= p.sum(axis=0)
    p[rows.y.astype(int), np.arange(len(rows.y))] -= 1
    return p @ X


@pytest.mark.parametrize("n_classes", [3, 20])
@pytest.mark.parametrize("precise", [False, True])
def test_the_sum_of_gradients_errs_by_its_bound_at_most(n_classes, precise):
    rows = make_rows(400, seed=6, n_classes=n_classes)
    problem = problem_of(rows)
    slope = 2 * Softmax().lipschitz + 1
    bits = gradient_bits(problem, 400, slope)
    w = np.random.default_rng(1).normal(size=problem.w_shape)
    w = np.round(w * 2**40) / 2**40
    found = np.ldexp(answer(GradientSum(problem, w, bits, precise), rows).astype(float), -bits)
    error = np.linalg.norm((found - gradient_of_longdoubles(rows, w)).astype(float))
    bound = gradient_error(problem, 400, slope, precise)
    assert error <= bound <= 1e-3
    # Of one class more the bound is no smaller.
    assert bound <= gradient_error(replace(problem, n_margins=n_classes + 1), 400, slope, precise)


def test_labels_that_are_no_places_count_as_the_nearest():
    rows = make_rows(40, seed=8, n_classes=K)
    problem, wild, tame = problem_of(rows), rows.y.copy(), rows.y.copy()
    wild[:3], tame[:3] = [1e6, -7.0, 1.2], [K - 1, 0.0, 1.0]
    minimizer = Minimizer(problem)
    question = ObjectiveSum(problem, np.ones(problem.w_shape) / 4, minimizer.ball)
    for query in (minimizer, MinimumObjective(minimizer), question):
        here, there = (answer(query, replace(rows, y=y)) for y in (wild, tame))
        assert np.array_equal(here, there)


@pytest.mark.parametrize("l2", [0.05, 2.0])
def test_sensitivities_hold_over_extreme_rows(l2):
    rows = make_rows(25, seed=3, n_classes=3)
    minimizer = Minimizer(problem_of(rows, l2))
    for query in (minimizer, MinimumObjective(minimizer)):
        exact, sensitivity = answer(query, rows), query.sensitivity(REPLACE)
        for other in neighbours(rows, REPLACE, seed=4):
            assert_within(exact, answer(query, other), sensitivity, query.kind)


def turned_pair(n=20_000, short=2.0**-8):
    """Return two tables of one column that differ in one row: short rows hold W at (a, 0, -a), far
    enough for the long row to be of the first class or, opposite to it, of the last; it is of
    neither. The gradients of the two differ by (1, -2, 1) x, of norm sqrt(6)."""
    half = n // 2
    X = np.concatenate([[1.0], np.full(half, short), np.full(half, -short)])[:, None]
    y = np.concatenate([[1.0], np.zeros(half), np.full(half, 2.0)])
    here = Rows(X, y, row_norm=1.0, raw_norm_bound=1.0, n_classes=3)
    X = X.copy()
    X[0] = -1.0
    return here, replace(here, X=X)


def test_slopes_that_are_taken_to_be_within_one_are_caught():
    here, there = turned_pair()
    query = Minimizer(problem_of(here, 1e-4))
    exact, moved = answer(query, here), answer(query, there)
    assert_within(exact, moved, query.sensitivity(REPLACE), "minimiser")
    twin = Minimizer(problem_of(here, 1e-4, UnitSlopes()))
    with pytest.raises(AssertionError, match="declared l1"):
        assert_within(exact, moved, twin.sensitivity(REPLACE), "minimiser")


def in_ball(problem, kind):
    problem = replace(problem, l2=0.1)
    w = np.random.default_rng(2).normal(size=problem.w_shape)
    w /= np.linalg.norm(w)
    return kind(problem, w, PublicBall.of(problem)) if kind is ObjectiveSum else kind(problem, w)


class ErrorsOfEachClass(ErrorCount):
    """Broken on purpose: a row counts once for each class that its margins are wrong about."""

    __slots__ = ()

    def answer_block(self, block):
        own = block.y == np.arange(len(self.w))[:, None]
        wrong = int(np.count_nonzero((block.margins(self.w) > 0) != own))
        return np.array([wrong << 20], dtype=np.int64)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [ObjectiveSum, ErrorCount])
def test_objective_and_errors_are_sums_with_their_sensitivity(kind):
    tested = check_query(lambda problem: in_ball(problem, kind), Softmax())
    assert "rows of 17 tables" in tested.what


def test_errors_that_count_each_class_are_caught():
    with pytest.raises(AssertionError, match="declared l1"):
        check_query(lambda problem: in_ball(problem, ErrorsOfEachClass), Softmax())


def test_errors_are_counted_as_predictions_are_made():
    rows = make_rows(200, seed=1, n_classes=K)
    problem = problem_of(rows)
    w = np.round(np.random.default_rng(5).normal(size=problem.w_shape) * 64) / 64
    wrong = ((w @ scaled(rows).T).argmax(axis=0) != rows.y).sum()
    assert answer(ErrorCount(problem, w), rows)[0] == wrong << 20
    # Of equal margins the first class is meant.
    zero = answer(ErrorCount(problem, np.zeros(problem.w_shape)), rows)[0]
    assert zero == (rows.y != 0).sum() << 20


def test_the_losses_of_the_ball_are_within_its_range():
    rng, problem = np.random.default_rng(4), problem_of(make_rows(20, n_classes=K), l2=0.01)
    ball = PublicBall.of(problem)
    w = rng.normal(size=(500, K, 5))
    w *= ball.radius / np.sqrt(np.square(w).sum(axis=(1, 2)))[:, None, None]
    w[0] = 0.0
    w[0, 1, 0], w[0, 0, 0] = ball.radius / np.sqrt(2), -ball.radius / np.sqrt(2)
    x = rng.normal(size=(500, 5))
    x *= problem.row_norm / np.linalg.norm(x, axis=1, keepdims=True)
    x[0] = problem.row_norm * np.eye(5)[0]
    z = np.ascontiguousarray(np.einsum("nkd,nd->kn", w, x))
    values = np.empty(500)
    Softmax().value(z, np.zeros(500), values)
    assert values.min() >= ball.low and values.max() <= ball.high
    assert values.max() >= 0.9 * (ball.high - np.log(K))


def run(optimizer, rows, epsilon=2000.0, seed=3):
    problem = problem_of(rows)
    session = TableSession(
        LocalEngine(rows.table()),
        PureAccountant.from_budget(epsilon, 0.0),
        REPLACE,
        SeededNoise(seed),
        problem=problem,
    )
    return session, optimizer.minimize(problem, session)


@pytest.mark.parametrize(
    "optimizer",
    [
        OutputNr(target_accuracy=0.75, slack=0.1, levels=12),
        OutputNr(target_excess_risk=0.1, levels=12),
        OutputDoubling(target_accuracy=0.75, slack=0.1),
        OutputDoubling(target_excess_risk=0.1, first_level=5.0),
        OutputTheory(target_excess_risk=0.1),
    ],
    ids=repr,
)
def test_a_target_is_met_by_a_model_of_all_classes(optimizer):
    rows = make_rows(3000, seed=1, n_classes=K)
    session, solution = run(optimizer, rows)
    assert solution.w.shape == (K, 5) and session.ledger
    if getattr(optimizer, "target_accuracy", None):
        right = (solution.w @ scaled(rows).T).argmax(axis=0) == rows.y
        assert right.mean() >= 0.65
        assert "accuracy of at least 0.65" in solution.details["target"]
    assert solution.details.get("target_met", True)


def test_a_fit_with_a_target_names_it_and_its_classes():
    rng = np.random.default_rng(4)
    place = rng.choice(3, 3000)
    X = np.clip(np.array([[0.1, 0.1], [0.9, 0.2], [0.3, 0.9]])[place], 0, 1)
    y = np.array(["a", "b", "c"])[place]
    known = {"classes": ("a", "b", "c"), "bounds": (0, 1), "epsilon_max": 500.0, "seed": 1}
    targets = {"target_accuracy": 0.8, "slack": 0.1}
    model = fit(X, y, algo="output-nr", targets=targets, **known)
    assert (model.predict(X) == y).mean() >= 0.7
    with pytest.raises(TargetNotMetError):
        fit(X, rng.permutation(y), algo="output-nr", targets=targets, **known)
    risk = {"target_excess_risk": 0.1}
    with pytest.raises(InvalidInputError, match="leave --as-published out"):
        fit(X, y, algo="output-nr", targets=risk, as_published=True, **known)
    with pytest.raises(InvalidInputError, match="these take several: .*output-nr"):
        fit(X, y, algo="cov-nr", targets=risk, **known)


def test_covariance_perturbation_says_what_takes_several_classes():
    with pytest.raises(InvalidInputError, match="take output-nr"):
        run(CovNr(target_excess_risk=0.1), make_rows(100, n_classes=3))

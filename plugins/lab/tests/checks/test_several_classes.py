"""Queries and optimizers of several classes are checked as those of two are; cheats are caught."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from honest import Honest

from dpcore.errors import InvalidInputError
from dpcore.losses.logistic import Softmax
from dpcore.plugin import ClippedGradientSum, NeighboringRelation, Problem, Solution
from dpcore.plugin.parts import Logistic, Sensitivity, clip_coefficients
from dpcore_accounting.samples import PoissonSample
from dpcore_lab.checks import (
    check_huge_epsilon_limit,
    check_mechanisms_and_queries,
    check_never_overspends,
    check_outputs_released,
    check_query,
    check_repeatable_when_seeded,
    check_sensitivity_on_neighbours,
    check_tiny_budget_refused,
)
from dpcore_lab.checks.kinds import kind_of
from dpcore_lab.made_tables.tables import make_problem, make_rows
from dpcore_lab.replay.recorded import cases_of

BITS = 20


def gradient(problem, clip=0.5, kind=ClippedGradientSum):
    w = np.random.default_rng(3).normal(size=problem.w_shape)
    return kind(problem, w, clip)


def test_made_rows_have_labels_of_all_classes():
    rows = make_rows(200, n_classes=4)
    assert set(rows.y) == {0.0, 1.0, 2.0, 3.0}
    problem = make_problem(rows, NeighboringRelation.REPLACE_ONE, Softmax())
    assert problem.w_shape == (4, 5)
    with pytest.raises(InvalidInputError, match="n_margins"):
        make_problem(rows, NeighboringRelation.REPLACE_ONE, Logistic())


@pytest.mark.slow
def test_a_query_of_two_classes_and_of_more_is_checked_with_both():
    tested = check_query(gradient)
    assert "; of 3 classes 1 of what it declares under add-or-remove-one" in tested.what
    assert "rows of 19 tables" in tested.what
    assert not any("classes" in left for left in tested.not_tested)


@pytest.mark.slow
def test_a_query_of_two_classes_says_what_was_not_tested():
    tested = check_query(lambda problem: ClippedGradientSum(problem, np.ones(5), 0.5))
    assert "labels of 3 classes, which it does not take" in tested.not_tested


def of_several(problem):
    if problem.n_margins == 1:
        raise InvalidInputError("This query is for three classes and more.")
    return gradient(problem)


@pytest.mark.slow
def test_a_query_of_several_classes_alone_needs_no_loss():
    tested = check_query(of_several)
    assert "labels of two classes, which it does not take" in tested.not_tested
    assert "rows of 17 tables" in tested.what and kind_of(of_several) == "query"
    assert "rows of 17 tables" in check_query(of_several, Softmax()).what


class ClipsEachClass(ClippedGradientSum):
    """Each class's part is within the clip: together they are up to sqrt(K) times longer."""

    __slots__ = ()

    def answer_block(self, block):
        c = np.atleast_2d(self._slopes(block))
        for of_class in c:
            norms = block.row_norms("l2")
            clip_coefficients(of_class, block.factor, norms, self.clip, 2.0**self.bits)
        total = block.weighted_sum(c).reshape(self.w.shape)
        return np.ldexp(total, Problem.FEATURE_BITS + self.bits).astype(np.int64)


@dataclass(frozen=True)
class FirstMargins:
    """The gradient at w of two classes, at the margins of the first class: labels of others are
    taken for signs, and are larger than one."""

    problem: object

    kind = "gradient"

    def start(self):
        return np.zeros(self.problem.n_features, dtype=np.int64)

    def answer_block(self, block):
        z = np.atleast_2d(block.margins(np.ones(self.problem.w_shape)))[0]
        c = -block.y / (1 + np.exp(block.y * z))
        return np.trunc(np.ldexp(block.rows() * c[:, None], BITS)).astype(np.int64).sum(axis=0)

    def sensitivity(self, relation):
        return Sensitivity("l2", self.problem.row_norm * relation.rows_changed, relation, BITS)


class ClipsByTheFirst(FirstMargins):
    """The length of a row's gradient is that of the first class's part."""

    def start(self):
        return np.zeros(self.problem.w_shape, dtype=np.int64)

    def answer_block(self, block):
        problem = self.problem
        z = np.ascontiguousarray(block.margins(np.ones(problem.w_shape)))
        c = np.empty(z.shape)
        problem.loss.dvalue(z, block.y, c)
        X, c = block.rows(), np.atleast_2d(c)
        lengths = np.maximum(np.abs(c[0]) * np.linalg.norm(X, axis=1), 1e-300)
        c = c * np.minimum(1.0, 0.25 / lengths)
        parts = np.trunc(np.ldexp(c[:, :, None] * X, BITS)).astype(np.int64)
        return parts.sum(axis=1).reshape(problem.w_shape)

    def sensitivity(self, relation):
        return Sensitivity("l2", 0.25 * relation.rows_changed, relation, BITS)


class SlopesWithinOne(ClipsByTheFirst):
    """The gradient at zero, unclipped: ||p - y|| is up to sqrt(2), not 1."""

    def answer_block(self, block):
        problem = self.problem
        w = np.zeros(problem.w_shape)
        w[..., 0] = np.arange(w[..., 0].size) * 64.0
        z = np.ascontiguousarray(block.margins(w))
        c = np.empty(z.shape)
        problem.loss.dvalue(z, block.y, c)
        parts = np.ldexp(np.atleast_2d(c)[:, :, None] * block.rows(), BITS)
        return np.trunc(parts).astype(np.int64).sum(axis=1).reshape(problem.w_shape)

    def sensitivity(self, relation):
        bound = self.problem.row_norm * min(1.0, self.problem.loss.lipschitz)
        return Sensitivity("l2", bound * relation.rows_changed, relation, BITS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "loss"),
    [
        (lambda problem: gradient(problem, kind=ClipsEachClass), None),
        (lambda problem: gradient(problem, kind=ClipsEachClass), Softmax()),
        (FirstMargins, None),
        (ClipsByTheFirst, None),
        (SlopesWithinOne, Softmax()),
    ],
)
def test_a_query_that_is_right_for_two_classes_alone_is_caught(make, loss):
    with pytest.raises(AssertionError, match="declared l2"):
        check_query(make, loss)
    only_two = check_query(make, Logistic())
    assert "other losses than logistic" in only_two.not_tested


class HalfTheErrors:
    """No sum: half of how many rows are of another class than the largest margin says, of labels
    that are compared with the sign of the first margin."""

    kind = "errors"

    def __init__(self, problem):
        self.problem = problem

    def answer_table(self, table, noise):
        wrong = 0
        for block in table.blocks:
            z = block.margins(np.ones(self.problem.w_shape))
            wrong += np.abs(np.where(np.atleast_2d(z)[0] > 0, 1, -1) - block.y).sum() / 2
        return np.array([wrong], dtype=np.int64)

    def sensitivity(self, relation):
        return Sensitivity("l1", 1.0, relation, 0)


def test_a_sampler_of_several_classes_alone_is_none_of_the_queries():
    assert kind_of(lambda problem: PoissonSample(of_several(problem), 0.1)) == "sampler"


@pytest.mark.slow
def test_a_refusal_in_other_words_is_one_too():
    def refuses(problem):
        if problem.n_margins == 1:
            raise ValueError("three classes and more")
        return gradient(problem)

    assert "labels of two classes, which it does not take" in check_query(refuses).not_tested


@pytest.mark.slow
def test_an_answer_that_is_no_sum_is_searched_with_labels_of_several_classes():
    check_query(HalfTheErrors, Logistic(), evaluations=60)
    with pytest.raises(AssertionError, match="HalfTheErrors under .* declared l1"):
        check_query(HalfTheErrors, evaluations=60)


class OfClasses(Honest):
    """The honest optimizer, of several classes."""

    multiclass: ClassVar[bool] = True


@pytest.mark.slow
def test_an_optimizer_that_states_it_is_checked_with_several_classes():
    assert {count for _, count in cases_of(OfClasses())} == {2, 3}
    assert {count for _, count in cases_of(Honest())} == {2}
    assert "of two and of 3 classes" in check_sensitivity_on_neighbours(OfClasses(steps=3)).what
    assert "under replace-one (3 classes)" in check_huge_epsilon_limit(OfClasses()).what


class OneWidth(OfClasses):
    """Takes w to be as wide as a row, whatever the classes."""

    def query(self, problem, w, multiplier):
        return super().query(problem, np.resize(w, problem.n_features), multiplier)


class OneVector(OfClasses):
    """Gives the parameters of one class."""

    def minimize(self, problem, session):
        solution = super().minimize(problem, session)
        return Solution(np.atleast_2d(solution.w)[0], "Done.")


class BringsAClipForEach(OfClasses):
    """Brings the query that clips each class's part by itself."""

    def query(self, problem, w, multiplier):
        return ClipsEachClass(problem, w, 0.3, noise_multiplier=multiplier)


class KeepsDataOfClasses(OfClasses):
    """Starts from the mean of the rows where there are more classes than two."""

    def minimize(self, problem, session):
        solution = super().minimize(problem, session)
        if problem.n_margins == 1:
            return solution
        block = session._engine._table.blocks[0]
        return Solution(solution.w + 1e-9 * block.margins(np.ones(5)).mean(), "Done.")


class SpendsOnForClasses(OfClasses):
    """Asks once more than it was charged for, of several classes."""

    def minimize(self, problem, session):
        solution = super().minimize(problem, session)
        if problem.n_margins > 1:
            session._engine.answer(self.query(problem, solution.w, 1.0))
        return solution


class Unseeded(OfClasses):
    """Draws by itself, of several classes."""

    def minimize(self, problem, session):
        solution = super().minimize(problem, session)
        if problem.n_margins == 1:
            return solution
        return Solution(solution.w + np.random.default_rng().normal(), "Done.")


class LazyOfClasses(OfClasses):
    """Never gets anywhere, of several classes."""

    def step(self, problem, session, w, multiplier, n):
        moved = super().step(problem, session, w, multiplier, n)
        return moved if problem.n_margins == 1 else w


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cheat", "check", "reason"),
    [
        (OneVector, check_never_overspends, r"w of shape \(5,\), and problem.w_shape is \(3, 5\)"),
        (BringsAClipForEach, check_sensitivity_on_neighbours, "declared l2"),
        (BringsAClipForEach, check_mechanisms_and_queries, "declared l2"),
        (KeepsDataOfClasses, check_outputs_released, "more than the released values"),
        (SpendsOnForClasses, check_never_overspends, "not charged"),
        (Unseeded, check_repeatable_when_seeded, "outside the session"),
        (LazyOfClasses, check_huge_epsilon_limit, "possible gain in the mean softmax"),
    ],
)
def test_a_cheat_with_several_classes_alone_is_caught(cheat, check, reason):
    with pytest.raises(AssertionError, match=reason):
        check(cheat(steps=60 if check is check_huge_epsilon_limit else 5))
    if check not in (check_huge_epsilon_limit, check_mechanisms_and_queries):
        check(type("OfTwo", (cheat,), {"multiclass": False})(steps=5))


def test_a_width_of_one_class_fails_every_run():
    for check in (check_outputs_released, check_sensitivity_on_neighbours):
        with pytest.raises(InvalidInputError, match="w of the problem's shape"):
            check(OneWidth(steps=5))
    check_tiny_budget_refused(OfClasses())

"""Newton directions: the formula, and how far a row moves one."""

import importlib.util
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import RowFunction, Sensitivity
from dpcore_lab.checks import check_query
from dpcore_newton.curvature import hessian
from dpcore_newton.direction import NewtonDirection
from dpcore_newton.hessian import HessianSum, Standardization
from dpcore_newton.spectrum import Curvature, changed

_spec = importlib.util.spec_from_file_location("newton_naive", Path(__file__).with_name("naive.py"))
naive = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(naive)

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
RELATIONS, CHANGES, CLIP = [ADD, REPLACE], ["add", "clip"], 0.25


def hessian_sum(problem):
    width = problem.n_features
    same = Standardization.nearest(np.ones(width), np.zeros(width), None)
    w = np.zeros(width)
    return HessianSum(problem, w, RowFunction.weight(hessian), CLIP, (), standardization=same)


@pytest.fixture
def direction_of(problem_of):
    def direction(relation, change, least, gradient, kind=NewtonDirection):
        hessian = hessian_sum(problem_of(relation))
        return kind(hessian, np.asarray(gradient, float), least, change)

    return direction


def answer(query, matrix):
    """Return the answer to a Hessian, as a float."""
    bits = query.hessian.sensitivity(ADD).grid_bits
    omega = np.full(matrix.shape, 45 / 32) + (1 - 45 / 32) * np.eye(len(matrix))
    triangle = np.rint(matrix * omega * 2.0**bits)[np.triu_indices(len(matrix))]
    found = query.derive(lambda asked: triangle.astype(np.int64), None)
    return found * 2.0 ** -query.sensitivity(ADD).grid_bits


@pytest.mark.parametrize("change", CHANGES)
def test_the_answer_is_that_of_the_formula(change, direction_of):
    rng = np.random.default_rng(3)
    roots, gradient = rng.normal(size=(7, 5)), rng.normal(size=5)
    query = direction_of(ADD, change, 2.0, gradient)
    expected = naive.direction(roots.T @ roots, gradient, 2.0, change)
    np.testing.assert_allclose(answer(query, roots.T @ roots), expected, atol=1e-5)


def farthest(change, relation, least):
    """Return the largest distance of answers to neighbouring Hessians that a search finds."""
    rng, found = np.random.default_rng(4), 0.0
    for trial in range(400):
        base = rng.normal(size=(trial % 4, 5)) * 10.0 ** rng.uniform(-2, 1, (trial % 4, 1))
        gradient = rng.normal(size=5)
        one, other = rng.normal(size=(2, 5))
        if trial % 2:  # The worst: one row along the gradient, nothing else in its direction.
            one = gradient + 0.1 * rng.normal(size=5)
            other = other - (other @ gradient) / (gradient @ gradient) * gradient
        rows = [np.sqrt(CLIP) * v / np.linalg.norm(v) for v in (one, other)]
        more = base.T @ base + np.outer(rows[0], rows[0])
        less = base.T @ base
        if relation is REPLACE:
            less = less + np.outer(rows[1], rows[1])
        apart = [naive.direction(matrix, gradient, least, change) for matrix in (more, less)]
        found = max(found, float(np.linalg.norm(apart[0] - apart[1])))
    return found


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("least", [0.1, 0.25, 3.0])
def test_no_row_moves_a_direction_by_more_than_is_declared(change, relation, least, direction_of):
    stated = direction_of(relation, change, least, np.ones(5)).sensitivity(relation).bound
    found = farthest(change, relation, least)
    assert found <= stated
    if change == "add" and relation is ADD:
        assert found > 0.9 * stated  # A row along the gradient reaches it.
        assert stated == pytest.approx(CLIP / (least + CLIP), rel=1e-3)


def test_a_row_replaced_is_not_twice_a_row_added_where_that_is_more(direction_of):
    for least, expected in ((0.1, 2 * 0.25 / 0.35), (3.0, 0.25 / 3)):
        found = direction_of(REPLACE, "add", least, np.ones(5)).sensitivity(REPLACE).bound
        assert found == pytest.approx(expected, rel=1e-3)
    root = direction_of(REPLACE, "clip", 3.0, np.ones(5)).sensitivity(REPLACE).bound
    assert root == pytest.approx(2**0.5 * 0.25 / 3, rel=1e-3)


@dataclass(frozen=True)
class OfTheMean(NewtonDirection):
    """A broken twin: a row's Hessian counted as half of what it can be."""

    def sensitivity(self, relation):
        stated = super().sensitivity(relation)
        return Sensitivity("l2", stated.bound / 2, relation, grid_bits=stated.grid_bits)


def test_half_the_sensitivity_is_caught(direction_of):
    query = direction_of(ADD, "add", 0.1, np.ones(5), OfTheMean)
    assert farthest("add", ADD, 0.1) > query.sensitivity(ADD).bound


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
def test_it_passes_the_checks_of_queries(change):
    def make(problem):
        gradient = np.linspace(-1, 1, problem.n_features) + 0.1
        return NewtonDirection(hessian_sum(problem), gradient, 0.5, change)

    check_query(make)


def test_what_has_no_answer_is_refused(direction_of):
    for gradient in (np.zeros(5), np.full(5, np.nan), np.ones(4)):
        with pytest.raises(InvalidInputError, match="Expected a finite gradient"):
            direction_of(ADD, "add", 1.0, gradient)
    for words in (("add", 0.0), ("add", np.inf), ("other", 1.0)):
        with pytest.raises(InvalidInputError, match="Expected least="):
            direction_of(ADD, *words, np.ones(5))
    with pytest.raises(InvalidInputError, match="state a smaller capacity"):
        direction_of(ADD, "add", 2.0**-45, np.ones(5))


@pytest.mark.parametrize("change", CHANGES)
def test_a_noisy_matrix_is_lifted_above_zero(change):
    matrix = np.diag([4.0, -3.0, 0.1])
    curvature = Curvature.of(matrix, 0.5, change, 0.25)
    lifted = {"add": [0.5, 0.6, 4.5], "clip": [0.5, 0.5, 4.0]}[change]
    assert np.sort(curvature.values) == pytest.approx([value + 0.25 for value in lifted])
    solved = curvature.solve(np.array([1.0, 1.0, 1.0]))
    values = changed(np.maximum([4.0, -3.0, 0.1], 0.0), 0.5, change) + 0.25
    assert solved == pytest.approx(1 / values)

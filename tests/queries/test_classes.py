"""Gradients of several classes: one clip for all, exact in every layout, beside broken twins."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from coded_rows import coded

from dpcore.errors import InvalidInputError
from dpcore.losses.logistic import Softmax
from dpcore.plugin import Gaussian, NeighboringRelation, Problem
from dpcore.plugin.parts import (
    GdpAccountant,
    LocalEngine,
    Logistic,
    SeededNoise,
    Table,
    TableSession,
)
from dpcore.queries import ClippedGradientSum
from dpcore.queries.clipping import clip_class_coefficients, clip_coefficients
from dpcore_baselines.queries.standardization import SCALE_BITS, Standardization
from dpcore_baselines.queries.standardized import StandardizedGradientSum
from dpcore_baselines.queries.unit_gradient import UnitGradientSum

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
N_CLASSES, WIDTH = 5, 4


def problem_of(n_classes=N_CLASSES, width=WIDTH, **more):
    facts = {"l2": 0.0, "row_norm": 2.0, "raw_norm_bound": 3.0, "relation": ADD} | more
    return Problem(loss=Softmax(), n_features=width, n_margins=n_classes, **facts)


def stretching_rows(seed=0):
    """Rows at the bound along axes, diagonals and random directions, of every class, and zeros."""
    rng = np.random.default_rng(seed)
    points = [np.zeros(WIDTH), *np.eye(WIDTH), *-np.eye(WIDTH), np.ones(WIDTH)]
    points += [*rng.normal(size=(12, WIDTH)), *(1e-4 * rng.normal(size=(3, WIDTH)))]
    X = np.array([p / max(1.0, np.linalg.norm(p)) * 3 for p in points])
    return np.repeat(X, N_CLASSES, axis=0), np.tile(np.arange(float(N_CLASSES)), len(X))


def one_by_one(query, X, y, row_norm=2.0):
    """Return what each row contributes: exact integers."""
    parts = []
    for x, label in zip(X, y, strict=True):
        table = Table.from_matrix(x[None], np.array([label]), raw_norm_bound=3.0, row_norm=row_norm)
        parts.append(query.answer_block(table.blocks[0]))
    return np.array(parts)


def longest(parts, order):
    """Return the largest norm of the parts, in steps: exact, in l2 its square."""
    flat = [[int(v) for v in part.reshape(-1)] for part in parts]
    if order != "l2":
        return max((sum if order == "l1" else max)(map(abs, row)) for row in flat)
    return max(sum(v * v for v in row) for row in flat)


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
@pytest.mark.parametrize("clip", [0.01, 0.7, 50.0])
@pytest.mark.parametrize("scale", [0.0, 0.5, 30.0])
def test_a_row_contributes_the_clip_at_most(norm, clip, scale):
    w = scale * np.random.default_rng(1).normal(size=(N_CLASSES, WIDTH))
    query = ClippedGradientSum(problem_of(), w, clip, norm)
    X, y = stretching_rows()
    parts = one_by_one(query, X, y)
    limit = Fraction(clip) * 2 ** (Problem.FEATURE_BITS + query.bits)
    most = longest(parts, norm)
    limit = limit**2 if norm == "l2" else limit
    assert most <= limit
    if clip < 1.0:  # The clip is used up to the last steps.
        assert float(most) >= limit * 0.999
    assert query.sensitivity(REPLACE).bound == 2 * clip
    table = Table.from_matrix(X, y, raw_norm_bound=3.0, row_norm=2.0)
    assert np.array_equal(query.answer_block(table.blocks[0]), parts.sum(axis=0))


def test_a_clip_for_each_class_would_be_caught(monkeypatch):
    def each(c, factor, norms, clip, scale, norm):
        for of_class in c:
            clip_coefficients(of_class, factor, norms, clip, scale)

    monkeypatch.setattr("dpcore.queries.gradient.clip_rows", each)
    query = ClippedGradientSum(problem_of(), np.zeros((N_CLASSES, WIDTH)), 0.01)
    X, y = stretching_rows()
    assert (
        longest(one_by_one(query, X, y), "l2")
        > (0.01 * 2.0 ** (Problem.FEATURE_BITS + query.bits)) ** 2
    )


@pytest.mark.parametrize("constant", [None, 3])
@pytest.mark.parametrize("clip", [0.01, 2.0])
def test_a_standardised_row_contributes_the_clip_at_most(constant, clip):
    columns = Standardization.nearest(
        np.array([1.0, 9.0, 200.0, 2.0]), np.array([0.3, -0.5, 0.1, 0.0]), constant
    )
    w = np.random.default_rng(2).normal(size=(N_CLASSES, WIDTH))
    query = StandardizedGradientSum(problem_of(), w, columns, clip)
    X, y = stretching_rows(3)
    limit = Fraction(clip) * 2 ** (Problem.FEATURE_BITS + query.bits + SCALE_BITS)
    most = longest(one_by_one(query, X, y), "l2")
    assert limit**2 * Fraction(9, 10) <= most <= limit**2


def test_a_unit_contributes_the_clip_at_most_in_all_classes_together():
    rng, clip = np.random.default_rng(5), 0.3
    problem = problem_of(rows_per_unit=3)
    columns = Standardization.nearest(np.array([1.0, 9.0, 20.0, 2.0]), np.zeros(WIDTH), None)
    w = rng.normal(size=(N_CLASSES, WIDTH))
    query = UnitGradientSum(problem, w, columns, clip)
    limit = Fraction(clip) * 2 ** (Problem.FEATURE_BITS + query.bits + SCALE_BITS)
    total, X, y = 0, rng.normal(size=(60, WIDTH)), rng.integers(0, N_CLASSES, 60).astype(float)
    for first in range(0, 60, 3):
        rows = slice(first, first + 3)
        part = query.answer_block(_with_units(X[rows], y[rows], np.zeros(3, dtype=np.int64)))
        assert limit**2 * Fraction(9, 10) <= longest([part], "l2") <= limit**2
        total = total + part
    whole = query.answer_block(_with_units(X, y, np.repeat(np.arange(20), 3)))
    assert np.array_equal(whole, total)


def _with_units(X, y, units):
    X = X / np.maximum(1.0, np.linalg.norm(X, axis=1) / 2)[:, None]
    block = Table.from_matrix(X, y, raw_norm_bound=3.0, row_norm=2.0).blocks[0]
    block.units = units
    return block


@pytest.mark.parametrize("n_classes", [3, 7, 8, 20])
@pytest.mark.parametrize("row_norm", [0.7, 3.0])
def test_every_layout_gives_the_same_bits_and_those_of_each_class(n_classes, row_norm):
    rows, _ = coded(300)
    rng, width = np.random.default_rng(n_classes), rows.shape[1]
    y = rng.integers(0, n_classes, 300).astype(float)
    w = rng.normal(size=(n_classes, width))
    query = ClippedGradientSum(problem_of(n_classes, width, raw_norm_bound=3.0), w, 0.5)
    c = np.round(rng.normal(size=(n_classes, 300)) * 2**10) / 2**10
    answers = []
    for X in (rows.toarray(), rows.tocsr(), rows):
        block = Table.from_matrix(X, y, raw_norm_bound=3.0, row_norm=row_norm).blocks[0]
        margins, sums = block.margins(query.w), block.weighted_sum(c)
        assert margins.shape == (n_classes, 300) and margins.flags.c_contiguous
        assert np.array_equal(margins, [block.margins(of_class) for of_class in query.w])
        assert np.array_equal(sums, [block.weighted_sum(of_class) for of_class in c])
        points = np.stack([query.w, 2 * query.w])
        assert np.array_equal(block.margins_at(points)[1], block.margins(points[1]))
        halves = [block.take(np.arange(0, 300, 2)), block.take(np.arange(1, 300, 2))]
        answer = query.answer_block(block)
        assert np.array_equal(answer, sum(query.answer_block(half) for half in halves))
        answers.append(answer)
    assert np.array_equal(answers[0], answers[1]) and np.array_equal(answers[0], answers[2])


def test_margins_along_a_line_are_those_of_its_points():
    rng = np.random.default_rng(8)
    X, y = stretching_rows()
    block = Table.from_matrix(X, y, raw_norm_bound=3.0, row_norm=2.0).blocks[0]
    fresh = Table.from_matrix(X, y, raw_norm_bound=3.0, row_norm=2.0).blocks[0]
    w = np.round(rng.normal(size=(N_CLASSES, WIDTH)) * 2**14) / 2**14
    direction = np.round(rng.normal(size=(N_CLASSES, WIDTH)) * 2**10) / 2**10
    block.line(w, direction)
    for step in (0.25, 0.5):
        assert np.array_equal(
            block.margins(w - step * direction), fresh.margins(w - step * direction)
        )


@np.errstate(all="ignore")
def test_a_row_of_no_finite_slopes_is_left_out():
    c = np.array([[np.nan, np.inf, 1e200, 0.5], [0.1, 0.1, 1e200, -0.5], [0.2, 0.2, 0.0, 0.0]])
    ones = np.ones(4)
    clip_class_coefficients(c, ones, ones, 1.0, 2.0**20, False, np.zeros(4))
    assert np.array_equal(c[:, :3], np.zeros((3, 3)))
    assert c[:, 3].tolist() == [0.5, -0.5, 0.0]


@np.errstate(all="ignore")
def test_no_slope_is_so_large_that_its_share_has_too_few_digits():
    c, ones = np.array([[1.7e308], [0.0], [0.0]]), np.ones(1)
    clip = (1 - 2.0**-13) * 2.0**-40
    clip_class_coefficients(c, ones, ones, clip, 2.0**40, True, np.zeros(1))
    assert np.abs(c).sum() <= clip


def test_a_query_of_two_classes_is_refused_over_labels_of_more():
    # Labels are places then: slopes of two classes would grow with them.
    X, y = stretching_rows()
    problem, accountant = problem_of(), GdpAccountant.from_budget(1.0, 1e-6)
    table = Table.from_matrix(X, y, raw_norm_bound=3.0, row_norm=2.0)
    noise = SeededNoise(1)
    session = TableSession(LocalEngine(table), accountant, ADD, noise, problem=problem)
    two = replace(problem, loss=Logistic(), n_margins=1)
    with pytest.raises(InvalidInputError, match="n_margins"):
        session.release(ClippedGradientSum(two, np.zeros(WIDTH), 1.0), Gaussian(50.0))
    fewer = replace(problem, n_margins=N_CLASSES - 1)
    with pytest.raises(InvalidInputError, match="n_margins"):
        session.release(ClippedGradientSum(fewer, np.zeros(fewer.w_shape), 1.0), Gaussian(50.0))
    assert not session.ledger


@pytest.mark.parametrize("place", [0, 1, N_CLASSES - 1])
def test_parameters_that_are_no_numbers_are_refused_in_any_class(place):
    w = np.zeros((N_CLASSES, WIDTH))
    w[place, 1] = np.nan
    with pytest.raises(InvalidInputError, match="finite"):
        ClippedGradientSum(problem_of(), w, 1.0)


def test_parameters_of_another_shape_are_refused():
    with pytest.raises(InvalidInputError, match="shape"):
        ClippedGradientSum(problem_of(), np.zeros(WIDTH), 1.0)
    with pytest.raises(InvalidInputError, match="shape"):
        ClippedGradientSum(problem_of(), np.zeros((N_CLASSES - 1, WIDTH)), 1.0)
    for loss, n_margins in ((Logistic(), 3), (Softmax(), 1)):
        with pytest.raises(InvalidInputError, match="n_margins"):
            Problem(loss, 0.0, WIDTH, 1.0, 1.0, ADD, n_margins=n_margins)

"""Weights of classes: facts of the weighted loss, gradients under the clip, beside broken twins."""

import dataclasses
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from coded_rows import coded

from dpcore.errors import InvalidInputError
from dpcore.plugin import ClippedGradientSum, Gaussian, NeighboringRelation, Problem
from dpcore.plugin.parts import (
    GdpAccountant,
    LocalEngine,
    LossFacts,
    SeededNoise,
    Table,
    TableSession,
    clip_coefficients,
    load_registry,
)
from dpcore.queries.clipping import clip_class_coefficients
from dpcore_baselines.queries.gradient_sum import GradientSum, gradient_error, loss_error
from dpcore_lab.checks import check_loss
from dpcore_tables.weights.class_weighted import ClassWeighted

HingeSvm, HuberSvm, Logistic, Softmax, Squared = (
    load_registry().load("loss", name)
    for name in ("hinge-svm", "huber-svm", "logistic", "softmax", "ridge")
)

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
TWO, FIVE = (0.5, 3.0), (1.0, 0.25, 4.0, 2.0, 0.125)
OF_17 = tuple(0.25 * (1 + k % 7) for k in range(17))


def problem_of(loss, n_margins=1, width=4, **more):
    facts = {"l2": 0.0, "row_norm": 2.0, "raw_norm_bound": 3.0, "relation": ADD} | more
    return Problem(loss=loss, n_features=width, n_margins=n_margins, **facts)


def rows_of(n_classes, n=200, width=4, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, width)) * 2**8) / 2**8
    X *= np.minimum(1.0, 2.9 / np.maximum(np.linalg.norm(X, axis=1), 1e-9))[:, None]
    places = rng.integers(0, n_classes, n).astype(float)
    return X, 2 * places - 1 if n_classes == 2 else places


def table_of(X, y):
    return Table.from_matrix(X, y, raw_norm_bound=3.0, row_norm=2.0)


@pytest.mark.parametrize("loss", [Logistic(), HuberSvm()])
def test_the_facts_of_a_weighted_loss_of_two_classes_hold(loss):
    check_loss(ClassWeighted(loss, TWO))


@pytest.mark.parametrize("weight", [0.1, 0.3, 0.7, 1.1, 3.3])
@pytest.mark.parametrize("half_width", [0.1, 0.3, 0.6, 0.7])
def test_bounds_times_a_weight_are_rounded_up(weight, half_width):
    inner = HuberSvm(half_width)
    weighted = ClassWeighted(inner, (weight, weight))
    for name in ("lipschitz", "smoothness"):
        exact = Fraction(getattr(inner, name)) * Fraction(weight)
        assert exact <= Fraction(getattr(weighted, name)) <= exact * (1 + Fraction(1, 2**50))


@pytest.mark.slow
def test_the_facts_of_a_weighted_loss_of_several_classes_hold():
    check_loss(ClassWeighted(Softmax(), OF_17))


def test_facts_are_those_of_the_loss_times_the_largest_weight():
    inner, facts = LossFacts.of(Logistic()), LossFacts.of(ClassWeighted(Logistic(), (0.1, 0.7)))
    same = ("name", "classification", "multiclass", "convex", "nonincreasing", "quadratic")
    assert all(getattr(facts, name) == getattr(inner, name) for name in same)
    for name in ("lipschitz", "smoothness", "radial_slope"):
        exact = Fraction(0.7) * Fraction(getattr(inner, name))
        stated = Fraction(getattr(facts, name))
        assert exact <= stated <= exact * (1 + Fraction(1, 2**50))
    assert facts.line_totals is None and facts.precise_dvalue is not None
    assert LossFacts.of(ClassWeighted(HingeSvm(), TWO)).smoothness == np.inf
    assert LossFacts.of(ClassWeighted(HingeSvm(), TWO)).precise_dvalue is None


@dataclass(frozen=True, slots=True)
class NotMultiplied(ClassWeighted):
    """A broken twin: the bound of slopes is that of rows of weight 1."""

    loss: Any = Logistic()
    weights: tuple[float, ...] = TWO
    name = "not-multiplied"
    classification = True
    lipschitz = 1.0
    smoothness = 0.25
    value = ClassWeighted.value
    dvalue = ClassWeighted.dvalue


def test_a_bound_that_leaves_the_weight_out_is_found():
    with pytest.raises(AssertionError, match="lipschitz"):
        check_loss(NotMultiplied())


@pytest.mark.parametrize(("loss", "weights"), [(Logistic(), TWO), (Softmax(), FIVE)])
def test_the_gradient_is_numpys_own_weighted_one(loss, weights):
    k = len(weights)
    X, y = rows_of(k)
    rng = np.random.default_rng(1)
    w = rng.normal(size=(k, 4) if k > 2 else 4)
    loss, n_margins = ClassWeighted(loss, weights), k if k > 2 else 1
    query = ClippedGradientSum(problem_of(loss, n_margins, capacity=200), w, 50.0)
    answer = LocalEngine(table_of(X, y)).answer(query) * 2.0 ** -(Problem.FEATURE_BITS + query.bits)
    rows = X * np.minimum(1.0, 2.0 / np.maximum(np.linalg.norm(X, axis=1), 1e-9))[:, None]
    margins = rows @ query.w.T
    if k == 2:
        slopes = np.where(y > 0, weights[1], weights[0]) * -y / (1 + np.exp(y * margins))
        expected = slopes @ rows
    else:
        p = np.exp(margins) / np.exp(margins).sum(axis=1, keepdims=True)
        p[np.arange(len(y)), y.astype(int)] -= 1
        expected = (np.array(weights)[y.astype(int)][:, None] * p).T @ rows
    np.testing.assert_allclose(answer, expected, atol=1e-3)


def moved(query, X, y):
    """Return the most that one row more moves the answer in l2, over what is stated."""
    steps = 2.0 ** -(Problem.FEATURE_BITS + query.bits)
    parts = [query.answer_block(table_of(X[i : i + 1], y[i : i + 1]).blocks[0]) for i in range(40)]
    sizes = [np.linalg.norm(part.astype(float).ravel() * steps) for part in parts]
    return max(sizes) / query.sensitivity(ADD).bound


@pytest.mark.parametrize(("loss", "weights"), [(Logistic(), (0.5, 30.0)), (Softmax(), FIVE)])
@pytest.mark.parametrize("clip", [0.05, 0.9])
def test_a_weighted_row_contributes_the_clip_at_most(loss, weights, clip):
    k = len(weights)
    X, y = rows_of(k, 40)
    shape = (k, 4) if k > 2 else 4
    problem = problem_of(ClassWeighted(loss, weights), k if k > 2 else 1)
    query = ClippedGradientSum(problem, np.zeros(shape), clip)
    assert 0.99 < moved(query, X, y) <= 1.0


@pytest.mark.parametrize(("loss", "weights"), [(Logistic(), (0.5, 30.0)), (Softmax(), FIVE)])
def test_a_weight_after_the_clip_is_found(loss, weights, monkeypatch):
    k, clip = len(weights), 0.05
    X, y = rows_of(k, 40)
    labels = iter(y)

    def then_weighted(c, factor, norms, clip, scale, norm):
        if c.ndim == 1:
            clip_coefficients(c, factor, norms, clip, scale)
        else:
            clip_class_coefficients(c, factor, norms, clip, scale, False, np.zeros(c.shape[1]))
        place = next(labels)
        c *= weights[int(place > 0) if k == 2 else int(place)]

    monkeypatch.setattr("dpcore.queries.gradient.clip_rows", then_weighted)
    shape = (k, 4) if k > 2 else 4
    query = ClippedGradientSum(problem_of(loss, k if k > 2 else 1), np.zeros(shape), clip)
    assert moved(query, X, y) > 2


@pytest.mark.parametrize(("loss", "weights"), [(Logistic(), TWO), (Softmax(), FIVE)])
def test_every_layout_releases_the_same_bits(loss, weights):
    k = len(weights)
    rows, _ = coded(300)
    _, y = rows_of(k, 300)
    width = rows.shape[1]
    problem = problem_of(ClassWeighted(loss, weights), k if k > 2 else 1, width)
    w = np.random.default_rng(3).normal(size=(k, width) if k > 2 else width)
    query = ClippedGradientSum(problem, w, 0.5, noise_multiplier=1.0)
    released = []
    for X in (rows.toarray(), rows.tocsr(), rows):
        filter = GdpAccountant.from_budget(1.0, 1e-6)
        session = TableSession(LocalEngine(table_of(X, y)), filter, ADD, SeededNoise(1))
        released.append(session.release(query, Gaussian(20.0)).tobytes())
    assert len({*released}) == 1


def test_errors_grow_with_the_weight():
    plain, heavy = Logistic(), ClassWeighted(Logistic(), (1.0, 64.0))
    for precise in (False, True):
        assert loss_error(heavy, precise) >= 64 * loss_error(plain, precise)
        problems = [problem_of(loss, n=100, relation=REPLACE) for loss in (plain, heavy)]
        few, many = (gradient_error(problem, 100, 9.0, precise) for problem in problems)
        assert many > 10 * few
    assert loss_error(ClassWeighted(Logistic(), (0.1, 1.0))) > loss_error(plain)


def test_precise_slopes_are_weighted_too():
    X, y = rows_of(2)
    problem, w = problem_of(ClassWeighted(Logistic(), TWO)), np.array([0.3, -1.0, 0.5, 0.0])
    table = LocalEngine(table_of(X, y))
    fine, usual = (table.answer(GradientSum(problem, w, 24, precise=p)) for p in (True, False))
    np.testing.assert_allclose(fine * 2.0**-24, usual * 2.0**-24, atol=1e-5)


@pytest.mark.parametrize(
    ("loss", "weights", "told"),
    [
        (Squared(), TWO, "need a loss of classes"),
        (Logistic(), FIVE, "a weight for each of the classes"),
        (Logistic(), (1.0,), "a weight for each of the classes"),
        (Logistic(), (1.0, 0.0), "from 2\\^-20"),
        (Logistic(), (1.0, float("nan")), "from 2\\^-20"),
        (Logistic(), (1.0, float("inf")), "from 2\\^-20"),
        (Softmax(), (1.0, -1.0, 1.0), "from 2\\^-20"),
    ],
)
def test_what_is_no_weighted_loss_is_refused(loss, weights, told):
    with pytest.raises(InvalidInputError, match=told):
        ClassWeighted(loss, weights)


def test_a_loss_for_one_thread_at_a_time_is_refused():
    alone = dataclasses.make_dataclass("Alone", [], bases=(Logistic,), frozen=True)()
    with pytest.raises(InvalidInputError, match="thread_safe"):
        ClassWeighted(alone, TWO)


def test_a_problem_takes_the_classes_of_the_loss_within():
    assert problem_of(ClassWeighted(Softmax(), FIVE), 5).w_shape == (5, 4)
    with pytest.raises(InvalidInputError, match="n_margins"):
        problem_of(ClassWeighted(Softmax(), FIVE), 1)
    problem = problem_of(ClassWeighted(Logistic(), TWO))
    assert replace(problem, l2=0.5).loss == ClassWeighted(Logistic(), TWO)


def test_weights_within_weights_are_multiplied_in_every_fact():
    both = LossFacts.of(ClassWeighted(ClassWeighted(Logistic(), (1.0, 1000.0)), (1.0, 20.0)))
    assert both.lipschitz >= 20_000.0 and both.largest_weight >= 20_000.0


def test_a_weighted_loss_never_passes_for_an_unweighted_one():
    for largest in (1.0, 1.0 - 2.0**-53, 1.0 + 2.0**-52):
        assert LossFacts.of(ClassWeighted(Logistic(), (0.5, largest))).largest_weight != 1.0

"""Sums of c x x': exact, and no row moves them by more than the clip, whatever its number is."""

from fractions import Fraction

import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation, Problem
from dpcore.plugin.parts import (
    LocalEngine,
    RowFunction,
    Table,
    load_registry,
)
from dpcore_accuracy_first.queries.gram import symmetric
from dpcore_accuracy_first.queries.weighted_gram import WeightedGram
from dpcore_lab.checks import check_query

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE


def of_margin(z, y, parameters):
    return parameters[0] * z * y


def not_finite(z, y, parameters):
    return 1.0 / (z - z) if y > 0.0 else 0.0 / (z - z)


def a_hundred_times_its_class(z, y, parameters):
    return 1e300 if y > 0.0 else -1e-3


def of_the_next_row(z, y, parameters):
    return parameters[len(parameters)]


def twice_for_long_rows(z, y, parameters):
    return 2.0 if abs(z) > 1.0 else 1.0


LEAKING = [not_finite, a_hundred_times_its_class, of_the_next_row, twice_for_long_rows]


def rows(n=400, d=5, longest=3.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-6, 1, (n, 1))
    X[: d + 1] = np.vstack([3.0 * np.eye(d), np.zeros(d)])  # one feature, and none
    X *= np.minimum(1.0, longest / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300))
    return X, np.where(rng.random(n) < 0.5, 1.0, -1.0)


def loss(name):
    return load_registry().load("loss", name)()


def problem_of(d=5, relation=ADD, **public):
    return Problem(loss("logistic"), 0.0, d, 2.0, 3.0, relation, **public)


def table_of(X, y):
    return Table.from_matrix(X, y, raw_norm_bound=3.0, row_norm=2.0)


def exact_norm(part, norm):
    """Return the norm of what a row adds, in steps: exact, in l2 its square."""
    sizes = [abs(int(v)) for v in part]
    return {"l1": sum(sizes), "l2": sum(s * s for s in sizes), "linf": max(sizes)}[norm]


@pytest.mark.slow
@pytest.mark.some_fast
@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
@pytest.mark.parametrize("function", [of_margin, *LEAKING], ids=lambda f: f.__name__)
@pytest.mark.parametrize("capacity", [2**10, 2**27])
def test_a_row_adds_the_clip_at_most(function, norm, capacity):
    X, y = rows(60)
    problem, clip = problem_of(capacity=capacity), 0.7
    w = np.linspace(-1.0, 1.0, 5)
    query = WeightedGram(problem, w, RowFunction.weight(function), clip, (1e6,), norm)
    limit = Fraction(clip) * 2 ** query.sensitivity(ADD).grid_bits
    parts = [
        query.answer_block(table_of(X[i : i + 1], y[i : i + 1]).blocks[0]) for i in range(len(y))
    ]
    largest = max(exact_norm(part, norm) for part in parts)
    assert largest <= (limit**2 if norm == "l2" else limit)
    if function is a_hundred_times_its_class:  # A row of one feature takes the whole clip.
        assert largest >= (limit**2 if norm == "l2" else limit) * Fraction(999, 1000)
    whole = LocalEngine(table_of(X, y)).answer(query)
    np.testing.assert_array_equal(whole, sum(parts))


def test_a_clip_by_the_norm_and_not_its_square_is_the_positive_control(monkeypatch):
    monkeypatch.setattr(
        WeightedGram,
        "_clipped",
        lambda self, block: self.clip / np.maximum(block.row_norms("l2") * block.factor, 1e-9),
    )
    X, y = rows(60)
    query = WeightedGram(problem_of(), np.zeros(5), RowFunction.weight(of_margin), 0.7, (1.0,))
    [block] = table_of(X, y).blocks
    steps = [query.answer_block(block.take(np.array([i]))) for i in range(60)]
    limit = Fraction(0.7) * 2 ** query.sensitivity(ADD).grid_bits
    assert max(exact_norm(part, "l2") for part in steps) > limit**2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "norm"), [(of_margin, "l2"), (twice_for_long_rows, "l1"), (not_finite, "linf")]
)
def test_no_row_moves_the_sum_by_more(function, norm):
    def make(problem):
        w = np.full(problem.w_shape, 0.25)
        return WeightedGram(problem, w, RowFunction.weight(function), 0.5, (1e6,), norm)

    check_query(make)


def test_the_sum_is_that_of_the_formula():
    X, y = rows(3000)
    [block] = table_of(X, y).blocks
    query = WeightedGram(problem_of(), np.ones(5), RowFunction.weight(of_margin), 1.5, (0.5,))
    x = block.rows()
    z = block.margins(query.w)
    limit = 1.5 / np.maximum((x**2).sum(axis=1), 1e-300)
    c = np.clip(0.5 * z * y, -limit, limit)
    found = query.answer_block(block) * 2.0 ** -query.sensitivity(ADD).grid_bits
    np.testing.assert_allclose(symmetric(found, 5), (x.T * c) @ x, atol=3000 * 2.0**-14)
    assert query.sensitivity(REPLACE).bound == 3.0


def test_weights_multiply_before_the_clip():
    X, y = rows(40)
    X *= 0.1
    weights = np.linspace(0.0, 2.0, 40)
    problem = problem_of(capacity=2**10)
    query = WeightedGram(problem, np.zeros(5), RowFunction.weight(twice_for_long_rows), 100.0)
    weighted = Table.from_matrix(X, y, raw_norm_bound=3.0, row_norm=2.0, weights=weights)
    [block] = weighted.blocks
    x = block.rows()
    found = query.answer_block(block) * 2.0 ** -query.sensitivity(ADD).grid_bits
    np.testing.assert_allclose(symmetric(found, 5), (x.T * weights) @ x, atol=40 * 2.0**-14)


def test_what_does_not_fit_is_refused():
    one = problem_of()
    with pytest.raises(InvalidInputError, match=r"Expected weight\(function\), not RowFunction"):
        WeightedGram(one, np.zeros(5), RowFunction.coefficient(of_margin), 1.0)
    with pytest.raises(InvalidInputError, match="as many parameters"):
        WeightedGram(one, np.zeros(5), RowFunction.weight(of_margin), 1.0)
    several = Problem(loss("softmax"), 0.0, 2, 1.0, 1.0, ADD, n_margins=3)
    with pytest.raises(InvalidInputError, match="one margin"):
        WeightedGram(several, np.zeros((3, 2)), RowFunction.weight(of_margin), 1.0, (1.0,))

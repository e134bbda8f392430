"""The clip, exactly: |c|^2 sum x^2 <= clip^2 in rational numbers, whatever the row."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.errors import InvalidInputError
from dpcore.losses.squared import Squared
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import Logistic
from dpcore.queries import ClippedGradientSum, RowCount
from dpcore.queries.clipping import clip_coefficients, clipped_total
from dpcore_lab.checks import check_query, make_rows
from dpcore_lab.made_tables.tables import make_problem

RELATIONS = (NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE)


def clipped(c, norm, clip, bits=20, factor=1.0):
    c = np.array([float(c)])
    clip_coefficients(c, np.array([float(factor)]), np.array([float(norm)]), clip, 2.0**bits)
    return float(c[0])


@settings(max_examples=300, deadline=None)
@given(
    st.floats(-1e6, 1e6),
    st.integers(1, 2**40),
    st.floats(2.0**-10, 2.0**10),
    st.integers(0, 30),
    st.floats(0.01, 1.0),
)
def test_a_row_never_contributes_more_than_the_clip(c, steps, clip, bits, factor):
    norm = steps * 2.0**-16
    got = Fraction(clipped(c, norm, clip, bits, factor))
    assert abs(got) * Fraction(norm) <= Fraction(clip)
    assert (got * 2**bits).denominator == 1


def test_rounding_to_nearest_is_the_positive_control():
    # clip / norm rounded to nearest, as plain code has it: some contributions exceed the clip.
    rng = np.random.default_rng(0)
    norms = rng.integers(1, 2**20, size=2000) * 2.0**-16
    exceeded = [Fraction(1.0 / n) * Fraction(n) > 1 for n in norms.tolist()]
    assert any(exceeded)
    # On a grid of 2^-60 nothing is truncated that would hide it.
    for n in norms.tolist():
        assert all(Fraction(clipped(1e9, n, 1.0, bits)) * Fraction(n) <= 1 for bits in (36, 60))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_contributes_nothing(value):
    assert clipped(value, 1.0, 1.0) == 0.0


def test_a_row_of_zeros_contributes_nothing():
    assert clipped(3.0, 0.0, 1.0) == 0.0


def test_small_coefficients_are_kept():
    assert clipped(0.25, 1.0, 1.0) == 0.25
    assert clipped(-0.25, 1.0, 1.0) == -0.25


def test_losses_that_are_not_finite_fall_into_the_clip():
    values = np.array([np.nan, np.inf, -1.0, 0.5, 7.0])
    assert clipped_total(values, 2.0, 4.0) == 8 + 8 + 0 + 2 + 8


class NanLoss(Logistic):
    """A loss gone wrong on one kind of row."""

    def dvalue(self, z, y, out):
        super().dvalue(z, y, out)
        out[y > 0] = np.nan


def test_a_row_with_a_nan_gradient_is_as_good_as_removed():
    rows = make_rows(50)
    problem = make_problem(rows, RELATIONS[0], NanLoss())
    query = ClippedGradientSum(problem, np.ones(5), 1.0)
    kept = rows.y < 0
    without = type(rows)(rows.X[kept], rows.y[kept])
    answers = [sum(query.answer_block(b) for b in r.table().blocks) for r in (rows, without)]
    assert np.array_equal(*answers)


# Each norm with either loss; what a loss is to a number of rows, and a clip to its slopes, once.
@pytest.mark.some_fast
@pytest.mark.parametrize(
    ("make_query", "loss"),
    [
        (lambda p: ClippedGradientSum(p, np.linspace(-2, 2, 5), 0.3), Logistic()),
        (lambda p: ClippedGradientSum(p, np.linspace(-200, 200, 5), 1.7), Squared()),
        (lambda p: ClippedGradientSum(p, np.linspace(-2, 2, 5), 0.3, norm="l1"), Logistic()),
        (lambda p: ClippedGradientSum(p, np.linspace(-2, 2, 5), 0.3, norm="l1"), Squared()),
        (lambda p: ClippedGradientSum(p, np.linspace(-2, 2, 5), 0.3, norm="linf"), Logistic()),
        (lambda p: ClippedGradientSum(p, np.linspace(-2, 2, 5), 0.3, norm="linf"), Squared()),
        (lambda p: RowCount(), Logistic()),
        (lambda p: RowCount("linf"), Squared()),
    ],
)
def test_declared_sensitivity_holds_and_answers_are_sums(make_query, loss):
    check_query(make_query, loss)


class HalfDeclared(ClippedGradientSum):
    """Broken on purpose: the replace-one bound of an add-or-remove analysis."""

    def sensitivity(self, relation):
        return super().sensitivity(NeighboringRelation.ADD_OR_REMOVE_ONE)


class Unclipped(ClippedGradientSum):
    """Broken on purpose: the clipped copy is computed and the raw data used."""

    def answer_block(self, block):
        c = np.empty(block.n_rows)
        self.loss.dvalue(block.margins(self.w), block.y, c)
        return np.ldexp(block.weighted_sum(np.trunc(c * 2**20) / 2**20), 16 + self.bits).astype(
            np.int64
        )


class Mean(ClippedGradientSum):
    """Broken on purpose: divided by the number of rows at hand."""

    def answer_block(self, block):
        return super().answer_block(block) // block.n_rows


@pytest.mark.parametrize(
    ("make_query", "reason"),
    [
        (lambda p: HalfDeclared(p, np.zeros(5), 0.2), "declared l2"),
        (lambda p: Unclipped(p, np.zeros(5), 0.1), "declared l2"),
        (lambda p: Mean(p, np.zeros(5), 0.5), "sum of the rows"),
    ],
)
def test_a_broken_query_is_caught(make_query, reason):
    with pytest.raises(AssertionError, match=reason):
        check_query(make_query)


@pytest.mark.parametrize("relation", RELATIONS)
def test_both_relations_state_their_own_constants(relation):
    problem = make_problem(make_rows(10), relation, Logistic())
    rows = relation.rows_changed
    gradient = ClippedGradientSum(problem, np.zeros(5), 0.75).sensitivity(relation)
    assert (gradient.norm, gradient.bound) == ("l2", 0.75 * rows)


def test_squared_loss_on_adversarial_rows_stays_within_the_clip():
    # An unbounded slope: only the clip bounds it.
    rows = make_rows(20)
    problem = make_problem(rows, RELATIONS[0], Squared())
    query = ClippedGradientSum(problem, np.full(5, 1000.0), 0.5)
    for i in range(20):
        alone = type(rows)(rows.X[i : i + 1], rows.y[i : i + 1] * 1e6)
        answer = query.answer_block(alone.table().blocks[0]).tolist()
        assert sum(a * a for a in answer) <= (0.5 * 2 ** (16 + query.bits)) ** 2


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"clip": np.nan}, "clip"),
        ({"clip": -1.0}, "clip"),
        ({"w": np.full(5, np.nan)}, "parameters w"),
        ({"norm": "l3"}, "norm"),
    ],
)
def test_gradient_queries_that_make_no_sense_are_refused(arguments, reason):
    problem = make_problem(make_rows(5), RELATIONS[0], Logistic())
    with pytest.raises(InvalidInputError, match=reason):
        ClippedGradientSum(**{"problem": problem, "w": np.zeros(5), "clip": 1.0, **arguments})

"""Scores are exact, the same from step to step as anew, and move by what is stated and no more."""

import naive_vertices as naive
import numpy as np
import pytest
from scipy.sparse import csr_matrix

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation, Problem
from dpcore.plugin.parts import SeededNoise, Sensitivity, Table, load_registry
from dpcore_frank_wolfe.vertex_scores import VertexScores, sparse_point

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
PICKS = np.array([2, 9, 2, 6, 0, 2, 11, 5])
D = 6
LOGISTIC = load_registry().load("loss", "logistic")()


def rows_of(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.2, 1.2, (n, D)) * (rng.random((n, D)) < 0.4)
    return np.trunc(X * 2**16) / 2**16, rng.choice([-1.0, 1.0], n)


def table_of(X, y, row_norm=1.0, **more):
    return Table.from_matrix(X, y, row_norm=row_norm, raw_norm_bound=4.0, **more)


def problem_of(relation=ADD, row_norm=1.0, **more):
    return Problem(LOGISTIC, more.pop("l2", 0.0), D, row_norm, 4.0, relation, **more)


def asked(table, picks, radius=3.0, clip=0.75, **more):
    query = VertexScores(problem_of(**more), radius, clip, np.asarray(picks, np.int64))
    return query.answer_table(table, SeededNoise(0))


@pytest.mark.parametrize("clip", [0.75, 0.1])
@pytest.mark.parametrize("layout", [np.asarray, csr_matrix])
def test_scores_are_those_of_the_formula(layout, clip):
    X, y = rows_of()
    table = table_of(layout(X), y)
    factors = np.concatenate([block.factor for block in table.blocks])
    assert (factors < 1).any() and (factors == 1).any()
    for t in (0, 1, 5, len(PICKS)):
        query = VertexScores(problem_of(), 3.0, clip, PICKS[:t])
        expected = naive.scores(X, y, factors, LOGISTIC, 3.0, clip, query.bits, PICKS[:t])
        assert query.answer_table(table, SeededNoise(0)).tolist() == expected


def test_a_step_has_the_bits_of_scores_worked_out_anew():
    X, y = rows_of(300)
    table = table_of(csr_matrix(X), y)
    # Ahead, again, back, elsewhere, and with other values: whatever the state was left by.
    order = [PICKS[:k] for k in (0, 1, 2, 6, 6, 3)] + [PICKS[::-1], PICKS]
    for picks in order:
        assert np.array_equal(asked(table, picks), asked(table_of(csr_matrix(X), y), picks))
    other = asked(table, PICKS, radius=7.0, clip=0.5)
    assert np.array_equal(other, asked(table_of(X, y), PICKS, radius=7.0, clip=0.5))


def test_the_order_of_rows_and_their_blocks_change_nothing():
    X, y = rows_of(9000)
    first = asked(table_of(csr_matrix(X), y), PICKS)
    assert len(table_of(X, y).blocks) == 2
    assert np.array_equal(first, asked(table_of(X[::-1].copy(), y[::-1].copy()), PICKS))


def test_a_table_without_rows_has_scores_of_zero():
    assert not asked(table_of(np.empty((0, D)), np.empty(0)), PICKS).any()
    assert not asked(Table([], n_features=D, raw_norm_bound=4.0, row_norm=1.0), PICKS).any()


def test_the_point_is_what_steps_of_the_papers_sizes_come_to():
    columns, values = sparse_point(PICKS, D, 3.0)
    w = np.zeros(D)
    w[columns] = values
    np.testing.assert_allclose(w, naive.descent(PICKS, D, 3.0), atol=1e-14)
    assert np.abs(w).sum() <= 3.0 * (1 + 1e-12)


def test_the_regulariser_is_a_public_part_of_the_score():
    X, y = rows_of()
    plain, with_l2 = (
        asked(table_of(X, y), PICKS, relation=REPLACE, n=40, l2=l2) for l2 in (0.0, 0.25)
    )
    bits = VertexScores(problem_of(), 3.0, 0.75, PICKS).bits
    part = np.rint(40 * 0.25 * naive.descent(PICKS, D, 3.0) * 2.0 ** (16 + bits))
    assert np.abs(with_l2 - plain - np.append(-part, part)).max() <= 1


def extremes():
    """Return rows of l-infinity norm 1 whose entry in column 0 gives a margin and whose entry in
    column 1 has either sign, with either label, and a row on an axis."""
    rows = [np.eye(D)[0] + sign * np.eye(D)[1] for sign in (1, -1)] + [-np.eye(D)[2]]
    return [(x, label) for x in rows for label in (1.0, -1.0)]


def largest_range(relation, picks):
    """Return the largest range, and size, of the change of scores over neighbours, in the scores'
    own unit."""
    X, y = rows_of(5)

    def scores(others):
        rows = np.vstack([X, *(x for x, _ in others)])
        labels = np.append(y, [label for _, label in others])
        return asked(table_of(rows, labels, 2.0), picks, 8.0, row_norm=2.0)

    found = [scores([row]) for row in extremes()]
    others = [scores([])] if relation is ADD else found
    changes = [a - b for a in found for b in others]
    bits = 16 + VertexScores(problem_of(), 8.0, 0.75, picks).bits
    ranges = [np.ldexp(float(change.max() - change.min()), -bits) for change in changes]
    return max(ranges), np.ldexp(float(max(np.abs(change).max() for change in changes)), -bits)


class OneSign(VertexScores):
    """The range of scores that all move the same way: D for 2 D."""

    def sensitivity(self, relation):
        bound = self.clip * relation.rows_changed
        return Sensitivity("linf", bound, relation, 16 + self.bits, change_range=bound)


class OneRow(VertexScores):
    """Replace-one as if a row were added: 2 D for 4 D."""

    def sensitivity(self, relation):
        clip = self.clip
        return Sensitivity("linf", clip, relation, 16 + self.bits, change_range=2 * clip)


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("picks", [PICKS[:0], np.array([0]), np.array([0, 0, 7, 0])])
def test_scores_move_by_what_is_stated_and_reach_it(relation, picks):
    moved, size = largest_range(relation, picks)
    stated = VertexScores(problem_of(relation), 8.0, 0.75, picks).sensitivity(relation)
    assert moved <= stated.change_range and size <= stated.bound
    if picks.size:  # at 0 a slope is 1/2, below the clip
        assert moved >= 0.99 * stated.change_range and size >= 0.99 * stated.bound
    assert stated.change_range == 2 * 0.75 * relation.rows_changed


@pytest.mark.parametrize(("twin", "relations"), [(OneSign, [ADD, REPLACE]), (OneRow, [REPLACE])])
def test_a_range_that_forgets_a_sign_or_a_row_is_found(twin, relations):
    for relation in relations:
        moved, _ = largest_range(relation, np.array([0]))
        stated = twin(problem_of(relation), 8.0, 0.75, np.array([0])).sensitivity(relation)
        assert moved > 1.9 * stated.change_range


@pytest.mark.parametrize(
    ("field", "value", "match"),
    [
        ("radius", np.inf, "radius=inf"),
        ("clip", 2.0**13, "clip=8192"),
        ("picks", np.array([2 * D]), "places from 0 to 12"),
        ("picks", np.zeros((1, 1), np.int64), "places"),
    ],
)
def test_values_out_of_range_are_refused(field, value, match):
    fields = {"radius": 3.0, "clip": 0.75, "picks": PICKS, field: value}
    with pytest.raises(InvalidInputError, match=match):
        VertexScores(problem_of(), **fields)


def test_kernels_are_loaded_by_a_block_of_no_rows():
    query = VertexScores(problem_of(), 3.0, 0.75, PICKS)
    (load,) = query.dry_run_queries()
    none = table_of(*rows_of()).without_rows().blocks[0]
    seen, honest = [], VertexScores.scores

    def scores(self, state):
        seen.append(honest(self, state).size)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(VertexScores, "scores", scores)
        load(none)
    assert seen == [2 * D]

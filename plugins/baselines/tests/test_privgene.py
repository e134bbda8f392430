"""PrivGene: what it selects among, what its scores range over, and what it is charged."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

from dpcore.accountants import ZcdpAccountant
from dpcore.errors import InvalidInputError
from dpcore.losses.squared import Squared
from dpcore.plugin import NeighboringRelation, ordered_dot
from dpcore.plugin.parts import Logistic, PureAccountant, SeededNoise
from dpcore_baselines.genes import crossed, mutations
from dpcore_baselines.losses.hinge import HingeSvm
from dpcore_baselines.privgene import PrivGene
from dpcore_baselines.queries.kernels import widest_square
from dpcore_baselines.scores import ClippedLossScores
from dpcore_lab.checks import RecordingSession, check_query, make_rows, parametrize_with_checks
from dpcore_lab.made_tables.tables import Rows, make_problem

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
RELATIONS = [ADD, REPLACE]
PAPER = {k: v for k, v in PrivGene.presets["paper"].items() if hasattr(PrivGene(), k)}
PAPER.pop("accountant")


def run(optimizer, accountant, relation=ADD, l2=0.01, n0=400, seed=3):
    rows = make_rows(300)
    problem = make_problem(rows, relation, Logistic(), l2=l2, n0=n0)
    session = RecordingSession(rows.table(), accountant, relation, SeededNoise(seed))
    return session, optimizer.minimize(problem, session)


def close_candidates(length=0.25):
    """Return points along two axes, ``2 length`` apart at most."""
    return 1.5 + length * np.array([[1, 0, 0, 0, 0], [-1, 0, 0, 0, 0], [0, 1, 0, 0, 0]], float)


def test_every_generation_of_privgene_is_one_charged_selection():
    opened = ZcdpAccountant.from_budget(1.0, 1e-6)
    session, solution = run(PrivGene(generations=7), opened)
    assert session.releases == {"selection": 7} and solution.details["generations"] == 7
    assert 0.99 < session.accountant.spent / session.accountant.budget <= 1
    assert len({entry.event for entry in session.ledger}) == 1


@pytest.mark.parametrize("relation", RELATIONS)
def test_scores_of_privgene_range_over_the_clip(relation):
    rows = make_rows(60)
    problem = make_problem(rows, relation, Logistic(), l2=0.1)
    candidates = np.random.default_rng(1).normal(size=(4, 5)) * 30
    query = ClippedLossScores(problem, candidates, 2.0)
    known = query.sensitivity(relation)
    assert (known.bound, known.change_range) == (2.0, 2.0 * relation.rows_changed)
    with pytest.raises(InvalidInputError):
        ClippedLossScores(problem, candidates, math.inf)


@pytest.mark.slow
def test_scores_keep_their_range_on_neighbours():
    candidates = np.random.default_rng(1).normal(size=(4, 5)) * 30
    check_query(lambda problem: ClippedLossScores(problem, candidates, 2.0))


def test_an_unclipped_score_is_caught():
    class Unclipped(ClippedLossScores):
        def answer_block(self, block):
            values, scores = np.empty(block.n_rows), np.zeros(self._start.size, dtype=np.int64)
            for k, w in enumerate(self.candidates):
                self.loss.value(np.ascontiguousarray(block.margins(w)), block.y, values)
                scores[k] = -np.ldexp(values, 20).astype(np.int64).sum()
            return scores

    candidates = np.random.default_rng(1).normal(size=(4, 5)) * 30
    with pytest.raises(AssertionError):
        check_query(lambda problem: Unclipped(problem, candidates, 2.0))


@pytest.mark.parametrize("loss_clip", [2.0**-10, 2.0, 1000.0, 2.0**20])
def test_scores_of_any_clip_do_not_wrap(loss_clip):
    # A selection sees what a noisy sum does not: one row that makes a score wrap moves it by 2^64.
    rows = Rows(np.ones((100, 1)), -np.ones(100))
    problem = make_problem(rows, ADD, Logistic())
    query = ClippedLossScores(problem, np.array([[2.0**22]]), loss_clip)
    (block,) = rows.table().blocks
    score = int(query.answer_block(block)[0])
    assert score == -100 * int(loss_clip * 2.0 ** query.sensitivity(ADD).grid_bits)
    # As many rows as a schema may say there are at most, and the largest public part, 2^61.
    assert 2**61 - score * 2**32 // 100 < 2**63


@pytest.mark.slow
@parametrize_with_checks([PrivGene(**PAPER | {"candidates": 6, "survivors": 2, "generations": 3})])
def test_the_papers_form_is_admitted(optimizer, check, monkeypatch):
    # The mechanism is audited by the tests of check_mechanism.
    monkeypatch.setattr("dpcore_lab.checks.parts.check_mechanism", lambda *arguments: None)
    if check.__name__ != "check_huge_epsilon_limit":  # Three generations do not come that far.
        check(optimizer)


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_enhanced_range_follows_the_distance_of_the_candidates(relation):
    problem = make_problem(make_rows(9), relation, Logistic())
    for length in (2.0**-6, 0.25):
        query = ClippedLossScores(problem, close_candidates(length), 2.0, enhanced=True)
        found = query.sensitivity(relation).change_range / relation.rows_changed
        known = problem.row_norm * 2 * length
        assert known < found <= known * (1 + 1e-9) + 2.0**-19
        plain = dataclasses.replace(query, enhanced=False).sensitivity(relation)
        assert plain.change_range == 2.0 * relation.rows_changed
    # Never above the clip, and the clip where the loss's slope has no bound.
    far = ClippedLossScores(problem, close_candidates(50.0), 2.0, enhanced=True)
    assert far.sensitivity(relation).change_range == 2.0 * relation.rows_changed
    steep = make_problem(make_rows(9), relation, Squared())
    query = ClippedLossScores(steep, close_candidates(), 2.0, enhanced=True)
    assert query.sensitivity(relation).change_range == 2.0 * relation.rows_changed


class HalfRange(ClippedLossScores):
    """Broken on purpose: the scores are declared to move half as far from each other."""

    def sensitivity(self, relation):
        whole = super().sensitivity(relation)
        return dataclasses.replace(whole, change_range=whole.change_range / 2)


@pytest.mark.slow
@pytest.mark.parametrize("loss", [Logistic(), HingeSvm()])
def test_the_enhanced_range_holds_on_neighbours(loss):
    check_query(lambda p: ClippedLossScores(p, close_candidates(), 4.0, enhanced=True), loss)


def test_half_the_enhanced_range_is_caught():
    with pytest.raises(AssertionError, match="declared range"):
        check_query(lambda p: HalfRange(p, close_candidates(), 4.0, enhanced=True), HingeSvm())


def test_log_odds_of_an_exponential_selection_move_by_the_range_and_no_less():
    # The theorem behind the enhanced mechanism, on the exact distribution.
    rng = np.random.default_rng(7)
    closest = 0.0
    for _ in range(300):
        u, c = rng.normal(size=5) * 8, rng.normal(size=5)
        distribution, moved = np.exp(u - u.max()), np.exp(u + c - (u + c).max())
        apart = np.abs(
            np.log(distribution / distribution.sum()) - np.log(moved / moved.sum())
        ).max()
        assert apart <= np.ptp(c) * (1 + 1e-12)
        closest = max(closest, apart / np.ptp(c))
    assert closest > 0.9


def test_offspring_are_pairs_of_parents_that_swapped_their_ends():
    parents = np.arange(4.0)[:, None] + np.linspace(0.1, 0.7, 7)
    born = crossed(parents, 40, np.random.default_rng(1))
    assert born.shape == (40, 7)
    for first, second in born.reshape(20, 2, 7):
        of_first, of_second = np.floor(first), np.floor(second)
        assert len({of_first[0], of_first[-1]}) == 2  # two parents, both in each
        assert np.count_nonzero(np.diff(of_first)) == 1
        assert (of_first + of_second == of_first[0] + of_first[-1]).all()
    assert np.array_equal(crossed(parents[:1], 3, np.random.default_rng(1)), parents[[0, 0, 0]])
    assert crossed(parents, 5, np.random.default_rng(1)).shape == (5, 7)
    assert crossed(np.array([[1.0], [2.0]]), 4, np.random.default_rng(1)).shape == (4, 1)


@pytest.mark.parametrize(("genes", "moved"), [(1, 1), (3, 3), (None, 6), (9, 6)])
def test_mutations_move_so_many_genes_by_their_length(genes, moved):
    moves = mutations((50, 6), genes, 0.5, np.random.default_rng(2))
    assert (np.count_nonzero(moves, axis=1) == moved).all()
    np.testing.assert_allclose(np.linalg.norm(moves, axis=1), 0.5, rtol=1e-12)
    assert (moves != 0).any(axis=0).all() and (moves < 0).any() and (moves > 0).any()


def test_the_papers_shares_are_equal_between_and_within_generations():
    optimizer = PrivGene(**{**PAPER, "candidates": 20, "survivors": 4})
    session, solution = run(optimizer, PureAccountant.from_budget(1.0, 0.0))
    assert solution.details["generations"] == 8 and session.releases == {"selection": 7 * 4 + 1}
    costs = [float(entry.cost) for entry in session.ledger]
    assert costs[:-1] == pytest.approx([1 / 32] * 28, rel=1e-6)
    assert costs[-1] == pytest.approx(1 / 8, rel=1e-6)


def test_nobody_survives_twice_in_a_generation():
    session, _ = run(
        PrivGene(generations=2, candidates=6, survivors=5, keep=False),
        PureAccountant.from_budget(1.0, 0.0),
    )
    sizes = [len(query.candidates) for query, _ in session.parts]
    assert sizes == [6, 5, 4, 3, 2, 6]


@pytest.mark.parametrize("keep", [True, False])
def test_a_survivor_that_is_kept_is_a_candidate_again(keep):
    opened = ZcdpAccountant.from_budget(1.0, 1e-6)
    session, _ = run(PrivGene(generations=3, candidates=5, keep=keep), opened)
    populations = [query.candidates for query, _ in session.parts]
    assert populations[0][0].any() != keep  # the first are born of 0
    for before, after in itertools.pairwise(populations):
        assert (before == after[0]).all(axis=1).any() == keep


def test_lengths_of_mutations_fall_as_they_are_told():
    opened = ZcdpAccountant.from_budget(1.0, 1e-6)
    optimizer = PrivGene(generations=4, candidates=5, step=0.5, resize=0.5)
    session, _ = run(optimizer, opened)
    for k, (query, _) in enumerate(session.parts):
        moves = np.linalg.norm(query.candidates - query.candidates[0], axis=1)
        np.testing.assert_allclose(moves[1:], 0.5 * 0.5**k, atol=2.0**-9)


def test_as_many_survivors_as_candidates_are_refused():
    with pytest.raises(InvalidInputError, match="survivors=5 below candidates=5"):
        PrivGene(candidates=5, survivors=5)


def test_memory_is_of_all_candidates():
    problem = make_problem(make_rows(10), ADD, Logistic(), l2=0.0)
    few, many = (PrivGene(candidates=n).memory(problem) for n in (50, 100))
    assert many == 2 * few == 100 * problem.n_features * 128


@pytest.mark.parametrize(("count", "width"), [(1, 3), (2, 1), (40, 109), (200, 7)])
def test_the_kernel_of_distances_has_the_bits_of_numpy(count, width):
    points = np.random.default_rng(count).normal(size=(count, width))
    columns = np.ascontiguousarray(points.T)
    found = widest_square(columns, np.empty(count))
    every = points[:, np.newaxis] - points
    assert found == ordered_dot(every, every).max()
    # Its broken twin: the distance from the first point alone.
    nearer = ordered_dot(points - points[0], points - points[0]).max()
    assert nearer <= found and (nearer == found) == (count < 3)

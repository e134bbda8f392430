"""Counts of log odds by class: what a row moves them by, and the line that follows from them."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

from dpcore.plugin import NeighboringRelation, Settings
from dpcore.plugin.parts import LocalEngine
from dpcore_baselines.calibration import counts_line as module
from dpcore_baselines.calibration.counts_line import CountsLine, counts_line
from dpcore_baselines.calibration.labelled_scores import KNOTS, LabelledScores
from dpcore_lab.checks import check_query, make_rows
from dpcore_lab.made_tables.tables import make_problem, neighbours

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
W = np.array([9.0, -20.0, 4.0, 30.0, -8.0])
ROWS = make_rows(60)
PRIOR = module.CALIBRATED
LOGISTIC = Settings(loss="logistic").make_loss()


class Whole(LabelledScores):
    """Broken on purpose: a row counts as a whole near both of its knots."""

    def answer_block(self, block):
        return np.where(super().answer_block(block) > 0, 1 << 20, 0) * block.n_rows


def query(relation=ADD, norm="l2", kind=LabelledScores, **others):
    problem = replace(make_problem(ROWS, relation, LOGISTIC), **others)
    return kind(problem, W, norm)


def answer(asked, rows):
    return LocalEngine(rows.table()).answer(asked)


def length(change, norm):
    """Return the square of the length of a vector of whole numbers, exactly."""
    sizes = [abs(int(step)) for step in change]
    return sum(sizes) ** 2 if norm == "l1" else sum(size**2 for size in sizes)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("relation", list(NeighboringRelation))
def test_a_row_moves_the_counts_by_what_is_stated_in_whole_numbers(relation, norm):
    asked = query(relation, norm)
    stated, whole = asked.sensitivity(relation), answer(asked, ROWS)
    most = (Fraction(stated.bound) * 2**stated.grid_bits) ** 2
    moved = [length(whole - answer(asked, rows), norm) for rows in neighbours(ROWS, relation)]
    assert max(moved) <= most
    assert max(moved) > 0.4 * most  # and it is no idle bound
    twin = query(relation, norm, Whole)
    one = replace(ROWS, X=ROWS.X[:1], y=ROWS.y[:1])
    none = replace(ROWS, X=ROWS.X[:0], y=ROWS.y[:0])
    assert length(answer(twin, one) - answer(twin, none), norm) > most / 2**0.6


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_a_unit_moves_the_counts_by_k_rows_or_two_times_k(relation):
    k, asked = 6, query(relation, n=None, rows_per_unit=6)
    bound = k * relation.rows_changed * asked.sensitivity(ADD).bound
    moved, others = [], make_rows(60, seed=4)
    for first in range(0, 60, k):
        kept = np.delete(np.arange(60), np.arange(first, first + k))
        rows = replace(ROWS, X=ROWS.X[kept], y=ROWS.y[kept])
        if relation is REPLACE:
            unit = slice(first, first + k)
            rows = rows.and_then(replace(ROWS, X=others.X[unit], y=others.y[unit]))
        moved.append(length(answer(asked, ROWS) - answer(asked, rows), "l2"))
    assert 0 < max(moved) <= (Fraction(bound) * 2**20) ** 2


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_counts_are_sums_within_their_sensitivity(norm):
    check_query(lambda problem: LabelledScores(problem, W, norm), LOGISTIC)


def test_parts_of_a_row_have_its_log_odds_for_a_mean():
    counts = answer(query(), ROWS).reshape(2, -1) / 2**20
    odds = np.clip(ROWS.table().blocks[0].margins(W), KNOTS[0], KNOTS[-1])
    for k, label in enumerate((-1.0, 1.0)):
        of_class = odds[ROWS.y == label]
        assert counts[k].sum() == len(of_class)
        assert counts[k] @ KNOTS == pytest.approx(of_class.sum(), abs=60 * 24 / 2**20)


def counted(odds, positive, deviation, seed):
    """Return noisy counts of rows as they are, by hat functions of SciPy's interpolation."""
    odds = np.clip(odds, KNOTS[0], KNOTS[-1])
    parts = np.array([np.interp(odds, KNOTS, unit) for unit in np.eye(len(KNOTS))])
    counts = np.concatenate([parts @ ~positive, parts @ positive])
    return counts + deviation * np.random.default_rng(seed).normal(size=counts.size)


def made(line, n=200_000, mean=-1.2, spread=1.6):
    """Return log odds, and labels that come true by a line of them."""
    rng = np.random.default_rng(7)
    odds = rng.normal(mean, spread, n)
    return odds, rng.random(n) < special.expit(line[0] + line[1] * odds)


def refitted(odds, positive):
    """Return a and b of the logistic regression of labels on log odds, by SciPy."""
    sign = np.where(positive, -1.0, 1.0)

    def missed(line):
        z = sign * (line[0] + line[1] * odds)
        slopes = special.expit(z) * sign
        return np.logaddexp(0, z).mean(), np.array([slopes.mean(), (slopes * odds).mean()])

    return optimize.minimize(missed, [0.0, 1.0], jac=True, tol=1e-10).x


@pytest.mark.parametrize("line", [(0.0, 0.6), (-0.5, 0.8), (0.3, 1.2), (0.4, 1.0)])
def test_of_exact_counts_it_is_the_regression_of_the_rows(line, monkeypatch):
    monkeypatch.setattr(module, "LABELS", 1.0)
    odds, positive = made(line)
    found = counts_line(counted(odds, positive, 0.0, 0), 0.0)
    expected = refitted(odds, positive)
    assert (found.added, found.slope) == pytest.approx(expected, abs=0.02)


def test_of_rows_that_no_line_suits_it_is_the_regression_too(monkeypatch):
    # Weights of single knots by their noise would suit one part of the rows better than another.
    monkeypatch.setattr(module, "LABELS", 1.0)
    rng = np.random.default_rng(3)
    odds = np.concatenate([rng.normal(-2, 1, 150_000), rng.gamma(2.0, 1.5, 50_000)])
    positive = rng.random(odds.size) < 0.1 + 0.6 / (1 + np.exp(-3 * odds))
    found = counts_line(counted(odds, positive, 20.0, 1), 20.0)
    assert (found.added, found.slope) == pytest.approx(refitted(odds, positive), abs=0.06)


def expected(line, middle, hats, grid):
    """Return the share of positive rows near each knot by a line, of hats over a density."""
    told = special.expit(line[0] + line[1] * (grid - middle))
    return integrate.trapezoid(hats * told, grid) / integrate.trapezoid(hats, grid)


def reference(counts, deviation):
    """Return a and b where prior and counts pull as hard, by SciPy's solver, with integrals over a
    normal density in the place of points, and differences in that of derivatives."""
    _, positive = counts.reshape(2, -1)
    both, knots = counts.reshape(2, -1).sum(axis=0), np.array(KNOTS)
    middle = both @ knots / both.sum()
    spread = (both @ (knots - middle) ** 2 / both.sum()) ** 0.5
    grid = np.linspace(-24, 24, 4801)
    hats = np.array([np.interp(grid, KNOTS, unit) for unit in np.eye(len(KNOTS))])
    given = hats * (stats.norm(middle, spread).pdf(grid) + 1e-12), grid
    design = np.array([np.ones(knots.size), np.clip(knots, -6, 6) - middle])
    noisy = deviation**2 * (both > 0)
    first = PRIOR.slope * np.array([middle, 1.0])
    held = np.array([PRIOR.of_level, PRIOR.of_slope])

    def score(line):
        return design @ (positive - both * expected(line, middle, *given))

    def pull(line):
        p = expected(line, middle, *given)
        variances = both * p * (1 - p) + noisy * (p**2 + (1 - p) ** 2)
        turns = optimize.approx_fprime(line, score, 1e-6)
        by_counts = -turns.T @ np.linalg.solve(design * variances @ design.T, score(line))
        return by_counts - (line - first) / held**2

    level, slope = optimize.root(pull, first, tol=1e-9).x
    return level - slope * middle, slope


@pytest.mark.parametrize("deviation", [600.0, 1200.0])
def test_with_noise_it_is_where_prior_and_counts_meet(deviation, monkeypatch):
    monkeypatch.setattr(module, "LABELS", 1.0)
    odds, positive = made((-0.4, 0.7), n=50_000)
    counts = counted(odds, positive, 0.0, 0).reshape(2, -1)
    clear = counts.sum(axis=0) > 6 * 2**0.5 * deviation
    found = counts_line(counts.ravel(), deviation)
    others = reference(np.where(clear, counts, 0.0).ravel(), deviation)
    assert (found.added, found.slope) == pytest.approx(others, abs=0.02)
    # Noise that is not counted, or a prior left out, is found.
    assert abs(counts_line(counts.ravel(), deviation / 4).slope - others[1]) > 0.03
    assert refitted(odds, positive)[1] + 0.03 < found.slope < PRIOR.slope
    assert found.deviation < PRIOR.of_slope


def test_nothing_but_noise_leaves_log_odds_as_they_are():
    noise = np.random.default_rng(5).normal(scale=100.0, size=2 * len(KNOTS))
    assert counts_line(noise, 100.0) == CountsLine(0.0, 1.0, PRIOR.of_slope)
    assert counts_line(np.zeros(2 * len(KNOTS)), 1.0).slope == 1.0


def test_one_knot_alone_says_the_level():
    counts = np.zeros((2, len(KNOTS)))
    counts[:, 4] = 90_000, 10_000  # near -1.25, of which a tenth came true
    line = counts_line(counts.ravel(), 10.0)
    told = line.added - 1.25 * line.slope
    assert special.expit(told) == pytest.approx(0.1, abs=0.03)
    assert line.slope == pytest.approx(PRIOR.slope, abs=0.1)


def test_labels_are_not_given_for_probabilities(monkeypatch):
    # Above even odds three of four rows are positive, below -1 fewer than it says: the line of
    # most rows would call those between 0 and .7 negative.
    rng = np.random.default_rng(2)
    odds = rng.normal(-1.2, 1.0, 300_000)
    positive = rng.random(odds.size) < np.where(odds > -0.3, 0.75, 0.04)
    counts = counted(odds, positive, 5.0, 0)
    held = counts_line(counts, 5.0)
    monkeypatch.setattr(module, "LABELS", 1.0)
    free = counts_line(counts, 5.0)

    def accuracy(line):
        return np.mean((line.added + line.slope * odds > 0) == positive)

    before = np.mean((odds > 0) == positive)
    assert before - accuracy(held) < 0.01
    assert accuracy(free) <= accuracy(held)
    assert abs(held.added) <= abs(free.added) and held.slope == free.slope

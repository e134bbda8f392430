"""Counts of pairs of classes and of weighted rows: what a row moves them by, and what follows."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize, special

from dpcore.plugin import NeighboringRelation, Settings
from dpcore.plugin.parts import LocalEngine
from dpcore_baselines.calibration import class_lines as module
from dpcore_baselines.calibration.class_lines import ClassLines, class_lines
from dpcore_baselines.calibration.labelled_scores import KNOTS, LabelledScores
from dpcore_baselines.calibration.paired_scores import PairedScores, pairs_of
from dpcore_lab.checks import check_query, make_rows
from dpcore_lab.made_tables.tables import make_problem, neighbours

REPLACE = NeighboringRelation.REPLACE_ONE
RNG = np.random.default_rng(8)
ROWS = make_rows(40, n_classes=4)
W = RNG.normal(size=(4, ROWS.X.shape[1])) * 6
SOFTMAX = Settings(loss="softmax").make_loss()
LOGISTIC = Settings(loss="logistic").make_loss()


def weighted(inner, weights):
    """Return a loss of classes times a weight of each, as a weighted fit has it."""
    most = max(weights) * (1 + 2.0**-40)

    @dataclass(frozen=True)
    class Weighted:
        name = inner.name
        classification = convex = thread_safe = True
        multiclass = len(weights) > 2
        lipschitz, smoothness, largest_weight = most * inner.lipschitz, most, most

        def value(self, z, y, out):
            raise NotImplementedError

        def dvalue(self, z, y, out):
            inner.dvalue(z, y, out)
            out *= np.array(weights)[y.astype(int) if z.ndim > 1 else (y > 0).astype(int)]

    return Weighted()


class InEveryPair(PairedScores):
    """Broken on purpose: a row counts 1 in each pair of its class."""

    @property
    def size(self):
        return 1 << 20


class ByWeight(LabelledScores):
    """Broken on purpose: a row counts its weight, and not its part of the largest one."""

    def answer_block(self, block):
        return (super().answer_block(block) * self.problem.loss.largest_weight).astype(np.int64)


def answer(asked, rows):
    return LocalEngine(rows.table()).answer(asked)


def most_moved(asked, rows, relation):
    """Return the largest change over neighbours, squared, over the square that is stated."""
    stated, whole = asked.sensitivity(relation), answer(asked, rows)
    most, found = (Fraction(stated.bound) * 2**stated.grid_bits) ** 2, Fraction(0)
    for other in neighbours(rows, relation):
        change = [abs(int(step)) for step in whole - answer(asked, other)]
        moved = sum(change) ** 2 if asked.norm == "l1" else sum(step**2 for step in change)
        found = max(found, moved / most)
    return found


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("relation", list(NeighboringRelation))
def test_a_row_moves_pairs_by_what_is_stated_in_whole_numbers(relation, norm):
    problem = make_problem(ROWS, relation, SOFTMAX)
    assert 0.4 < most_moved(PairedScores(problem, W, norm), ROWS, relation) <= 1
    assert most_moved(InEveryPair(problem, W, norm), ROWS, relation) > 1


@pytest.mark.parametrize("relation", list(NeighboringRelation))
@pytest.mark.parametrize("weights", [(0.5, 3.0), (2.0, 1.0, 0.5, 4.0)])
def test_a_weighted_row_counts_its_part_of_the_largest_weight(weights, relation):
    several = len(weights) > 2
    rows = ROWS if several else make_rows(40)
    kind, w, loss = (PairedScores, W, SOFTMAX) if several else (LabelledScores, W[0], LOGISTIC)
    asked = kind(make_problem(rows, relation, weighted(loss, weights)), w)
    plain = kind(make_problem(rows, relation, loss), w)
    assert 0.2 < most_moved(asked, rows, relation) <= 1
    if several:
        one = replace(rows, X=rows.X[:1], y=rows.y[:1])
        part = weights[int(one.y[0])] / 4
        assert answer(asked, one).sum() == pytest.approx(part * answer(plain, one).sum(), rel=1e-5)
        return
    counts, unweighted = (answer(each, rows).reshape(2, -1).sum(axis=1) for each in (asked, plain))
    assert counts == pytest.approx(unweighted * np.array(weights) / 3, rel=1e-5)
    assert most_moved(ByWeight(asked.problem, w), rows, relation) > 1


@pytest.mark.slow
def test_counts_of_pairs_are_sums_within_their_sensitivity():
    check_query(lambda problem: PairedScores(problem, W[: problem.n_margins]), SOFTMAX)


def counted(z, y, deviation=0.0, seed=0):
    """Return noisy counts of pairs of rows as they are, by hats of SciPy's interpolation."""
    counts = []
    for low, high in pairs_of(len(z)):
        odds = np.clip(z[low] - z[high], KNOTS[0], KNOTS[-1])
        parts = np.array([np.interp(odds, KNOTS, unit) for unit in np.eye(len(KNOTS))])
        counts += [parts @ (y == high), parts @ (y == low)]
    counts = np.concatenate(counts)
    return counts + deviation * np.random.default_rng(seed).normal(size=counts.size)


def test_what_is_counted_is_that():
    asked = PairedScores(make_problem(ROWS, REPLACE, SOFTMAX), W)
    margins = ROWS.table().blocks[0].margins(asked.w)
    part = asked.size / 2**20
    assert answer(asked, ROWS) / 2**20 == pytest.approx(part * counted(margins, ROWS.y), abs=1e-4)


def made(added, slope, n=30_000):
    rng = np.random.default_rng(3)
    z = rng.normal(0, 2, (len(added), n)) + np.array([0.0, -1.0, 0.5])[:, None]
    told = special.softmax(np.array(added)[:, None] + slope * z, axis=0)
    return z, (rng.random(n) > np.cumsum(told, axis=0)).sum(axis=0)


def refitted(z, y):
    """Return intercepts and temperature of the softmax regression on margins, by SciPy."""
    rows = np.arange(len(y))

    def loss(line):
        moved = np.append(0.0, line[:2])[:, None] + line[2] * z
        return (special.logsumexp(moved, axis=0) - moved[y, rows]).mean()

    a, b, slope = optimize.minimize(loss, [0.0, 0.0, 1.0]).x
    return np.array([0.0, a, b]) - (a + b) / 3, slope


def test_of_exact_counts_it_is_the_regression_of_the_rows(monkeypatch):
    monkeypatch.setattr(module, "LABELS", 1.0)
    z, y = made((0.3, -0.4, 0.1), 0.6)
    found = class_lines(counted(z, y), 0.0, 3)
    added, slope = refitted(z, y)
    assert found.slope == pytest.approx(slope, abs=0.03)
    assert found.added == pytest.approx(added, abs=0.05) and sum(found.added) == pytest.approx(0)
    # With the two classes of each pair the other way round it is another line.
    turned = counted(z, y).reshape(-1, 2, len(KNOTS))[:, ::-1].ravel()
    assert abs(class_lines(turned, 0.0, 3).slope - slope) > 0.3


def test_noise_moves_it_by_the_deviation_that_is_stated(monkeypatch):
    monkeypatch.setattr(module, "LABELS", 1.0)
    z, y = made((0.3, -0.4, 0.1), 0.6)
    found = [class_lines(counted(z, y, 75.0, seed), 75.0, 3) for seed in range(20)]
    slopes, stated = [each.slope for each in found], found[0].deviation
    without = class_lines(counted(z, y), 0.0, 3).slope
    assert np.mean(slopes) == pytest.approx(without, abs=0.6 * stated)
    assert 0.6 * stated < np.std(slopes) < 1.5 * stated  # 20 of them: within a third of it


def test_nothing_but_noise_leaves_margins_as_they_are():
    noise = np.random.default_rng(5).normal(scale=100.0, size=66)
    assert class_lines(noise, 100.0, 3) == ClassLines((0.0,) * 3, 1.0, module.PRIOR.of_slope)


def test_intercepts_are_held_where_they_cost_labels():
    z, y = made((0.0, 0.0, 0.0), 1.0)
    wrong = np.where(np.abs(z[0] - z[1]) < 1, 0, y)  # where the two are near it is the first
    held = class_lines(counted(z, wrong), 0.0, 3)
    assert np.mean((np.array(held.added)[:, None] + held.slope * z).argmax(axis=0) == wrong) > (
        np.mean(z.argmax(axis=0) == wrong) - 0.01
    )

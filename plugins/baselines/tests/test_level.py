"""The number of positive rows beside what is said: what a row moves it by, and the level."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

from dpcore.plugin import InvalidInputError, NeighboringRelation, Settings
from dpcore.plugin.parts import LocalEngine
from dpcore_baselines.calibration import level as module
from dpcore_baselines.calibration.level import level_of
from dpcore_baselines.calibration.positive_rows import PositiveRows
from dpcore_lab.checks import check_query, make_rows
from dpcore_lab.made_tables.tables import make_problem, neighbours

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
W = np.array([9.0, -20.0, 4.0, 30.0, -8.0])
ROWS = make_rows(60)
LOGISTIC = Settings(loss="logistic").make_loss()


class LogOdds(PositiveRows):
    """Broken on purpose: log odds in the place of probabilities."""

    def answer_block(self, block):
        odds = np.floor(block.margins(self.w) * 2**20).astype(np.int64).sum()
        return np.array([super().answer_block(block)[0], odds])


def query(relation=ADD, kind=PositiveRows, **others):
    return kind(replace(make_problem(ROWS, relation, LOGISTIC), **others), W)


def answer(asked, rows=ROWS):
    return LocalEngine(rows.table()).answer(asked)


def square(change):
    """Return the square of the length of a vector of whole numbers, exactly."""
    return sum(int(step) ** 2 for step in change)


@pytest.mark.parametrize("relation", list(NeighboringRelation))
def test_a_row_moves_the_sums_by_what_is_stated_in_whole_numbers(relation):
    asked = query(relation)
    stated = asked.sensitivity(relation)
    most = (Fraction(stated.bound) * 2**stated.grid_bits) ** 2
    others = list(neighbours(ROWS, relation))
    moved = [square(answer(asked) - answer(asked, rows)) for rows in others]
    assert 0.7 * most < max(moved) <= most  # and it is no idle bound
    twin = query(relation, LogOdds)
    assert max(square(answer(twin) - answer(twin, rows)) for rows in others) > most


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_a_unit_moves_the_sums_by_k_rows_or_two_times_k(relation):
    k, asked = 6, query(relation, n=None, rows_per_unit=6)
    bound = k * relation.rows_changed * Fraction(asked.sensitivity(ADD).bound) * 2**20
    moved, others = [], make_rows(60, seed=4)
    for first in range(0, 60, k):
        kept = np.delete(np.arange(60), np.arange(first, first + k))
        rows = replace(ROWS, X=ROWS.X[kept], y=ROWS.y[kept])
        if relation is REPLACE:
            unit = slice(first, first + k)
            rows = rows.and_then(replace(ROWS, X=others.X[unit], y=others.y[unit]))
        moved.append(square(answer(asked) - answer(asked, rows)))
    assert 0 < max(moved) <= bound**2


@pytest.mark.slow
def test_they_are_sums_within_their_sensitivity():
    check_query(lambda problem: PositiveRows(problem, W), LOGISTIC)


@pytest.mark.parametrize("w", [np.stack([W] * 100), W[None], W[:4], np.append(W, 1.0)])
def test_parameters_of_another_shape_are_refused(w):
    # Of 100 models a row counted as often, and moved the sums by 70 times what is stated.
    with pytest.raises(InvalidInputError, match="Expected w of 5 features, of one model"):
        PositiveRows(make_problem(ROWS, ADD, LOGISTIC), w)


def test_they_are_the_positive_rows_and_the_probabilities_about_a_half():
    odds = ROWS.table().blocks[0].margins(W)
    expected = np.sum(ROWS.y > 0) - 30, np.sum(special.expit(odds)) - 30
    assert answer(query()) / 2**20 == pytest.approx(expected, abs=60 / 2**20)


def sums(missed, n, mean, spread):
    """Return exact sums of rows of normal log odds, of which so many more are positive."""
    nodes = np.linspace(-9, 9, 2001)
    told = special.expit(mean + spread * nodes) * stats.norm.pdf(nodes)
    said = n * (integrate.simpson(told, x=nodes) - 0.5)
    return np.array([said + missed, said])


def reference(missed, deviation, n, u, mean, spread):
    """Return the level by SciPy's integrals, truncated normal and root finder: of two normal
    densities of one share their product's mean lies between, by their precisions."""
    nodes = np.linspace(-9, 9, 2001)

    def rate(level):
        told = special.expit(mean + level + spread * nodes) * stats.norm.pdf(nodes)
        return integrate.simpson(told, x=nodes)

    by_sums = n**2 / (2 * deviation**2)
    middle, wide = rate(0.0) + missed / n * by_sums / (by_sums + u**2), (by_sums + u**2) ** -0.5
    share = stats.truncnorm(-middle / wide, (1 - middle) / wide, middle, wide).mean()
    return optimize.brentq(lambda level: rate(level) - share, -6, 6)


@pytest.mark.parametrize("missed", [-150.0, 40.0])
@pytest.mark.parametrize("deviation", [10.0, 150.0])
@pytest.mark.parametrize("u", [3.0, 30.0])
def test_the_mean_probability_is_the_share_that_sums_and_gradients_say(
    missed, deviation, u, monkeypatch
):
    monkeypatch.setattr(module, "_RELABELLED", 1.0)
    found = level_of(sums(missed, 800.0, -0.5, 0.8), deviation, 800.0, u, 0.8)
    assert found == pytest.approx(reference(missed, deviation, 800.0, u, -0.5, 0.8), abs=0.02)


def test_of_an_exact_number_probabilities_come_true_in_the_mean(monkeypatch):
    monkeypatch.setattr(module, "_RELABELLED", 1.0)
    rng = np.random.default_rng(3)
    odds = rng.normal(-1.0, 0.8, 20_000)
    positive = rng.random(odds.size) < special.expit(odds - 0.6)
    exact = np.array([positive.sum(), special.expit(odds).sum()]) - odds.size / 2
    level = level_of(exact, 0.0, odds.size, 10.0, 0.8)
    assert level == pytest.approx(-0.6, abs=0.06)
    assert special.expit(odds + level).mean() == pytest.approx(positive.mean(), abs=0.003)


def test_few_labels_are_given_for_probabilities(monkeypatch):
    exact, rare = sums(-150.0, 800.0, -0.5, 0.8), sums(-40.0, 800.0, -2.0, 0.4)
    held, normal = level_of(exact, 5.0, 800.0, 3.0, 0.8), stats.norm(-0.5, 0.8)
    assert normal.cdf(-held) - normal.cdf(0.0) == pytest.approx(0.03, abs=0.01)
    of_rare = level_of(rare, 5.0, 800.0, 3.0, 0.4)  # no row is near even odds
    monkeypatch.setattr(module, "_RELABELLED", 1.0)
    assert level_of(exact, 5.0, 800.0, 3.0, 0.8) < 3 * held < 0.0
    assert level_of(rare, 5.0, 800.0, 3.0, 0.4) == of_rare < -0.4


@pytest.mark.parametrize("missed", [-1e9, 0.0, 1e9])
@pytest.mark.parametrize("n", [1.0, 1e7])
@pytest.mark.parametrize("spread", [0.0, 50.0])
def test_far_from_anything_it_is_a_number_within_the_levels(missed, n, spread):
    found = level_of(np.array([missed, -missed]), 1e3, n, 1e-6, spread)
    assert -6.0 <= found <= 6.0

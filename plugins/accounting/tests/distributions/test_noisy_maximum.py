"""Selections by an author's distribution: which index wins, and what it costs."""

import itertools
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2, gamma

from dpcore.errors import InvalidInputError
from dpcore.plugin import Laplace, NeighboringRelation
from dpcore.plugin.parts import (
    ContributionSum,
    PureDpEvent,
    RowFunction,
    SeededNoise,
    Sensitivity,
    float_up,
)
from dpcore_accounting.distributions import (
    ContinuousDistribution,
    IntegerDistribution,
    NoisyMaximum,
    TableMaximum,
    TableNoise,
)
from dpcore_accounting.distributions.continuous_distribution import Deviate
from dpcore_accounting.distributions.noisy_maximum import _largest
from dpcore_tables.statistics import open_session

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
SCORES = Sensitivity("linf", 1.0, ADD, change_range=1.0)
FALSE_ALARM = 1e-6
UTILITIES = np.array([0, 1, -1, 1], dtype=np.int64)
N = 1500


@dataclass(frozen=True)
class GammaMaximum(NoisyMaximum):
    """An author's own: the hazard of a gamma deviate of shape 2 is at most 1."""

    name = "gamma-maximum"
    needs = "range"
    distribution = ContinuousDistribution((("gamma", 1.0, 2),))

    def event(self, sensitivity):
        return PureDpEvent(float_up(1 / self.exact_multiplier(sensitivity)))


class FloorsFirst(GammaMaximum):
    """Broken: deviates are floored before they are compared."""

    def release(self, exact, sensitivity, noise):
        drawn = self.distribution.draw(noise, self.scale(sensitivity), exact.size)
        return int(np.argmax([u + z.floor() for u, z in zip(exact, drawn, strict=True)]))


class OneForAll(GammaMaximum):
    """Broken: all candidates have one deviate."""

    def release(self, exact, sensitivity, noise):
        (one,) = self.distribution.draw(noise, self.scale(sensitivity), 1)
        return int(np.argmax(exact + one.floor()))


def gamma_distribution(scale):
    """P(i wins), by the trapezoidal rule over the winner's deviate, and SciPy's distribution of
    it."""
    x = np.linspace(0, 50, 50_001)
    distribution = []
    for i, u in enumerate(UTILITIES):
        others = [gamma.cdf(x + (u - v) / scale, 2) for v in np.delete(UTILITIES, i)]
        distribution.append(np.trapezoid(gamma.pdf(x, 2) * np.prod(others, axis=0), x))
    return distribution


def p_value(counts, distribution):
    expected = np.asarray(distribution, float) * np.sum(counts)
    assert expected.min() >= 5 and sum(distribution) == pytest.approx(1, abs=1e-6)
    return chi2.sf(np.sum((counts - expected) ** 2 / expected), len(distribution) - 1)


def fits(made, distribution):
    noise = SeededNoise(3)
    chosen = [made.release(UTILITIES, SCORES, noise) for _ in range(N)]
    return p_value(np.bincount(chosen, minlength=4), distribution) > FALSE_ALARM


@pytest.fixture(scope="module")
def distribution_of_one_step():
    return gamma_distribution(1.0)


def test_the_winner_has_the_distribution_of_the_continuous_argmax(distribution_of_one_step):
    assert fits(GammaMaximum(1.0), distribution_of_one_step)


@pytest.mark.parametrize("broken", [FloorsFirst, OneForAll])
def test_a_broken_comparison_is_seen(broken, distribution_of_one_step):
    assert not fits(broken(1.0), distribution_of_one_step)


class Known:
    """A number of which each digit is given, most of them 0."""

    def __init__(self, *digits):
        self._digits = digits

    def floor(self, digits):
        return int(sum(d << 64 * (digits - 1 - i) for i, d in enumerate(self._digits[:digits])))


@pytest.mark.parametrize("scores", [[0, 0, 0], [2**62, 2**62, -(2**63)], [5, 6, 0]])
def test_as_many_digits_are_compared_as_it_takes(scores):
    """The first two are alike in three digits of 64 bits and a score apart in the last case."""
    digits = [(7, 1, 2, 0), (7, 1, 2, 9), (1, 0, 0, 0)]
    deviates = [Deviate([(1, Known(0, *each))], 0) for each in digits]
    assert _largest(scores, deviates) == 1
    assert _largest(scores[::-1], deviates[::-1]) == 1


def test_one_candidate_wins():
    assert GammaMaximum(1.0).release(np.array([3]), SCORES, SeededNoise(0)) == 0


@pytest.mark.parametrize(
    ("kind", "other"), [("exponential", "permute-and-flip"), ("laplace", "report-noisy-max")]
)
def test_the_distributions_of_other_selections_are_not_taken(kind, other):
    class Again(GammaMaximum):
        distribution = ContinuousDistribution(((kind, 2.0),))

    with pytest.raises(InvalidInputError, match=f"take the mechanism {other}"):
        Again(1.0)


WEIGHTS = (1, 3, 8, 3, 1)
TABLE = IntegerDistribution(-2, WEIGHTS)


def winners(utilities):
    """Return the exact distribution of the argmax, the lowest index among equals."""
    distribution = dict.fromkeys(range(len(utilities)), Fraction(0))
    for drawn in itertools.product(range(len(WEIGHTS)), repeat=len(utilities)):
        share = Fraction(1)
        for z in drawn:
            share *= Fraction(WEIGHTS[z], 16)
        noisy = [u + z for u, z in zip(utilities, drawn, strict=True)]
        distribution[noisy.index(max(noisy))] += share
    return distribution


def test_the_winner_of_a_table_has_its_exact_distribution():
    distribution = [float(share) for share in winners(UTILITIES.tolist()).values()]
    assert fits(TableMaximum(TABLE, 4), distribution)
    huge = np.array([2**63 - 1, -(2**63)])  # a sum that wraps around would lose
    chosen = {TableMaximum(TABLE, 2).release(huge, SCORES, SeededNoise(k)) for k in range(12)}
    assert chosen == {0}


def test_a_table_costs_what_the_whole_noisy_vector_costs():
    event = TableMaximum(TABLE, 3).event(SCORES)
    assert event == TableNoise(TABLE, 3).event(SCORES) and len(event.events) == 3


def test_no_two_neighbours_tell_more_than_is_charged():
    """All moves of three scores by up to 1, against the product of three pairs: at e^epsilon of 1,
    2 and 5 and in both orders, exactly."""
    (pair, *_) = TableMaximum(TABLE, 3).event(SCORES).events
    edges = list(itertools.product(zip(pair.p, pair.q, strict=True), repeat=3))
    product = [(a[0] * b[0] * c[0], a[1] * b[1] * c[1]) for a, b, c in edges]
    for g in (1, 2, 5):
        charged = Fraction(sum(max(0, p - g * q) for p, q in product), 16**3)
        here = winners((0, 1, 0))
        for move in itertools.product((-1, 0, 1), repeat=3):
            there = winners([u + d for u, d in zip((0, 1, 0), move, strict=True)])
            for one, other in ((here, there), (there, here)):
                told = sum(max(Fraction(0), one[i] - g * other[i]) for i in range(3))
                assert told <= charged


def test_scores_of_another_shape_or_number_are_refused():
    for made in (TableMaximum(TABLE, 2), GammaMaximum(1.0)):
        with pytest.raises(InvalidInputError, match="vector of utilities"):
            made.release(np.zeros((2, 1), np.int64), SCORES, SeededNoise(0))
    with pytest.raises(InvalidInputError, match="the answer has another number"):
        TableMaximum(TABLE, 2).release(np.zeros(3, np.int64), SCORES, SeededNoise(0))


class ChoiceOfSums(GammaMaximum):
    name, needs = "choice-of-sums", "linf"

    def event(self, sensitivity):
        return PureDpEvent(float_up(4 / self.exact_multiplier(sensitivity)))


@RowFunction.contribution
def _one(x, y, parameters, out):
    out[0] = 1.0


def test_a_choice_by_sums_that_may_wrap_is_for_tables_within_the_capacity():
    # With 2^23 rows and one more the choice was sure, and another; the statement said nothing.
    X, y = np.full((8, 1), 0.5), np.arange(8) % 2
    asked = {"classes": (0, 1), "bounds": (0, 1), "row_norm": 1.0, "capacity": 1000}
    with open_session(X, y, **asked, epsilon=1.0, delta=0.0, accountant="pure") as session:
        query = ContributionSum(session.problem, _one, 2, 1.0 - 2.0**-40, (), "linf")
        session.release(replace(query, norm="l1"), Laplace(400.0))
        assert session.statement()["most_rows"] is None
        session.release(query, ChoiceOfSums(400.0))
        assert session.statement()["most_rows"] == 1000

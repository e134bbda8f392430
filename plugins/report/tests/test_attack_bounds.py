"""Beliefs and attacks: every number is reached by a distribution that the promise allows, none
beyond."""

import math
from fractions import Fraction
from itertools import chain, combinations
from statistics import NormalDist

import mpmath
import pytest

from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import exp_down, exp_up
from dpcore_report.attack_bounds import Promise, percent_down, percent_up, steps_of_a_value

PAIRS = [(0.01, 0.0), (0.5, 0.0), (1.0, 1e-6), (0.3, 0.05), (3.0, 0.2), (6.0, 0.1)]
HALF = Fraction(1, 2)


def game(promise):
    """Return the two distributions of the four outcomes that dominate every (epsilon, delta)
    release: Kairouz, Oh & Viswanath 2015, "The Composition Theorem for Differential Privacy",
    equation 6."""
    grown, delta = float(exp_up(promise.epsilon)), float(promise.delta)
    high, low = (1 - delta) * grown / (1 + grown), (1 - delta) / (1 + grown)
    return [delta, high, low, 0.0], [0.0, low, high, delta]


def events(distributions):
    """Yield the probabilities of every set of outcomes under both."""
    places = range(len(distributions[0]))
    sets = chain.from_iterable(combinations(places, size) for size in range(len(places) + 1))
    for chosen in sets:
        yield tuple(sum(distribution[place] for place in chosen) for distribution in distributions)


def most_caught(distributions, false_alarms):
    """Return the power of the most powerful test of a size, by the lemma of Neyman and Pearson."""
    p, q = distributions
    power, left = 0.0, false_alarms
    for at in sorted(range(len(p)), key=lambda i: q[i] / p[i] if p[i] else math.inf):
        part = 1.0 if q[at] <= left else left / q[at]
        power, left = power + part * p[at], left - part * q[at]
    return power


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0, 6.0])
@pytest.mark.parametrize("false_alarms", [0.01, 0.6, 0.95])
def test_what_a_test_finds_is_rounded_up(epsilon, false_alarms):
    with mpmath.workdps(200):  # More digits than the bound has.
        grown, size = mpmath.exp(mpmath.mpf(epsilon)), mpmath.mpf(false_alarms)
        exact = min(1, grown * size, 1 - (1 - size) / grown)
        stated = Promise(Fraction(epsilon), Fraction(0)).caught(Fraction(false_alarms))
        assert 0 <= mpmath.mpf(stated.numerator) / stated.denominator - exact < 1e-30


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
@pytest.mark.parametrize("twin", [False, True])
def test_attacks_on_the_hardest_release_reach_the_bounds_and_no_more(epsilon, delta, twin):
    promise = Promise(Fraction(epsilon), Fraction(delta))
    distributions = game(promise)
    # The twin leaves delta out of the bound: attacks exceed it wherever there is one.
    stated = Promise(promise.epsilon, Fraction(0)) if twin else promise
    guessed = max((p + 1 - q) / 2 for p, q in events(distributions))
    caught = {share: most_caught(distributions, share) for share in (0.5, 0.01, 0.001)}
    errors = [guessed - float(stated.guessed())]
    errors += [power - float(stated.caught(Fraction(share))) for share, power in caught.items()]
    if twin and delta:
        assert max(errors) > 0.2 * delta * float(exp_down(-promise.epsilon))
    else:
        assert errors == pytest.approx([0.0] * 4, abs=1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_beliefs_are_those_of_the_game_where_its_coin_did_not_give_all_away(epsilon, delta):
    promise = Promise(Fraction(epsilon), Fraction(delta))
    (_, p_high, p_low, _), (_, q_high, q_low, _) = game(promise)
    for prior in (0.01, 0.5, 0.9):
        after = [prior * p / (prior * p + (1 - prior) * q) for p, q in ((p_high, q_high),)]
        assert float(promise.surest(Fraction(prior))) == pytest.approx(after[0], rel=1e-12)
        below = prior * p_low / (prior * p_low + (1 - prior) * q_low)
        assert float(promise.least_sure(Fraction(prior))) == pytest.approx(below, rel=1e-9)


def test_the_numbers_that_the_documents_quote():
    presence = Promise(HALF, Fraction(0))
    assert float(presence.surest(HALF)) == pytest.approx(0.6225, abs=5e-5)
    assert float(presence.of_group(2).surest(HALF)) == pytest.approx(0.7311, abs=5e-5)


@pytest.mark.parametrize("epsilon", [1e-9, 0.5, 20.0, 699.0])
def test_bounds_lie_on_the_safe_side(epsilon):
    exact = Fraction(epsilon)
    promise = Promise(exact, Fraction(1, 10**7))
    odds = promise.surest(HALF) / (1 - promise.surest(HALF))
    assert exp_down(exact) < odds <= exp_up(exact)
    assert promise.surest(HALF) + promise.least_sure(HALF) == 1
    assert promise.guessed() > promise.surest(HALF)


def test_what_no_float_holds_is_taken_to_be_reached():
    promise = Promise(Fraction(1e300), Fraction(0))
    assert promise.surest(HALF) == promise.guessed() == promise.caught(Fraction(1, 1000)) == 1
    assert promise.least_sure(HALF) == 0
    assert Promise(Fraction(1e300), Fraction(1, 10**300)).of_group(2).delta == 1
    assert promise.surest(Fraction(0)) == 0


@pytest.mark.parametrize("k", [1, 2, 5])
def test_groups_have_the_delta_of_the_closed_form(k):
    # Vadhan 2017, "The Complexity of Differential Privacy", Lemma 2.2.
    group = Promise(HALF, Fraction(1, 10**6)).of_group(k)
    closed = 1e-6 * math.expm1(k * 0.5) / math.expm1(0.5)
    assert float(group.delta) == pytest.approx(closed, rel=1e-12)
    assert group.epsilon == k * HALF
    assert Promise(HALF, Fraction(0)).of_group(k).delta == 0


def test_a_value_is_two_steps_but_under_replace_one():
    steps = {relation.value: steps_of_a_value(relation) for relation in NeighboringRelation}
    assert steps == {"add-or-remove-one": 2, "replace-one": 1, "replace-special": 2}


@pytest.mark.parametrize("spread", [0.01, 0.1, 1.0])
def test_odds_go_beyond_the_bound_no_oftener_than_stated(spread):
    # The Gaussian mechanism of mu = 1; its delta by Balle & Wang 2018, Theorem 8.
    normal, mu, epsilon = NormalDist(), 1.0, 1.0
    above = normal.cdf(mu / 2 - epsilon / mu)
    delta = above - math.exp(epsilon) * normal.cdf(-mu / 2 - epsilon / mu)
    beyond = normal.cdf(mu / 2 - (epsilon + spread) / mu)
    assert beyond <= delta / -math.expm1(-spread)
    assert above > delta  # So that delta alone would be false of the outcome without its coin.


@pytest.mark.parametrize(
    ("share", "up", "down"),
    [
        (Fraction(1, 2), "50 %", "50 %"),
        (Fraction(62246, 10**5), "62.3 %", "62.2 %"),
        (Fraction(99999, 10**5), "100 %", "99.9 %"),
        (Fraction(1, 10**3), "0.1 %", "0.1 %"),
        (Fraction(12, 10**5), "0.02 %", "0.01 %"),
        (Fraction(1, 10**9), "0.0001 %", "0 %"),
        (Fraction(0), "0 %", "0 %"),
        (Fraction(1), "100 %", "100 %"),
    ],
)
def test_percentages_are_rounded_to_their_side(share, up, down):
    assert (percent_up(share), percent_down(share)) == (up, down)

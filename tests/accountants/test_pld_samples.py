"""Samples of a fixed size in privacy loss distributions: against exact figures of neighbours that
are as far apart as the theorem allows, with 20 digits, and a twin without the theorem."""

import mpmath as mp
import numpy as np
import pytest

from dpcore.accountants import loss_curves
from dpcore.accountants.loss_sums import composed_delta_up
from dpcore.privacy.events import GaussianDpEvent, SampledWithoutReplacementDpEvent
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.testing.recount_losses import epsilon_of_losses

REPLACE = NeighboringRelation.REPLACE_ONE
SPECIAL = NeighboringRelation.REPLACE_SPECIAL
SETTINGS = [(10, 1, 1.0, 0.5), (10, 3, 2.0, 0.3), (100, 1, 0.6, 1.0), (4, 3, 5.0, 0.2)]


def fixed(n, k, m, relation):
    return SampledWithoutReplacementDpEvent(n, k, GaussianDpEvent(m), relation)


def exact_delta(laws, m, epsilon):
    """Delta of two mixtures of normal laws, means and their weights: over the intervals in which
    the first is the more likely one, by their ends."""

    def excess(y, law=mp.npdf):
        first, second = (mp.fsum(share * law(y, mean, m) for mean, share in each) for each in laws)
        return first - mp.exp(epsilon) * second

    with mp.workdps(30):
        points = mp.linspace(-14 * m, 14 * m, 113)
        signs = [excess(y) > 0 for y in points]
        ends = [
            mp.findroot(excess, (low, high), solver="anderson")
            for low, high, here, there in zip(points, points[1:], signs, signs[1:], strict=False)
            if here != there
        ]
        ends = [-mp.inf, *ends, mp.inf]
        parts = (
            excess(b, mp.ncdf) - excess(a, mp.ncdf) for a, b in zip(ends, ends[1:], strict=False)
        )
        return mp.fsum(max(part, 0) for part in parts)


def neighbours(n, k, relation):
    """A row adds 1 (with another in its place: nothing), and every other row -1 under
    replace-special, nothing under replace-one, where the noise is for a move by 1."""
    p, others = mp.mpf(k) / n, -1 if relation is SPECIAL else 0
    return ((1, p), (others, 1 - p)), ((0, p), (others, 1 - p))


@pytest.mark.parametrize("relation", [REPLACE, SPECIAL])
@pytest.mark.parametrize(("n", "k", "m", "epsilon"), SETTINGS)
def test_a_sample_is_not_below_its_worst_neighbours(n, k, m, epsilon, relation):
    pair = neighbours(n, k, relation)
    exact = max(exact_delta(order, m, epsilon) for order in (pair, pair[::-1]))
    found = composed_delta_up(((fixed(n, k, m, relation), 1),), epsilon, float(exact))
    assert exact <= found
    if relation is REPLACE:  # There the curve is that of these neighbours.
        assert found <= float(exact) * 1.01


@pytest.mark.parametrize("rounds", [1, 30, 1000])
def test_a_curve_for_the_row_alone_is_caught(rounds, monkeypatch):
    """Broken on purpose: under replace-special, where noise is for C, as if a row in another's
    place were no further away than C."""
    event = fixed(10, 1, 5.0, SPECIAL)
    epsilon = epsilon_of_losses([event] * rounds, 1e-6)
    honest = composed_delta_up(((event, rounds),), epsilon, 1e-6)
    monkeypatch.setattr(loss_curves, "_displaced", lambda m, p: loss_curves._sampled(m, p, True))
    composed_delta_up.cache_clear()
    broken = composed_delta_up(((event, rounds),), epsilon, 1e-6)
    composed_delta_up.cache_clear()
    assert broken < 1e-6 * 0.9 < 1e-6 <= honest * (1 + 1e-3)


@pytest.mark.parametrize("rounds", [1, 30, 1000])
def test_it_costs_no_more_than_where_rows_are_swapped(rounds):
    """Noise for C under replace-special is half of that for 2 C under replace-one."""
    special, swapped = fixed(10, 1, 4.0, SPECIAL), fixed(10, 1, 2.0, REPLACE)
    found = [composed_delta_up(((event, rounds),), 1.0, 1e-6) for event in (special, swapped)]
    assert found[0] <= found[1] * (1 + 1e-3)


def test_both_orders_of_a_sample_have_their_own_curve():
    curves = loss_curves.curves_of(fixed(10, 1, 2.0, SPECIAL))
    x = np.linspace(0.0, 1.0, 50)
    drawn, without = (curve.bounds(x)[1] for curve in curves)
    assert (drawn >= without).all() and drawn[0] == pytest.approx(without[0])
    below = np.linspace(-1.0, -0.02, 50)
    # The other half: H'(-x) = 1 - e^-x + e^-x H(x), of the other order.
    expected = 1 - np.exp(below) + np.exp(below) * curves[1].bounds(-below)[1]
    assert curves[0].bounds(below)[1] == pytest.approx(expected)
    assert len(loss_curves.curves_of(fixed(10, 10, 2.0, SPECIAL))) == 1


def test_one_release_of_all_rows_is_a_gaussian():
    whole = composed_delta_up(((fixed(7, 7, 2.0, SPECIAL), 5),), 1.0, 1e-4)
    plain = composed_delta_up(((GaussianDpEvent(2.0), 5),), 1.0, 1e-4)
    assert whole == plain

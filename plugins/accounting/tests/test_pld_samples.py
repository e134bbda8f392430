"""Samples of a fixed size in privacy loss distributions: against exact values of neighbours that
are as far apart as the theorem allows, with 20 digits, and a twin without the theorem."""

import mpmath as mp
import numpy as np
import pytest

from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import GaussianDpEvent, SampledWithoutReplacementDpEvent
from dpcore_accounting import privacy_loss_curves
from dpcore_accounting.privacy_loss_composition import composed_delta_up
from dpcore_accounting.privacy_loss_distributions import loss_distribution
from dpcore_lab.checks import epsilon_of_losses

REPLACE = NeighboringRelation.REPLACE_ONE
SPECIAL = NeighboringRelation.REPLACE_SPECIAL
SETTINGS = [(10, 1, 1.0, 0.5), (10, 3, 2.0, 0.3), (100, 1, 0.6, 1.0), (4, 3, 5.0, 0.2)]


def fixed(n, k, m, relation):
    return SampledWithoutReplacementDpEvent(n, k, GaussianDpEvent(m), relation)


def exact_delta(distributions, m, epsilon):
    """Delta of two mixtures of normal distributions, means and their weights: over the intervals in
    which the first is the more likely one, by their ends."""

    def excess(y, distribution=mp.npdf):
        first, second = (
            mp.fsum(share * distribution(y, mean, m) for mean, share in each)
            for each in distributions
        )
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
    alone = lambda m, share: privacy_loss_curves._sampled(m, float(share), True)  # noqa: E731
    monkeypatch.setattr(privacy_loss_curves, "_displaced", alone)
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
    curves = privacy_loss_curves.curves_of(fixed(10, 1, 2.0, SPECIAL))
    x = np.linspace(0.0, 1.0, 50)
    drawn, without = (curve.bounds(x)[1] for curve in curves)
    assert (drawn >= without).all() and drawn[0] == pytest.approx(without[0])
    below = np.linspace(-1.0, -0.02, 50)
    # The other half: H'(-x) = 1 - e^-x + e^-x H(x), of the other order.
    expected = 1 - np.exp(below) + np.exp(below) * curves[1].bounds(-below)[1]
    assert curves[0].bounds(below)[1] == pytest.approx(expected)
    assert len(privacy_loss_curves.curves_of(fixed(10, 10, 2.0, SPECIAL))) == 1


def test_one_release_of_all_rows_is_a_gaussian():
    whole = composed_delta_up(((fixed(7, 7, 2.0, SPECIAL), 5),), 1.0, 1e-4)
    plain = composed_delta_up(((GaussianDpEvent(2.0), 5),), 1.0, 1e-4)
    assert whole == plain


def lower_hull(u, h):
    """Return the largest convex function of u that is at or below the points, at these."""
    hull = [0]
    for i in range(1, u.size):
        while len(hull) > 1:
            a, b = hull[-2:]
            if (h[b] - h[a]) * (u[i] - u[a]) < (h[i] - h[a]) * (u[b] - u[a]):
                break
            hull.pop()
        hull.append(i)
    return np.interp(u, u[hull], h[hull])


def reached(u, h):
    """Return S_1, S_2, ...: where the lines through neighbouring points meet 0."""
    return h[:-1] + (h[:-1] - h[1:]) / np.diff(u) * u[:-1]


@pytest.mark.parametrize(("n", "m"), [(100, 0.5), (100, 0.3), (10, 1.0)])
def test_of_a_bound_that_is_not_convex_the_distribution_is_that_of_its_hull_or_worse(n, m):
    """The bound of a sample under replace-special is no curve of a pair. The lines through its
    points alone, without the largest of those after them, would be below their hull's."""
    step, drawn = 2.0**-7, privacy_loss_curves.curves_of(fixed(n, 1, m, SPECIAL))[0]
    distribution = loss_distribution(drawn, step, 1e-12)
    above = np.cumsum(distribution.probabilities[::-1])[::-1] + distribution.infinite
    x = np.unique(
        np.concatenate(
            ([0.0], distribution.losses[(distribution.losses > -6) & (distribution.losses < 6)])
        )
    )
    u, h = np.exp(x), drawn.bounds(x)[1]
    of_hull = reached(u, lower_hull(u, h))
    found = above[np.searchsorted(distribution.losses, x[1:])]
    assert (found >= of_hull * (1 - 1e-9)).all()
    assert (reached(u, h) < of_hull * (1 - 1e-4)).any()


def test_what_is_left_of_a_sample_of_nearly_all_rows_is_no_difference_of_floats():
    """1 - p from p rounded to a float is wrong by 2^-53 / (1 - p), which no margin covers."""
    n, m, x = 2**40 + 1, 5.0, np.array([3.0])
    event = fixed(n, n - 1, m, SPECIAL)
    p = mp.mpf(n - 1) / n
    with mp.workdps(50):
        z = mp.log(1 + mp.expm1(x[0]) / p)
        one, two = (
            mp.ncdf(mu / 2 - z / mu) - mp.exp(z) * mp.ncdf(-mu / 2 - z / mu)
            for mu in (mp.mpf(1) / m, mp.mpf(2) / m)
        )
        apart = (1 - p) * mp.expm1(x[0]) / (p + mp.expm1(x[0]))
        exact = p * (one + apart * (two - one))
    low, high = privacy_loss_curves.curves_of(event)[0].bounds(x)
    assert low[0] <= exact <= high[0] <= low[0] * (1 + 1e-9)

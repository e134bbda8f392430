"""What releases cost that state a bound: against exact distributions and closed forms of others."""

import math
from fractions import Fraction

import mpmath
import pytest

from dpcore.accountants import GdpAccountant, ZcdpAccountant
from dpcore.accountants.registered import which_support
from dpcore.errors import BudgetExceededError, UnsupportedEventError
from dpcore.plugin import FixedSchedule, NeighboringRelation
from dpcore.plugin.parts import (
    ApproximateDpEvent,
    ComposedDpEvent,
    DominatingPairDpEvent,
    GaussianDpEvent,
    PoissonSampledDpEvent,
    PureAccountant,
    PureDpEvent,
    RenyiDpEvent,
    SampledWithoutReplacementDpEvent,
    ZcdpDpEvent,
)
from dpcore_accounting.advanced_composition import AdvancedCompositionAccountant
from dpcore_accounting.rdp import RdpAccountant
from dpcore_accounting.rdp import _cost as renyi_cost
from dpcore_accounting.single import SingleReleaseAccountant, pair_curve_up
from dpcore_lab.recount.ledger import recounted_epsilon, renyi_divergence

ORDERS = [1.0001, 1.5, 2.0, 3.7, 10.0, 60.0]
CURVE = RenyiDpEvent((2.0, 4.0, 16.0), (0.02, 0.05, 0.1))
ONE_SIDED = DominatingPairDpEvent((9, 1), (1, 1))
"""ln(9/5) one way, ln 5 the other."""
EVENTS = [ZcdpDpEvent(0.01), CURVE, ApproximateDpEvent(0.1, 1e-7), ONE_SIDED]


def randomised_responses(k):
    """Randomised response of factor 3, k times: its number of true answers has binomial
    distributions, and that is all that the k answers tell."""
    p = tuple(math.comb(k, i) * 3 ** (k - i) for i in range(k + 1))
    return DominatingPairDpEvent(p, p[::-1])


@pytest.mark.parametrize("k", [1, 2, 5, 30])
def test_the_curve_of_a_pair_is_that_of_composed_randomised_responses(k):
    # Kairouz, Oh & Viswanath 2015, Theorem 3.3, at epsilon = (k - 2 i) ln 3.
    for i in range(k // 2 + 1):
        terms = [
            math.comb(k, j) * (Fraction(3) ** (k - j) - Fraction(3) ** (k - 2 * i + j))
            for j in range(i)
        ]
        exact = sum(terms, Fraction(0)) / 4**k
        epsilon = Fraction(math.nextafter((k - 2 * i) * math.log(3), 0))
        found = pair_curve_up(randomised_responses(k), epsilon)
        assert exact <= found <= exact * (1 + Fraction(1, 10**12)) + Fraction(1, 10**14)


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("order", ORDERS)
def test_the_divergence_of_a_pair_is_that_of_its_distributions(k, order):
    with mpmath.workdps(60):
        alpha, three = mpmath.mpf(order), mpmath.mpf(3)
        moment = (three**alpha + three ** (1 - alpha)) / 4  # of one response
        exact = k * mpmath.log(moment) / (alpha - 1)
        found = renyi_cost(randomised_responses(k), Fraction(order))
        found = mpmath.mpf(found.numerator) / found.denominator
        assert exact * (1 - mpmath.mpf(10) ** -40) <= found <= exact * (1 + mpmath.mpf(10) ** -40)


def test_a_pair_is_charged_for_the_worse_of_its_directions():
    pure = PureAccountant.from_budget(9.0, 0.0)
    assert float(pure.cost(ONE_SIDED)) == pytest.approx(math.log(5), rel=1e-14)
    forth = DominatingPairDpEvent(ONE_SIDED.q, ONE_SIDED.p)
    one_way = []
    for accountant in (pure, *map(opened, (ZcdpAccountant, RdpAccountant))):
        assert accountant.cost(ONE_SIDED) == accountant.cost(forth)
    for order in ORDERS:
        # The broken twin: the sum of one direction alone is below the other's.
        a, b = (
            [w / sum(distribution) for w in distribution]
            for distribution in (ONE_SIDED.p, ONE_SIDED.q)
        )
        sums = [
            math.log(sum(x**order * y ** (1 - order) for x, y in zip(*pair, strict=True)))
            / (order - 1)
            for pair in ((a, b), (b, a))
        ]
        one_way.append(sums[0])
        assert float(renyi_cost(ONE_SIDED, Fraction(order))) == pytest.approx(max(sums), rel=1e-8)
    assert one_way[-1] < 0.5 * float(renyi_cost(ONE_SIDED, Fraction(ORDERS[-1])))
    curve = [
        max(sum(max(0, x - math.e * y) for x, y in zip(*w, strict=True)) for w in ((a, b), (b, a)))
    ]
    assert float(pair_curve_up(ONE_SIDED, Fraction(1))) == pytest.approx(curve[0], rel=1e-12)


def opened(accountant, epsilon=5.0, delta=1e-6):
    return accountant.from_budget(epsilon, delta)


@pytest.mark.parametrize("event", [ONE_SIDED, randomised_responses(1), randomised_responses(6)])
def test_the_rho_of_a_pair_bounds_its_divergence_at_every_order(event):
    rho = float(opened(ZcdpAccountant).cost(event))
    assert all(renyi_divergence(event, order) <= order * rho * (1 + 1e-12) for order in ORDERS)
    worst = opened(ZcdpAccountant).cost(PureDpEvent(recounted_epsilon([event], 0.0) * (1 + 1e-14)))
    assert rho <= worst


def of_many_answers(k, epsilon):
    """Randomised response with k answers, on two rows of different ones; the others are alike."""
    one, grown = 10**9, round(math.exp(epsilon) * 10**9)
    rest = ((k - 2) * one,) if k > 2 else ()
    return DominatingPairDpEvent((grown, one, *rest), (one, grown, *rest))


SKEWED = DominatingPairDpEvent((10**6, 10**6, 1), (10**6, 10**6 + 900, 700))


@pytest.mark.some_fast
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 4.0])
@pytest.mark.parametrize("k", [2, 3, 5, 1000])
def test_the_rho_of_many_answers_is_near_the_largest_over_all_orders(k, epsilon):
    """It was that of two answers, the worst release of that epsilon: 37 % more for three."""
    exact = largest_slope(of_many_answers(k, epsilon))
    rho = ZcdpAccountant.from_budget(50.0, 1e-6).cost(of_many_answers(k, epsilon))
    assert exact <= float(rho) <= exact * 1.013


def largest_slope(event, orders=320):
    """The largest D_alpha / alpha of either direction, with 40 digits, of many orders."""
    with mpmath.workdps(40):
        distributions = [
            [mpmath.mpf(w) / sum(distribution) for w in distribution]
            for distribution in (event.p, event.q)
        ]
        found = mpmath.mpf(0)
        for i in range(orders):
            alpha = 1 + mpmath.mpf(10) ** (mpmath.mpf(i) / orders * 16 - 8)
            for p, q in (distributions, distributions[::-1]):
                pairs = zip(p, q, strict=True)
                moment = mpmath.fsum(a**alpha * b ** (1 - alpha) for a, b in pairs)
                found = max(found, mpmath.log(moment) / (alpha - 1) / alpha)
        return float(found)


def test_the_rho_of_a_pair_is_not_that_of_order_one_alone():
    """The broken twin: the Kullback-Leibler divergence, which bounds rho for two answers."""
    with mpmath.workdps(40):
        distributions = [
            [mpmath.mpf(w) / sum(distribution) for w in distribution]
            for distribution in (SKEWED.p, SKEWED.q)
        ]
        of_order_one = max(
            mpmath.fsum(a * mpmath.log(a / b) for a, b in zip(*pair, strict=True))
            for pair in (distributions, distributions[::-1])
        )
    rho = float(ZcdpAccountant.from_budget(50.0, 1e-6).cost(SKEWED))
    assert of_order_one * 1.01 < largest_slope(SKEWED) <= rho <= largest_slope(SKEWED) * 1.013


def test_a_pair_with_an_outcome_of_one_distribution_alone_has_its_curve_only():
    event = DominatingPairDpEvent((1, 999_999, 0), (0, 999_999, 1))
    for accountant in (PureAccountant, ZcdpAccountant, RdpAccountant):
        assert not accountant.supports(event)
        can = (
            "one distribution alone has; pld can, where the algorithm states its schedule "
            "beforehand"
        )
        with pytest.raises(UnsupportedEventError, match=can):
            opened(accountant).compose(event)
    single = SingleReleaseAccountant.from_budget(1e-3, 1.01e-6)
    assert single.compose(event).spent == pytest.approx(1e-6)
    with pytest.raises(BudgetExceededError):
        SingleReleaseAccountant.from_budget(1e-3, 0.99e-6).compose(event)


@pytest.mark.parametrize("order", [1.001, 1.5, 2.0, 2.3, 4.0, 9.0, 16.0])
def test_between_stated_orders_the_bound_is_above_the_truth(order):
    # Randomised response, stated at three orders. (alpha - 1) D is convex, and D itself is not: the
    # broken twin, straight lines between divergences, is below the truth.
    event, stated = PureDpEvent(1.0), (2.0, 4.0, 16.0)
    known = tuple(renyi_divergence(event, a) * (1 + 1e-12) for a in stated)
    curve = RenyiDpEvent(stated, known)
    found, truth = float(renyi_cost(curve, Fraction(order))), renyi_divergence(event, order)
    assert truth * (1 - 1e-9) <= found <= known[-1]
    assert found == pytest.approx(renyi_divergence(curve, order), rel=1e-9)  # all chords, in floats
    if order in stated:
        assert found == pytest.approx(truth, rel=1e-9)
    if order in (2.3, 9.0):
        (low, at_low), (high, at_high) = {2.3: ((2, known[0]), (4, known[1]))}.get(
            order, ((4, known[1]), (16, known[2]))
        )
        line = at_low + (order - low) / (high - low) * (at_high - at_low)
        assert line < truth < found


def test_a_bound_at_a_higher_order_holds_at_lower_ones():
    loose = RenyiDpEvent((2.0, 3.0, 8.0), (9.0, 0.5, 1.0))
    assert renyi_cost(loose, Fraction(2)) == Fraction(1, 2)
    assert renyi_cost(loose, Fraction(3)) == Fraction(1, 2)


def test_above_the_last_order_nothing_is_known():
    high = RdpAccountant.at_order(1.0, 1e-6, Fraction(17))
    with pytest.raises(UnsupportedEventError, match="up to order 16 only"):
        high.compose(CURVE)
    planned = FixedSchedule.planned_accountant(RdpAccountant, 1.0, 1e-6, None, lambda m: {CURVE: 1})
    assert planned.order == 16 and planned.compose(CURVE).spent > 0


@pytest.mark.parametrize("last", [1.0005, 1.7, 2.3])
def test_an_order_is_chosen_from_those_that_are_stated(last):
    low = RenyiDpEvent((last,), (1e-3,))
    events = {low: 2, ComposedDpEvent((low, GaussianDpEvent(50.0))): 1}
    planned = RdpAccountant.for_schedule(20.0, 1e-6, events)
    assert 1 < planned.order <= Fraction(last)


@pytest.mark.parametrize("noise", [1.0, 4.0, 30.0])
def test_a_gaussian_that_states_its_bounds_costs_what_a_gaussian_does(noise):
    rho = 1 / (2 * noise * noise)
    gaussian, stated = GaussianDpEvent(noise), ZcdpDpEvent(rho)
    orders = tuple(1 + 1.03**i for i in range(-40, 300))
    curve = RenyiDpEvent(orders, tuple(order * rho for order in orders))
    for accountant in (opened(ZcdpAccountant), opened(RdpAccountant)):
        assert float(accountant.cost(stated)) == pytest.approx(float(accountant.cost(gaussian)))
    rdp = opened(RdpAccountant)
    assert float(rdp.cost(curve)) == pytest.approx(float(rdp.cost(gaussian)), rel=0.01)
    single = SingleReleaseAccountant.from_budget(30.0, 1e-6)
    renyi = SingleReleaseAccountant.from_budget(30.0, 1e-6, "renyi")
    epsilon = renyi.compose(gaussian).get_epsilon(1e-6)
    assert single.compose(stated).get_epsilon(1e-6) == pytest.approx(epsilon, rel=1e-5)
    assert epsilon <= single.compose(curve).get_epsilon(1e-6) * (1 + 1e-5) <= epsilon * 1.001
    assert single.compose(gaussian).get_epsilon(1e-6) < epsilon


@pytest.mark.parametrize("epsilon", [0.05, 0.4, 0.7])
def test_an_approximate_release_below_its_epsilon_has_the_worst_curve(epsilon):
    e, d = 0.7, 1e-3
    single = SingleReleaseAccountant.from_budget(epsilon, 0.5)
    worst = d + (1 - d) * (math.exp(e) - math.exp(epsilon)) / (1 + math.exp(e))
    event = ApproximateDpEvent(e, d)
    assert float(single.cost(event)) == pytest.approx(worst, rel=1e-12)
    assert recounted_epsilon([event], worst) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize(
    ("event", "names"),
    [
        (ZcdpDpEvent(0.1), ["zcdp", "rdp"]),
        (CURVE, ["rdp"]),
        (ApproximateDpEvent(0.1, 1e-9), ["zcdp", "rdp", "pure", "basic"]),
        (ONE_SIDED, ["zcdp", "rdp", "pure", "basic"]),
    ],
    ids=lambda x: type(x).__name__,
)
def test_each_is_held_by_those_who_can_bound_it(event, names):
    assert which_support(event) == names
    for other in (GdpAccountant, AdvancedCompositionAccountant):
        assert not other.supports(event)
        with pytest.raises(UnsupportedEventError, match=type(event).__name__):
            opened(other).compose(event)
    # No theorem here is about a sample of one.
    for sampled in (
        PoissonSampledDpEvent(0.1, event, NeighboringRelation.ADD_OR_REMOVE_ONE),
        SampledWithoutReplacementDpEvent(100, 10, event, NeighboringRelation.REPLACE_ONE),
    ):
        assert which_support(sampled) == []


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_all_of_a_kind_of_value_are_counted_again(event):
    single = SingleReleaseAccountant.from_budget(4.0, 1e-6)
    found = single.compose(event).get_epsilon(1e-6)
    again = recounted_epsilon([event], 1e-6)
    if type(event) is RenyiDpEvent:  # The recount looks between the stated orders too.
        assert again <= found * (1 + 1e-9)
    else:
        assert found == pytest.approx(again, rel=1e-5)
    rdp = FixedSchedule.planned_accountant(RdpAccountant, 12.0, 1e-6, None, lambda m: {event: 6})
    for _ in range(6):
        rdp = rdp.compose(event)
    assert recounted_epsilon([event] * 6, 1e-6) <= rdp.get_epsilon(1e-6) * (1 + 1e-9)


def test_a_refusal_names_who_can_hold_the_release_and_under_which_condition():
    # zcdp and pure were named, and refused it themselves where no schedule was stated.
    event = ApproximateDpEvent(0.1, 1e-9)
    for accountant in map(opened, (GdpAccountant, ZcdpAccountant)):
        with pytest.raises(UnsupportedEventError, match="[Ss]tates? (its|a) schedule"):
            accountant.compose(event)
    with pytest.raises(UnsupportedEventError, match="zcdp, rdp can\\.$"):
        opened(GdpAccountant).compose(ZcdpDpEvent(0.1))

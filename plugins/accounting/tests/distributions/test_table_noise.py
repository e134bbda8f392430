"""What noise by a table costs: against all neighbours, enumerated in fractions."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpcore.errors import InvalidInputError, UnsupportedEventError
from dpcore.plugin import NeighboringRelation, Problem, RowCount
from dpcore.plugin.parts import (
    ApproximateDpEvent,
    ComposedDpEvent,
    ContributionSum,
    DominatingPairDpEvent,
    LocalEngine,
    PureAccountant,
    RowFunction,
    SeededNoise,
    Sensitivity,
    Table,
    TableSession,
    load_registry,
)
from dpcore_accounting.distributions import IntegerDistribution, TableMaximum, TableNoise
from dpcore_accounting.distributions.shifted_pair import hull_of_shifts
from dpcore_accounting.distributions.table_noise import _pair, most_moved, whole_steps
from dpcore_accounting.pld import PldAccountant
from dpcore_accounting.single import SingleReleaseAccountant, pair_curve_up
from dpcore_tables.statistics import CategoricalColumn, Histogram

ZcdpAccountant, GdpAccountant = (
    load_registry().load("accountant", name) for name in ("zcdp", "gdp")
)
ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
DISTRIBUTIONS = [
    (1, 2, 1),
    (1, 3, 8, 3, 1),
    (5, 0, 2, 9, 0, 0, 15, 1),  # lopsided, with holes
    (1, 1, 2, 4, 8, 16, 32),  # one direction costs more than the other
    (8, 8, 8, 8),
    (8, 1, 8, 1, 8, 1, 4, 1),  # one step costs more than two at some factors, less at others
]


def linf(bound, grid_bits=0, relation=ADD):
    return Sensitivity("linf", bound, relation, grid_bits)


def shifted(weights, moves):
    """Return the exact distribution of a vector at these numbers, each with a deviate of its
    own."""
    total, distribution = sum(weights), {}
    for drawn in itertools.product(range(len(weights)), repeat=len(moves)):
        outcome = tuple(z + move for z, move in zip(drawn, moves, strict=True))
        share = math.prod((Fraction(weights[z], total) for z in drawn), start=Fraction(1))
        if share:
            distribution[outcome] = distribution.get(outcome, 0) + share
    return distribution


def of_pair(event, n=1):
    """Return the exact product of n pairs, two distributions over the same outcomes."""
    total = sum(event.p)
    assert total == sum(event.q)
    places = list(itertools.product(range(len(event.p)), repeat=n))
    return tuple(
        {at: Fraction(math.prod(side[i] for i in at), total**n) for at in places}
        for side in (event.p, event.q)
    )


def hockey_stick(p, q, g):
    return sum((max(Fraction(0), p.get(s, 0) - g * q.get(s, 0)) for s in {*p, *q}), Fraction(0))


def factors(*pairs):
    """Return every ratio at which a curve may bend, and points between, from 0 to beyond all."""
    ratios = {
        Fraction(p[s]) / q[s]
        for p, q in pairs
        for s in p
        if p.get(s) and q.get(s)
    }  # fmt: skip
    bends = sorted({Fraction(0), Fraction(1), *ratios})
    between = [(a + b) / 2 for a, b in itertools.pairwise(bends)]
    return [*bends, *between, bends[-1] + 1, bends[-1] * 1000]


def neighbours(weights, most, n, within=None):
    """Yield the two distributions of every move of n coordinates, in both orders; of those alone
    that are ``within`` a bound, if one is given."""
    still = shifted(weights, (0,) * n)
    for moves in itertools.product(range(-most, most + 1), repeat=n):
        if any(moves) and (within is None or within(moves)):
            moved = shifted(weights, moves)
            yield moved, still
            yield still, moved


def shortfall(event, weights, most, n=1, of=None, within=None):
    """Return how much too little, and how much too much, so many pairs (n, or ``of``) say of
    neighbours of n coordinates, at the worst of all factors."""
    pair, pairs = of_pair(event, of or n), list(neighbours(weights, most, n, within))
    little, much = Fraction(0), Fraction(0)
    for g in factors(pair, *pairs):
        claimed = hockey_stick(*pair, g)
        true = max(hockey_stick(*each, g) for each in pairs)
        little, much = max(little, true - claimed), max(much, claimed - true)
    return little, much


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("weights", DISTRIBUTIONS)
def test_one_coordinate_costs_what_its_worst_neighbours_say_at_every_factor(weights, most):
    event = TableNoise(IntegerDistribution(-2, weights), 1).event(linf(float(most)))
    assert shortfall(event, weights, most) == (0, 0)


@pytest.mark.parametrize(("weights", "most"), [((1, 2, 1), 1), ((1, 4, 2, 1), 2)])
def test_two_coordinates_cost_at_least_what_their_worst_neighbours_say(weights, most):
    event = TableNoise(IntegerDistribution(0, weights), 2).event(linf(float(most)))
    assert isinstance(event, ComposedDpEvent) and len(event.events) == 2
    assert event.events[0] == event.events[1]
    little, much = shortfall(event.events[0], weights, most, n=2)
    assert little == 0 and much < Fraction(1, 20)


def l1(moves):
    return sum(map(abs, moves))


def squared(moves):
    return sum(move * move for move in moves)


@pytest.mark.parametrize(
    ("sensitivity", "most", "within", "moved"),
    [
        (Sensitivity("l1", 1.0, ADD), 1, lambda moves: l1(moves) <= 1, 1),  # one count of many
        (Sensitivity("l2", 1.0, ADD), 1, lambda moves: squared(moves) <= 1, 1),
        (Sensitivity("l1", 2.0, REPLACE), 2, lambda moves: l1(moves) <= 2, 2),
        (Sensitivity("l2", math.sqrt(2), REPLACE), 1, lambda moves: squared(moves) <= 2, 2),
    ],
)
def test_the_coordinates_that_move_are_what_an_answer_costs(sensitivity, most, within, moved):
    weights = (1, 5, 2)
    event = TableNoise(IntegerDistribution(0, weights), 3).event(sensitivity)
    pairs = event.events if moved > 1 else (event,)
    assert len(pairs) == moved and whole_steps(sensitivity) == most
    assert shortfall(pairs[0], weights, most, 3, moved, within)[0] == 0


def test_a_cost_of_fewer_coordinates_than_move_is_seen():
    weights = (1, 5, 2)
    event = TableNoise(IntegerDistribution(0, weights), 1).event(linf(1.0))
    assert shortfall(event, weights, 1, 2, 1, lambda moves: l1(moves) <= 2)[0] > 0
    assert most_moved(linf(1.0)) == 2**20
    assert most_moved(Sensitivity("l2", 2.0, ADD, grid_bits=1)) == 16
    assert most_moved(Sensitivity("l1", 2.0, ADD, grid_bits=1)) == 4
    assert most_moved(Sensitivity("l1", 0.25, ADD)) == 1


def of_shifts(weights, shifts):
    """Return the pair of the worst of these shifts alone: of one of them, or of their hull."""
    from dpcore_accounting.distributions import shifted_pair

    points = {point for shift in shifts for point in shifted_pair._reached(weights, shift)}
    return _pair(shifted_pair._hull(sorted(points)))


@pytest.mark.parametrize(
    ("weights", "most", "shifts"),
    [
        (DISTRIBUTIONS[3], 1, [1]),  # one direction
        (DISTRIBUTIONS[3], 1, [-1]),
        (DISTRIBUTIONS[2], 2, [1, 2]),
        (DISTRIBUTIONS[5], 2, [-1, 1]),  # the smallest move
        (DISTRIBUTIONS[5], 2, [-2, 2]),  # the largest move
    ],
)
def test_a_cost_of_fewer_shifts_is_seen(weights, most, shifts):
    assert shortfall(of_shifts(weights, shifts), weights, most)[0] > 0


def test_a_cost_without_what_lies_beyond_the_table_is_seen():
    (weights, event) = DISTRIBUTIONS[1], _pair(hull_of_shifts(DISTRIBUTIONS[1], 1))
    inside = [(a, b) for a, b in zip(event.p, event.q, strict=True) if a and b]
    cut = DominatingPairDpEvent(*zip(*inside, strict=True))
    assert shortfall(cut, weights, 1)[0] > 0


def test_the_hull_is_the_same_under_both_orders():
    for weights in DISTRIBUTIONS:
        hull = hull_of_shifts(weights, 2)
        total = hull[-1][0]
        assert [(total - a, total - b) for b, a in reversed(hull)] == [*hull]


@pytest.mark.parametrize("weights", DISTRIBUTIONS)
@pytest.mark.parametrize("delta", [0.3, 0.5, 0.75])
def test_the_epsilon_at_a_delta_is_the_least(weights, delta):
    event = DominatingPairDpEvent(*map(tuple, zip(*_edges(weights), strict=True)))
    p, q = of_pair(event)
    if hockey_stick(p, q, Fraction(10**9)) > Fraction(delta):
        with pytest.raises(InvalidInputError, match="ends of the table alone cost a delta of"):
            TableNoise(IntegerDistribution(0, weights), 1, delta).event(linf(1.0))
        return
    stated = TableNoise(IntegerDistribution(0, weights), 1, delta).event(linf(1.0))
    assert isinstance(stated, ApproximateDpEvent) and stated.delta == delta
    ratio = Fraction(math.exp(stated.epsilon))
    assert hockey_stick(p, q, ratio * (1 + Fraction(1, 10**12))) <= Fraction(delta)
    if stated.epsilon > 1e-9:
        assert hockey_stick(p, q, ratio * (1 - Fraction(1, 10**9))) > Fraction(delta)


def _edges(weights):
    event = TableNoise(IntegerDistribution(0, weights), 1).event(linf(1.0))
    return list(zip(event.p, event.q, strict=True))


@pytest.mark.parametrize(
    ("sensitivity", "steps"),
    [
        (linf(1.0), 1),
        (linf(2.5), 2),  # an answer is a whole number of steps
        (linf(3.0 - 2.0**-30), 3),  # a float's rounding
        (linf(0.25), 1),  # never none
        (linf(0.75, grid_bits=3), 6),
        (linf(8.0, grid_bits=-2), 2),
        (Sensitivity("l2", math.sqrt(2), REPLACE), 1),
        (Sensitivity("l1", 2.0, REPLACE), 2),
    ],
)
def test_the_largest_move_is_in_whole_steps(sensitivity, steps):
    assert whole_steps(sensitivity) == steps


def test_moves_that_no_table_hides_are_refused_in_one_line():
    noise = TableNoise(IntegerDistribution(0, (1, 2, 1)), 1)
    for bound in (3.0, 1e9):
        with pytest.raises(InvalidInputError, match="Take a longer table") as refused:
            noise.event(linf(bound))
        assert "\n" not in str(refused.value)
    with pytest.raises(InvalidInputError, match="no value in common"):
        TableNoise(IntegerDistribution(0, (1, 0, 1)), 1).event(linf(1.0))
    with pytest.raises(InvalidInputError, match="more than is worked out"):
        TableNoise(IntegerDistribution.of([1.0] * 2**12, 0), 1).event(linf(1000.0))


def test_a_pair_of_too_many_outcomes_is_refused_and_a_delta_is_not():
    """Rounded, the ratios of a geometric distribution all differ: some 10,000 of them."""
    distribution = IntegerDistribution.of(
        [math.exp(-abs(z) / 200) for z in range(-5000, 5001)], 0, bits=60
    )
    with pytest.raises(InvalidInputError, match="state a delta"):
        TableNoise(distribution, 1).event(linf(1.0))
    assert TableNoise(distribution, 1, delta=1e-2).event(linf(1.0)).delta == 1e-2


LABELS = np.repeat([-1.0, 1.0], [30, 70])
TABLE = Table.from_matrix(np.zeros((100, 1)), LABELS, row_norm=1.0, raw_norm_bound=1.0)
COUNTS = Histogram(CategoricalColumn((), ("no", "yes")))
DISTRIBUTION = IntegerDistribution.of(
    [math.exp(-abs(z) / 4) for z in range(-120, 121)], -120, bits=60
)


def session(accountant, seed=1):
    return TableSession(LocalEngine(TABLE), accountant, ADD, SeededNoise(seed))


class Mine(TableNoise):
    """A class of an author's own, which may draw anything."""


def test_a_table_of_an_author_is_released_and_nobody_is_named():
    opened = session(PldAccountant.from_budget(1.0, 1e-6))
    (count,) = opened.release(RowCount(), TableNoise(DISTRIBUTION, 1))
    no, yes = opened.release(COUNTS, TableNoise(DISTRIBUTION, 2))
    assert max(abs(count - 100), abs(no - 30), abs(yes - 70)) < 120
    assert opened.foreign_parts == ()
    # The larger of the two counts, by 40 and noise of some 6.
    assert opened.release(COUNTS, TableMaximum(DISTRIBUTION, 2)) == 1 and opened.foreign_parts == ()
    opened.release(RowCount(), Mine(DISTRIBUTION, 1))
    assert opened.foreign_parts == (f"{__name__}:Mine",)


@RowFunction.contribution
def _one(x, y, parameters, out):
    out[0] = 1.0


def test_a_choice_by_sums_that_may_wrap_is_for_tables_within_the_capacity():
    facts = {"row_norm": 1.0, "raw_norm_bound": 1.0, "relation": ADD, "capacity": 1000}
    query = ContributionSum(
        Problem(load_registry().load("loss", "logistic")(), 0.0, 1, **facts),
        _one,
        2,
        1.0,
        (),
        "linf",
        grid_bits=0,
    )
    for made, most in ((TableNoise, None), (TableMaximum, 1000)):
        opened = session(PldAccountant.from_budget(1.0, 1e-6))
        opened.release(query, made(DISTRIBUTION, 2))
        assert opened.most_rows == most


def test_the_cost_is_that_of_the_same_noise_without_an_end():
    """exp(-|z| / 4) is a two-sided geometric distribution up to what is cut off, 1e-13: 1/4-DP a
    step."""
    accountant = SingleReleaseAccountant.from_budget(1.0, 1e-9)
    spent = accountant.compose(TableNoise(DISTRIBUTION, 1).event(linf(1.0)))
    assert spent.get_epsilon(1e-9) == pytest.approx(0.25, abs=1e-6)
    of_many = PldAccountant.from_budget(9.0, 1e-6).compose(
        TableNoise(DISTRIBUTION, 16).event(linf(1.0))
    )
    assert 1.0 < of_many.get_epsilon(1e-6) < 16 * 0.25


def test_no_epsilon_is_searched_for_beyond_the_largest_loss():
    """The ends of the table alone cost 1/4 of delta: below it no epsilon is enough."""
    spent = SingleReleaseAccountant.from_budget(1.0, 0.5).compose(
        TableNoise(IntegerDistribution(-1, (1, 2, 1)), 1).event(linf(1.0))
    )
    before = pair_curve_up.cache_info().misses
    assert spent.get_epsilon(0.24) == math.inf
    assert pair_curve_up.cache_info().misses - before <= 16


@pytest.mark.parametrize("coordinates", [3, 1])
def test_another_number_of_coordinates_is_refused_and_nothing_is_charged(coordinates):
    opened = session(PldAccountant.from_budget(1.0, 1e-6))
    with pytest.raises(InvalidInputError, match=f"answers of {coordinates} coordinates, .* has 2"):
        opened.release(COUNTS, TableNoise(DISTRIBUTION, coordinates))
    assert opened.ledger == ()
    with pytest.raises(
        InvalidInputError, match="the answer has another number"
    ):  # of what declares no number
        TableNoise(DISTRIBUTION, coordinates).release(
            np.zeros(2, np.int64), linf(1.0), SeededNoise(0)
        )


def test_filters_that_keep_a_delta_take_it_as_epsilon_and_delta():
    event = TableNoise(DISTRIBUTION, 2, delta=1e-9).event(Sensitivity("l1", 2.0, REPLACE))
    assert isinstance(event, ComposedDpEvent)
    for accountant in (ZcdpAccountant, PureAccountant):
        opened = session(accountant.with_reserve(5.0, 1e-6, 1e-8))
        assert opened.release(COUNTS, TableNoise(DISTRIBUTION, 2, delta=1e-9)).shape == (2,)
        charged = opened.ledger[0].event  # a row is in one bin: one of the two counts moves
        assert isinstance(charged, ApproximateDpEvent)
        assert charged.epsilon == pytest.approx(0.25, abs=1e-6)


@pytest.mark.parametrize("accountant", [ZcdpAccountant, GdpAccountant, PureAccountant])
def test_filters_without_a_rule_refuse_the_pair_before_a_charge(accountant):
    opened = session(accountant.from_budget(1.0, 0 if accountant is PureAccountant else 1e-6))
    with pytest.raises(UnsupportedEventError, match="pld"):  # which can, of a fixed schedule
        opened.release(COUNTS, TableNoise(DISTRIBUTION, 2))
    assert opened.ledger == ()


def test_a_table_of_numbers_that_add_up_otherwise_leaves_no_other_hull():
    class Wide(int):
        __add__ = __radd__ = lambda self, other: 10**6  # noqa: E731

    weights = (1, 6, 15, 20, 15, 6, 1)
    hull_of_shifts.cache_clear()
    assert hull_of_shifts(tuple(map(Wide, weights)), 1) == hull_of_shifts.__wrapped__(weights, 1)

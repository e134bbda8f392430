"""Releases that are (epsilon, delta)-DP: their deltas add up in a part of delta kept for them."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpcore.accountants import GdpAccountant, ZcdpAccountant
from dpcore.accountants.delta_reserve import deltas_of
from dpcore.errors import BudgetExceededError, InvalidInputError, UnsupportedEventError
from dpcore.plugin import FixedSchedule
from dpcore.plugin.parts import (
    ApproximateDpEvent,
    ComposedDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    PureAccountant,
    PureDpEvent,
)
from dpcore_accounting.best import best_accountant
from dpcore_accounting.rdp import RdpAccountant
from dpcore_lab.recount.ledger import recounted_epsilon

RESERVING = (PureAccountant, ZcdpAccountant, RdpAccountant)
EVENT = ApproximateDpEvent(0.01, 1e-8)
every_one = pytest.mark.parametrize("accountant", RESERVING, ids=lambda cls: cls.name)


@every_one
def test_without_a_reserve_they_are_refused(accountant):
    for unprepared in (
        accountant.from_budget(1.0, 1e-6),
        accountant.with_reserve(1.0, 1e-6, 0),
    ):
        with pytest.raises(UnsupportedEventError, match="opened without a part of delta"):
            unprepared.compose(EVENT)
        with pytest.raises(UnsupportedEventError):
            unprepared.cost(ComposedDpEvent((PureDpEvent(0.1), EVENT)))
    assert not GdpAccountant.supports(EVENT) and accountant.supports(EVENT)


@every_one
def test_exactly_the_reserve_is_allowed_and_one_tick_less_refuses_the_last(accountant):
    reserve = deltas_of({EVENT: 3})
    whole = accountant.with_reserve(5.0, 1e-6, reserve)
    short = accountant.with_reserve(5.0, 1e-6, reserve - Fraction(1, 2**120))
    for opened in (whole, short):
        assert opened.holds({EVENT: 2})
    spent = whole.compose(EVENT).compose(ComposedDpEvent((EVENT, EVENT)))
    assert spent.reserved_ticks == spent.reserve_ticks and not spent.holds({EVENT: 1})
    nearly = short.compose(EVENT).compose(EVENT)
    # The broken twin, which forgets deltas, has room left in its unit.
    assert nearly.spent_ticks + nearly._ticks(EVENT) <= nearly.budget_ticks
    for act in (EVENT, ComposedDpEvent((EVENT,))):
        with pytest.raises(BudgetExceededError, match=r"1e-08 of the delta that is kept"):
            nearly.compose(act)
    assert not nearly.holds({EVENT: 1}) and nearly.holds({PureDpEvent(0.01): 1})


@every_one
def test_their_order_does_not_matter(accountant):
    opened = accountant.with_reserve(5.0, 1e-6, 5e-7)
    events = [EVENT, ApproximateDpEvent(0.02, 3e-7), LaplaceDpEvent(50.0), PureDpEvent(0.01)]
    ends = []
    for order in itertools.permutations(events):
        one = opened
        for event in order:
            one = one.compose(event)
        ends.append(one)
    assert ends.count(ends[0]) == len(ends)
    assert ends[0] == opened.compose(ComposedDpEvent(tuple(events)))


@pytest.mark.parametrize("accountant", [ZcdpAccountant, RdpAccountant])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_what_is_kept_buys_nothing_else(accountant, share):
    plain, kept = (accountant.with_reserve(1.0, 1e-6, reserve) for reserve in (0.0, share * 1e-6))
    less = accountant.from_budget(1.0, 1e-6 * (1 - share) * (1 - 1e-12))
    assert less.budget <= kept.budget * (1 + 1e-6) and kept.budget < plain.budget
    assert (kept.epsilon, kept.delta, kept.reserve) == (1.0, 1e-6, share * 1e-6)


def test_pure_keeps_its_epsilon_and_states_the_reserve_alone():
    opened = PureAccountant.with_reserve(1.0, 1e-6, 1e-6)
    assert opened.budget == 1.0 and opened.reserve == 1e-6
    assert PureAccountant.from_budget(1.0, 1e-6).reserve == 0.0
    with pytest.raises(BudgetExceededError, match="epsilon"):
        opened.compose(PureDpEvent(0.995)).compose(EVENT)


@every_one
def test_the_report_takes_their_deltas_off(accountant):
    spent = accountant.with_reserve(1.0, 1e-6, 1e-7).compose(EVENT).compose(EVENT)
    assert spent.get_epsilon(1e-8) == math.inf
    assert 0 < spent.get_epsilon(1e-6) <= spent.get_epsilon(2.5e-8)
    if accountant is PureAccountant:
        assert spent.get_epsilon(2.1e-8) == pytest.approx(0.02)
    # A twin that forgets them reports less.
    assert spent.get_epsilon(2.5e-8) > 0.9 * recounted_epsilon([EVENT] * 2, 2.5e-8)


@every_one
def test_many_of_them_are_within_the_budget_by_another_count(accountant):
    event, count = ApproximateDpEvent(0.004, 1e-9), 300
    reserve = deltas_of({event: count})
    opened = accountant.with_reserve(1.5, 1e-6, reserve)
    for _ in range(count):
        opened = opened.compose(event)
    assert recounted_epsilon([event] * count, 1e-6) <= 1.5
    assert recounted_epsilon([event] * count, 2e-7) == math.inf
    if accountant is not PureAccountant:
        assert opened.get_epsilon(1e-6) < 0.8 < 300 * 0.004


@every_one
def test_a_stated_schedule_fixes_the_reserve(accountant):
    def schedule(m):
        return {EVENT: 4, ComposedDpEvent((LaplaceDpEvent(m), EVENT)): 2}

    planned = FixedSchedule.planned_accountant(accountant, 1.0, 1e-6, None, schedule)
    assert Fraction(planned.reserve_ticks, 2**120) == deltas_of(schedule(1.0))
    assert planned.reserve == pytest.approx(6e-8)
    for _ in range(4):
        planned = planned.compose(EVENT)


def test_the_best_accountant_keeps_it_too():
    best = best_accountant(
        RESERVING, 1.0, 1e-6, lambda m: {GaussianDpEvent(m): 30, ApproximateDpEvent(0.01, 1e-7): 2}
    )
    assert best.name == "rdp" and best.reserve == pytest.approx(2e-7)


def test_a_reserve_beyond_delta_is_refused():
    for accountant in (ZcdpAccountant, RdpAccountant):
        with pytest.raises(InvalidInputError, match="Raise --delta"):
            accountant.with_reserve(1.0, 1e-6, 1e-6)
    for accountant in RESERVING:
        with pytest.raises(InvalidInputError, match="Raise --delta"):
            accountant.with_reserve(1.0, 1e-6, 1.1e-6)
        with pytest.raises(InvalidInputError, match="reserve"):
            accountant.with_reserve(1.0, 1e-6, -1e-9)
        with pytest.raises(InvalidInputError, match="Raise --delta"):
            FixedSchedule.planned_accountant(accountant, 1.0, 1e-9, None, lambda m: {EVENT: 1})


def worst_distributions(e, d):
    """Return the distributions that every (e, d) release is post-processing of (Kairouz, Oh &
    Viswanath)."""
    near = (1 - d) / (1 + math.exp(-e))
    far = (1 - d) - near
    return (d, near, far, 0.0), (0.0, far, near, d)


def composed_delta(e, d, k, epsilon):
    """Return the exact delta of k such releases: of their Theorem 3.3, at any epsilon."""
    surely = -math.expm1(k * math.log1p(-d))
    near = 1 / (1 + math.exp(-e))
    rest = 0.0
    for i in range(k + 1):
        p = math.comb(k, i) * near ** (k - i) * (1 - near) ** i
        q = math.comb(k, i) * near**i * (1 - near) ** (k - i)
        rest += max(0.0, p - math.exp(epsilon) * q)
    return surely + (1 - surely) * rest


@every_one
@pytest.mark.parametrize("event", [ApproximateDpEvent(0.2, 1e-4), ApproximateDpEvent(1e-4, 1e-4)])
def test_as_many_of_the_worst_as_fit_are_within_the_budget(accountant, event):
    epsilon, delta = 1.0, 1e-2
    opened, count = accountant.with_reserve(epsilon, delta, 5e-3), 0
    while opened.holds({event: count + 1}):
        count += 1
    assert count >= 3
    assert composed_delta(event.epsilon, event.delta, count, epsilon) <= delta
    # The broken twin charges them as pure releases. It goes on where deltas alone are too many.
    twin = accountant.from_budget(epsilon, delta)
    pure, too_many = PureDpEvent(event.epsilon), 150
    if event.epsilon < 0.01:
        assert twin.holds({pure: too_many})
        assert composed_delta(event.epsilon, event.delta, too_many, epsilon) > delta


@every_one
def test_choices_that_depend_on_earlier_outcomes_stay_within_the_budget(accountant):
    """Exact trees: after every outcome another (e, d), as long as the filter consents."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        epsilon, delta = float(rng.uniform(0.3, 2.0)), float(rng.uniform(0.05, 0.3))
        opened = accountant.with_reserve(epsilon, delta, delta * float(rng.uniform(0.3, 0.9)))

        def excess(filter_now, p, q, depth, epsilon=epsilon):
            e, d = float(rng.uniform(0.02, 0.9)), float(rng.uniform(0.001, 0.1))
            try:
                after = filter_now.compose(ApproximateDpEvent(e, d))
            except BudgetExceededError:
                depth = 0
            if depth == 0:
                return np.maximum(0, [p - math.exp(epsilon) * q, q - math.exp(epsilon) * p])
            distributions = zip(*worst_distributions(e, d), strict=True)
            return sum(excess(after, p * a, q * b, depth - 1) for a, b in distributions)

        assert (excess(opened, 1.0, 1.0, 4) <= delta * (1 + 1e-12)).all()

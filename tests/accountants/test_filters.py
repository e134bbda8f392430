"""What every built-in accountant does: exact sums, one-sided rounding, refusal, validation."""

import math
from dataclasses import FrozenInstanceError, dataclass
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.accountants import GdpAccountant, ZcdpAccountant, gdp
from dpcore.errors import BudgetExceededError, InvalidInputError, UnsupportedEventError
from dpcore.plugin import Accountant
from dpcore.plugin.parts import (
    ComposedDpEvent,
    DpEvent,
    ExponentialMechanismDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    NonPrivateDpEvent,
    PureAccountant,
    PureDpEvent,
    ZcdpDpEvent,
)
from dpcore_accounting.rdp import RdpAccountant

ACCOUNTANTS = (ZcdpAccountant, GdpAccountant, RdpAccountant, PureAccountant)
PAIRS = [(cls, conversion) for cls in ACCOUNTANTS for conversion in cls.conversions]
OPEN = {pair: pair[0].from_budget(1.0, 1e-6, pair[1]) for pair in PAIRS}
every_accountant = pytest.mark.parametrize(
    "opened", OPEN.values(), ids=["-".join((c.name, v)) for c, v in PAIRS]
)


def event_of(accountant, size):
    """The accountant's first kind of event, costing less for a larger ``size``."""
    kind = accountant.events[0]
    return kind(1 / size) if kind is PureDpEvent else kind(size)


@every_accountant
def test_follows_the_protocol(opened):
    assert isinstance(opened, Accountant)
    assert opened.fully_adaptive
    assert opened.spent == 0.0
    assert opened.get_epsilon(1e-6) == 0.0
    assert opened.budget == opened.remaining > 0
    with pytest.raises(FrozenInstanceError):
        opened.spent_ticks = 1


@every_accountant
def test_exactly_the_budget_is_allowed_and_one_tick_more_refused(opened):
    event = event_of(opened, 50.0)
    ticks = opened.cost(event) * 2**120
    assert ticks.denominator == 1
    full = type(opened)(**{**vars(opened), "budget_ticks": 3 * int(ticks)})
    spent = full.compose(event).compose(event).compose(event)
    assert spent.remaining == 0.0
    short = type(opened)(**{**vars(opened), "budget_ticks": 3 * int(ticks) - 1})
    nearly = short.compose(event).compose(event)
    with pytest.raises(BudgetExceededError, match="remains"):
        nearly.compose(event)
    assert nearly.spent_ticks == 2 * ticks


@every_accountant
@settings(max_examples=15, deadline=None)
@given(sizes=st.lists(st.floats(5.0, 1e6), min_size=1, max_size=12), data=st.data())
def test_order_does_not_matter_and_the_budget_is_never_passed(opened, sizes, data):
    events = [event_of(opened, size) for size in sizes]
    shuffled = data.draw(st.permutations(events))
    try:
        one_way = opened
        for event in events:
            one_way = one_way.compose(event)
            assert one_way.spent_ticks <= one_way.budget_ticks
    except BudgetExceededError:
        assert sum(opened.cost(event) for event in events) > Fraction(opened.budget_ticks, 2**120)
        return
    other_way = opened
    for event in shuffled:
        other_way = other_way.compose(event)
    assert one_way == other_way == opened.compose(ComposedDpEvent(tuple(events)))
    assert one_way.get_epsilon(opened.delta) <= opened.epsilon
    assert Fraction(one_way.spent) >= sum(opened.cost(event) for event in events)


@every_accountant
@settings(max_examples=10, deadline=None)
@given(size=st.floats(20.0, 1e5), count=st.integers(1, 3))
def test_epsilon_falls_with_noise_and_grows_with_events(opened, size, count):
    def epsilon(noise, events):
        accountant = opened
        for _ in range(events):
            accountant = accountant.compose(event_of(opened, noise))
        return accountant.get_epsilon(1e-9)

    # The direction, less noise for less epsilon, was once reversed (PySyft#6914).
    here = epsilon(size, count)
    assert epsilon(size * 1.01, count) < here < epsilon(size, count + 1)
    assert here < epsilon(size / 1.01, count)


@every_accountant
def test_the_budgets_epsilon_holds_at_its_own_delta_and_not_below(opened):
    event, spent = event_of(opened, 50.0), opened
    while spent.holds({event: 1}):
        spent = spent.compose(event)
    assert 0.9 < spent.get_epsilon(opened.delta) <= opened.epsilon
    if not opened.delta_may_be_zero:
        assert spent.get_epsilon(opened.delta / 1000) > 1.1 * opened.epsilon


@every_accountant
def test_a_refusal_charges_nothing_and_says_what_would_be_enough(opened):
    event = event_of(opened, 0.01)
    with pytest.raises(BudgetExceededError, match="an epsilon of .* would be enough") as refused:
        opened.compose(event)
    assert opened.spent_ticks == 0
    enough = float(str(refused.value).split("an epsilon of ")[1].split(" ")[0])
    again = type(opened).from_budget(enough, opened.delta, opened.conversion)
    assert again.compose(event).spent > 0
    less = type(opened).from_budget(enough * 0.99, opened.delta, opened.conversion)
    with pytest.raises(BudgetExceededError):
        less.compose(event)


def test_a_refusal_under_gdp_searches_for_one_budget_only(monkeypatch):
    # Each is a search of its own over the certified curve: twenty of them took a second.
    opened, searches = GdpAccountant.from_budget(0.3, 1e-7), []
    monkeypatch.setattr(gdp, "gaussian_mu_squared_down", lambda *asked: searches.append(asked))
    with pytest.raises(BudgetExceededError, match="an epsilon of .* would be enough"):
        opened.compose(GaussianDpEvent(0.5))
    assert not searches


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.floats(-3, 1), st.floats(-12, -0.1), st.floats(-2, 3))
def test_the_epsilon_that_gdp_says_is_enough_is_and_one_percent_less_is_not(eps, delta, noise):
    opened, event = GdpAccountant.from_budget(10**eps, 10**delta), GaussianDpEvent(10**noise)
    try:
        opened.compose(event)
    except BudgetExceededError as refused:
        enough = float(str(refused).split("an epsilon of ")[1].split(" ")[0])
        assert GdpAccountant.from_budget(enough, opened.delta).holds({event: 1})
        less = GdpAccountant.from_budget(max(opened.epsilon, 0.99 * enough), opened.delta)
        assert not less.holds({event: 1})


@every_accountant
def test_a_later_refusal_says_what_remains(opened):
    begun = opened.compose(event_of(opened, 1e4))
    with pytest.raises(BudgetExceededError, match=r"remains\.$"):
        begun.compose(event_of(opened, 0.01))


@every_accountant
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_the_report_is_rounded_up_from_what_was_charged(opened, delta):
    spent = opened.compose(event_of(opened, 30.0))
    reopened = type(opened).from_budget(
        spent.get_epsilon(delta) * (1 + 1e-9), delta, opened.conversion
    )
    if opened.name != "rdp":  # its order follows the budget
        assert reopened.budget >= spent.spent * (1 - 1e-9)


BAD_EPSILON = [0.0, -1.0, math.nan, math.inf, -math.inf, "1", None, True, 10**400]
BAD_DELTA = [-1e-9, 1.0, 1.5, math.nan, math.inf, "0", None]


@pytest.mark.parametrize("cls", ACCOUNTANTS)
def test_bad_budgets_are_refused(cls):
    for epsilon in BAD_EPSILON:
        with pytest.raises(InvalidInputError, match="Expected epsilon="):
            cls.from_budget(epsilon, 1e-6)
    for delta in BAD_DELTA:
        with pytest.raises(InvalidInputError, match="Expected delta="):
            cls.from_budget(1.0, delta)
        with pytest.raises(InvalidInputError, match="Expected delta="):
            cls.from_budget(1.0, 1e-6).get_epsilon(delta)
    with pytest.raises(InvalidInputError, match="Expected conversion='best' to be one of"):
        cls.from_budget(1.0, 1e-6, "best")


@pytest.mark.parametrize("cls", ACCOUNTANTS)
def test_delta_zero_is_for_pure_only(cls):
    if cls is PureAccountant:
        assert cls.from_budget(1.0, 0.0).compose(PureDpEvent(1.0)).get_epsilon(0.0) == 1.0
    else:
        with pytest.raises(InvalidInputError, match="Only the pure accountant allows delta = 0"):
            cls.from_budget(1.0, 0.0)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize("kind", [GaussianDpEvent, LaplaceDpEvent, PureDpEvent])
def test_a_ledger_takes_no_bad_event(kind, value):
    with pytest.raises(InvalidInputError, match="to be a finite float > 0"):
        kind(value)


@dataclass(frozen=True, slots=True)
class PoissonSampledGaussianDpEvent(GaussianDpEvent):
    """A Gaussian by type, another distribution in truth."""

    sampling_probability: float


@every_accountant
def test_what_cannot_be_bounded_is_refused(opened):
    # A central limit theorem would sell these as Gaussian: too low a value for each of (1.5, .04),
    # (1, .01), (.8, .001), (3, .2) (noise multiplier, sampling rate).
    for noise, rate in [(1.5, 0.04), (1.0, 0.01), (0.8, 0.001), (3.0, 0.2)]:
        sampled = PoissonSampledGaussianDpEvent(noise, rate)
        for event in (sampled, ComposedDpEvent((event_of(opened, 50.0), sampled)), DpEvent()):
            assert not opened.supports(event)
            with pytest.raises(UnsupportedEventError, match="cannot bound the cost"):
                opened.compose(event)


def test_a_refusal_names_who_can():
    with pytest.raises(UnsupportedEventError, match="The gdp .* a ZcdpDpEvent; zcdp, rdp can"):
        GdpAccountant.from_budget(1.0, 1e-6).compose(ZcdpDpEvent(0.1))
    with pytest.raises(
        UnsupportedEventError, match="The pure .* a GaussianDpEvent; zcdp, gdp, rdp can"
    ):
        PureAccountant.from_budget(1.0, 0.0).compose(GaussianDpEvent(1.0))
    with pytest.raises(UnsupportedEventError, match="no accountant that is installed can"):
        ZcdpAccountant.from_budget(1.0, 1e-6).compose(DpEvent())
    with pytest.raises(UnsupportedEventError, match="exact answer: --accountant none .*, which"):
        GdpAccountant.from_budget(1.0, 1e-6).compose(NonPrivateDpEvent())


def test_a_float_sum_would_pass_the_budget():
    # The broken twin: ten times 0.1 in floats is 0.9999999999999999, which leaves room for more.
    assert sum([0.1] * 10) + 1e-16 <= 1.0
    accountant = PureAccountant.from_budget(1.0, 0.0)
    for _ in range(9):
        accountant = accountant.compose(PureDpEvent(0.1))
    with pytest.raises(BudgetExceededError):  # the float 0.1 is above a tenth
        accountant.compose(PureDpEvent(0.1))


def test_gaussian_only_runs_buy_more_under_gdp():
    for epsilon in (0.05, 0.4, 1.6):
        zcdp = ZcdpAccountant.from_budget(epsilon, 1e-8)
        gdp = GdpAccountant.from_budget(epsilon, 1e-8)
        assert gdp.budget > 2 * zcdp.budget


@pytest.mark.parametrize("epsilon", [1e-300, 1e-12, 700.0, 1e308])
@pytest.mark.parametrize("delta", [5e-324, 1e-8, 1 - 2**-53])
@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_extreme_budgets_open(pair, epsilon, delta):
    accountant = pair[0].from_budget(epsilon, delta, pair[1])
    assert 0 <= accountant.budget <= math.nextafter(math.inf, 0)


def test_mixed_events_add_up():
    accountant = ZcdpAccountant.from_budget(1.0, 1e-6)
    events = (
        GaussianDpEvent(20.0),
        ExponentialMechanismDpEvent(0.05),
        LaplaceDpEvent(30.0),
        PureDpEvent(0.01),
    )
    assert accountant.cost(ComposedDpEvent(events)) == sum(
        accountant.cost(event) for event in events
    )


@pytest.mark.parametrize(
    "events", [(), [PureDpEvent(0.1)], (event for event in [PureDpEvent(0.1)]), (1.0,)]
)
def test_a_composed_event_that_would_be_free_is_refused(events):
    with pytest.raises(InvalidInputError, match="one DpEvent or more"):
        ComposedDpEvent(events)

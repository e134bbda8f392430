"""No cache finds the value of one number for another, whatever that says that it equals."""

from fractions import Fraction
from functools import lru_cache
from types import SimpleNamespace

import pytest

from dpcore.errors import InvalidInputError, UnsupportedEventError
from dpcore.plugin import Gaussian, NeighboringRelation, RowCount
from dpcore.plugin.parts import (
    ComposedDpEvent,
    DpEvent,
    GaussianDpEvent,
    GdpAccountant,
    GridScale,
    SeededNoise,
    cached_by_value,
    load_registry,
)
from dpcore.privacy.exact_copies import plain

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
SMALL = 2.0**-10
NAMES = ("zcdp", "gdp", "rdp", "pld", "single")


class Lying(float):
    """Equals and hashes as a float, and is a million as a fraction."""

    as_integer_ratio = lambda self: (10**6, 1)  # noqa: E731


class Flagged(type):
    __flags__ = 0
    __hash__ = lambda cls: hash(float)  # noqa: E731
    __eq__ = lambda cls, other: other is cls or other is float  # noqa: E731


class Posing(Lying, metaclass=Flagged):
    """Says besides that it is a type of C's, and float itself."""


class LyingInt(int):
    numerator = property(lambda self: 10**9)
    denominator = property(lambda self: 1)


def altered(posed, value=SMALL):
    event = GaussianDpEvent(value)
    object.__setattr__(event, "noise_multiplier", posed)
    return event


def opened(name):
    return load_registry().load("accountant", name).from_budget(1.0, 1e-6)


def test_a_cache_by_equality_finds_the_wrong_one():
    inverse = lru_cache(lambda event: 1 / Fraction(event.noise_multiplier))
    assert inverse(altered(Lying(SMALL))) == inverse(GaussianDpEvent(SMALL)) == Fraction(1, 10**6)
    # The same hash: an event that was altered once it was kept.
    event = GaussianDpEvent(2.0**51)
    kept = lru_cache(lambda event: 1 / Fraction(event.noise_multiplier))
    kept(event)
    object.__setattr__(event, "noise_multiplier", SMALL)
    assert kept(GaussianDpEvent(SMALL)) == 2.0**-51
    own = cached_by_value(8)(lambda event: 1 / Fraction(event.noise_multiplier))
    own(event := GaussianDpEvent(2.0**51))
    object.__setattr__(event, "noise_multiplier", SMALL)
    assert own(altered(Lying(SMALL))) == own(GaussianDpEvent(SMALL)) == 1 / SMALL


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("posed", [Lying(SMALL), Posing(SMALL)], ids=["float", "metaclass"])
def test_an_altered_event_leaves_no_other_cost(name, posed):
    accountant, multiplier = opened(name), SMALL * (1 + NAMES.index(name) / 8)
    event = altered(type(posed)(multiplier))
    try:
        accountant.cost(event)
        accountant.holds({event: 1})
    except (InvalidInputError, UnsupportedEventError):
        pass
    assert accountant.cost(GaussianDpEvent(multiplier)) >= 0.5
    assert not accountant.holds({GaussianDpEvent(multiplier): 1})


def test_a_float_of_a_class_that_says_it_is_written_in_c_is_refused():
    assert not type(Posing(SMALL)).__flags__
    with pytest.raises(InvalidInputError, match="finite float"):
        GaussianDpEvent(Posing(SMALL))


def test_a_class_that_equals_an_event_has_no_cost():
    class Posed(type):
        __hash__ = lambda cls: hash(GaussianDpEvent)  # noqa: E731
        __eq__ = lambda cls, other: other is GaussianDpEvent  # noqa: E731

    class Any(metaclass=Posed):
        noise_multiplier = 1e6
        __hash__ = lambda self: hash(GaussianDpEvent(SMALL))  # noqa: E731
        __eq__ = lambda self, other: True  # noqa: E731

    assert type(Any()) in (GaussianDpEvent,)
    for name in NAMES:
        assert not opened(name).supports(Any())
        with pytest.raises(UnsupportedEventError):
            opened(name).cost(Any())


def test_scales_of_noise_are_those_of_their_numbers():
    one = Gaussian(3 * SMALL).scale(RowCount("l2").sensitivity(ADD))
    with pytest.raises(InvalidInputError):
        GridScale(LyingInt(one.significand), one.shift)
    GridScale.at_least(Posing(3 * SMALL), Posing(1.0), 0)
    forged = GridScale(one.significand, one.shift)
    object.__setattr__(forged, "significand", LyingInt(one.significand))
    forged.over(1.0, 0)
    noise = SeededNoise(0)
    noise.gaussian(forged, 4096)
    assert Gaussian(3 * SMALL).scale(RowCount("l2").sensitivity(ADD)) == one
    assert one.over(1.0, 0) >= 3 * SMALL
    wide = GridScale.at_least(2.0**20, 1.0, 0)
    assert abs(noise.gaussian(wide, 4096)).mean() > 2.0**18


def test_copies_are_exact_and_nobody_elses():
    both = ComposedDpEvent((GaussianDpEvent(2.0), GaussianDpEvent(4.0)))
    copy = plain(both)
    assert copy == both and copy is not both and copy.events[0] is not both.events[0]
    assert type(plain(Lying(2.0))) is float and plain(Lying(2.0)) == 2.0
    for odd in (object(), [1.0], ComposedDpEvent, "x".join):
        with pytest.raises(InvalidInputError):
            plain(odd)
    inner = altered("1.0")
    with pytest.raises(InvalidInputError, match="finite float"):
        plain(inner)


def test_counts_of_a_schedule_are_whole_numbers_of_exact_events():
    stated = [(GaussianDpEvent(2.0), LyingInt(3)), (altered(Lying(2.0), 2.0), 2)]
    counts = DpEvent.counted(SimpleNamespace(items=lambda: stated))
    assert counts == {GaussianDpEvent(2.0): 5}
    assert {type(count) for count in counts.values()} == {int}
    with pytest.raises(InvalidInputError, match="whole number"):
        DpEvent.counted({GaussianDpEvent(2.0): 1.5})


def test_what_a_cache_hands_out_is_nobody_elses_to_set():
    kept = lru_cache(lambda bound: Fraction(bound))
    kept(0.5)._numerator = 10**30
    assert kept(0.5) > 1  # the twin, which hands out the one that it keeps
    ratio = GridScale.at_least(SMALL, 1.0, 0).over(1.0, 0)
    value = GdpAccountant.mu_squared_down(Fraction(1), Fraction(1, 10**6))
    before = Fraction(ratio), Fraction(value)
    scale = GridScale.at_least(SMALL, 1.0, 0)
    object.__setattr__(scale, "shift", 0)
    ratio._numerator = value._numerator = 10**30
    after = GridScale.at_least(SMALL, 1.0, 0).over(1.0, 0)
    assert (after, GdpAccountant.mu_squared_down(Fraction(1), Fraction(1, 10**6))) == before

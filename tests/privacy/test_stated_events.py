"""Events that state a bound refuse what is none."""

import math

import pytest

from dpcore.errors import InvalidInputError
from dpcore.plugin import parts
from dpcore.privacy.stated_events import (
    ApproximateDpEvent,
    DominatingPairDpEvent,
    RenyiDpEvent,
    ZcdpDpEvent,
)

BAD = [0.0, -1.0, math.nan, math.inf, 1, "1", None]


def test_they_are_values_on_the_page_of_parts():
    assert ZcdpDpEvent(0.5) == parts.ZcdpDpEvent(0.5)
    events = {
        parts.RenyiDpEvent((2.0, 3.0), (0.1, 0.2)),
        parts.ApproximateDpEvent(1.0, 1e-9),
        parts.DominatingPairDpEvent((3, 1), (1, 3)),
    }
    assert len(events) == 3


@pytest.mark.parametrize("bad", BAD)
def test_a_value_out_of_range_is_refused(bad):
    for make in (
        lambda: ZcdpDpEvent(bad),
        lambda: RenyiDpEvent((2.0,), (bad,)),
        lambda: RenyiDpEvent((bad,), (1.0,)),
        lambda: ApproximateDpEvent(bad, 1e-9),
        lambda: ApproximateDpEvent(1.0, bad),
    ):
        with pytest.raises(InvalidInputError, match="Expected"):
            make()


@pytest.mark.parametrize(
    ("orders", "epsilons"),
    [
        ((2.0, 2.0), (1.0, 1.0)),
        ((3.0, 2.0), (1.0, 1.0)),
        ((1.0,), (1.0,)),
        ((0.5,), (1.0,)),
        ((), ()),
        ((2.0,), (1.0, 2.0)),
        ([2.0], [1.0]),
    ],
)
def test_a_curve_without_increasing_orders_is_refused(orders, epsilons):
    with pytest.raises(InvalidInputError, match="orders"):
        RenyiDpEvent(orders, epsilons)


def test_a_delta_of_one_is_refused():
    with pytest.raises(InvalidInputError, match="delta=1.0 < 1"):
        ApproximateDpEvent(1.0, 1.0)


@pytest.mark.parametrize(
    ("p", "q"),
    [
        ((1, 2), (1, 2)),
        ((1, 2), (2, 4)),
        ((1.0, 2.0), (2.0, 1.0)),
        ((1, -1), (1, 1)),
        ((1, 0), (2, 0)),
        ((0, 0), (1, 1)),
        ((1,), (1, 2)),
        ((), ()),
        ([3, 1], [1, 3]),
        ((True, 1), (1, 2)),
    ],
)
def test_weights_that_are_no_two_distributions_are_refused(p, q):
    with pytest.raises(InvalidInputError, match="Expected"):
        DominatingPairDpEvent(p, q)

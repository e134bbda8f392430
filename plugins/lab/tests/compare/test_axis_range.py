"""Floors and ceilings: named in the panel, and the axis is that of the curves."""

import math
from dataclasses import replace

import pytest

from dpcore_lab.compare.axis_range import FLOOR, levels_of, range_of
from dpcore_lab.compare.figure import draw
from dpcore_lab.compare.table import Mean

SETTINGS = {"loss": "logistic", "relation": "replace-one", "delta": 1e-8}


def compared(floor, ceiling, values=(98.6, 99.0, 99.6)):
    """Return the means of KDD Cup 1999: three budgets, and the references."""
    curves = [
        Mean("kdd", "gd", epsilon, value, 0.1, 5, 0)
        for epsilon, value in zip((0.05, 0.2, 0.8), values, strict=True)
    ]
    plain = [("majority", floor), ("nonprivate", ceiling)]
    return [*(Mean("kdd", name, None, value, 0.1, 5, 0) for name, value in plain), *curves]


def texts(axis):
    return [text.get_text() for text in axis.texts]


def test_a_floor_far_below_does_not_squeeze_the_curves():
    """Majority at 80.3 took nine tenths of the panel from curves between 98.6 and 99.6."""
    (axis,) = draw(compared(80.3, 99.7), SETTINGS, "accuracy").axes
    low, high = axis.get_ylim()
    assert 98.3 < low < 98.5 and 99.7 < high < 99.9
    assert texts(axis) == ["majority: 80.3 ↓", "not private: 99.7"]
    # The control: one that is near is reached, and named on its line.
    (axis,) = draw(compared(98.4, 99.7), SETTINGS, "accuracy").axes
    assert axis.get_ylim()[0] < 98.4 and texts(axis)[0] == "majority: 98.4"


def test_a_ceiling_far_above_is_named_at_the_edge():
    (axis,) = draw(compared(98.5, 99.7, (60.0, 61.0, 62.0)), SETTINGS, "accuracy").axes
    assert axis.get_ylim()[1] < 63 and texts(axis)[1] == "not private: 99.7 ↑"


@pytest.mark.parametrize(
    ("loss", "floor"), [("logistic", math.log(2)), ("hinge-svm", 1.0), ("huber-svm", 1.0)]
)
def test_the_floor_of_an_objective_is_that_of_zeros(loss, floor):
    settings = {**SETTINGS, "loss": loss}
    (_, ceiling, zeros) = levels_of(compared(0.6, 0.1), "kdd", settings, "objective")
    assert (zeros.name, zeros.ceiling) == (FLOOR, False) and ceiling.ceiling
    assert zeros.value == pytest.approx(floor)


@pytest.mark.parametrize("loss", ["ridge", "softmax", "of-nobody"])
def test_a_loss_that_is_not_known_or_of_two_classes_has_no_floor(loss):
    levels = levels_of(compared(None, 0.1)[1:], "kdd", {**SETTINGS, "loss": loss}, "objective")
    assert [level.name for level in levels] == ["nonprivate"]


def test_one_wide_interval_does_not_stretch_the_axis():
    means = compared(80.3, 99.7)[2:]
    usual = range_of(means, [], "objective")
    means[0] = replace(means[0], half_width=40.0)
    low, _ = range_of(means, [], "objective")
    assert usual[0] - 1 < low < usual[0]


def test_a_hopeless_point_is_named_and_does_not_squeeze_the_others():
    """47.9 where the commoner class is right in 76.1: the curve runs out of the panel."""
    (axis,) = draw(compared(76.1, 84.0, (47.9, 81.0, 83.0)), SETTINGS, "accuracy").axes
    assert axis.get_ylim()[0] > 75 and texts(axis)[-1] == "beyond ↓\ngd at 0.05: 47.9"
    # The control: below the floor by a third of what the best is above.
    (axis,) = draw(compared(76.1, 84.0, (74.0, 81.0, 83.0)), SETTINGS, "accuracy").axes
    assert axis.get_ylim()[0] < 74 and len(axis.texts) == 2


@pytest.mark.slow
def test_a_hopeless_objective_is_above():
    means = compared(None, 0.38, (3.9, 0.5, 0.4))[1:]
    (axis,) = draw(means, SETTINGS, "objective").axes
    assert 0.5 < axis.get_ylim()[1] < 0.8
    assert texts(axis)[-1] == "beyond ↑\ngd at 0.05: 3.9"

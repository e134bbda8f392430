"""Floors and ceilings: named in the panel, and the axis is that of the curves."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpcore_lab.compare.axis_range import FLOOR, _piecewise, levels_of, range_of
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


@pytest.mark.slow
def test_a_floor_far_below_does_not_squeeze_the_curves():
    """Majority at 80.3 took nine tenths of the panel from curves between 98.6 and 99.6."""
    (axis,) = draw(compared(80.3, 99.7), SETTINGS, "accuracy").axes
    low, high = axis.get_ylim()
    assert 98.3 < low < 98.5 and 99.7 < high < 99.9
    assert texts(axis) == ["majority: 80.3 ↓", "not private: 99.7"]
    # The control: one that is near is reached, and named on its line.
    (axis,) = draw(compared(98.4, 99.7), SETTINGS, "accuracy").axes
    assert axis.get_ylim()[0] < 98.4 and texts(axis)[0] == "majority: 98.4"


@pytest.mark.slow
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


def heights(axis, values):
    """Return how high values are drawn, 0 at the foot of the panel and 1 at its top."""
    axis.figure.canvas.draw()
    ends, found = (axis.transData.transform([(0.1, y) for y in of])[:, 1] for of in values)
    return ((found - ends[0]) / (ends[1] - ends[0])).tolist()


def test_a_hopeless_point_is_drawn_and_does_not_squeeze_the_others():
    """47.9 where the commoner class is right in 76.1: the curve ran out of the panel."""
    (axis,) = draw(compared(76.1, 84.0, (47.9, 81.0, 83.0)), SETTINGS, "accuracy").axes
    far, near, best = heights(axis, (axis.get_ylim(), (47.9, 81.0, 83.0)))
    assert 0 < far < 0.1 and near > 0.25 and best - near > 0.3
    assert "grey" in axis.figure.get_supxlabel()
    # The control: below the floor by a third of what the best is above, on one scale.
    (axis,) = draw(compared(76.1, 84.0, (74.0, 81.0, 83.0)), SETTINGS, "accuracy").axes
    assert axis.get_ylim()[0] < 74 and axis.get_yscale() == "linear"
    assert "grey" not in axis.figure.get_supxlabel()


@pytest.mark.parametrize("half_width", [5.0, 40.0])
def test_a_wide_interval_is_drawn_whole(half_width):
    means = compared(76.1, 84.0, (79.0, 81.0, 83.0))
    means[2] = replace(means[2], half_width=half_width)
    (axis,) = draw(means, SETTINGS, "accuracy").axes
    low, high = axis.get_ylim()
    assert low <= 79 - half_width and high >= min(100, 79 + half_width)
    ends, usual = heights(axis, ((low, high), (79 - half_width, 81))), 0.35
    assert ends[0] >= 0 and ends[1] > usual


@pytest.mark.slow
def test_a_hopeless_objective_is_above():
    means = compared(None, 0.38, (3.9, 0.5, 0.4))[1:]
    (axis,) = draw(means, SETTINGS, "objective").axes
    far, near, best = heights(axis, (axis.get_ylim(), (3.9, 0.5, 0.4)))
    assert 0.9 < far < 1 and 0.2 < near - best and near < 0.8


def test_the_scale_of_a_folded_axis_goes_there_and_back():
    values, places = np.array([10.0, 80.0, 90.0]), np.array([0.0, 3.0, 13.0])
    given = np.array([-20.0, 10.0, 45.0, 81.0, 90.0, 100.0])
    there = _piecewise(given, values, places)
    assert np.all(np.diff(there) > 0)
    assert _piecewise(there, places, values) == pytest.approx(given)
